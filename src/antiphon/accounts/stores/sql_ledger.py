"""Entries and rollups in a database. How entries are inserted and removed differs: each database does that itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from antiphon.accounts.entry import LedgerEntry, Record, clean
from antiphon.accounts.rollups import DAY, MEASURES, Named, days, sum_up
from antiphon.accounts.stores.contract import STEP, EntryQuery, ListedEntry, Retention
from antiphon.accounts.stores.database import Database, DatabaseConnection, Row
from antiphon.accounts.usage import UsageQuery, UsageRow

FIELDS: Final = LedgerEntry.__struct_fields__  # the columns have their names
COLUMNS: Final = ("boot", "worker", "sequence", *FIELDS)
JSON: Final = frozenset({"tags", "detail"})

# These statements are put together from constants only; values are always parameters.
SELECT: Final = f"select id, {', '.join(COLUMNS)} from entries where time >= $1 and time < $2 and (time, id) < ($3, $4)"  # noqa: S608
ENTRIES: Final = f"{SELECT} order by time desc, id desc limit $5"
ENTRIES_OF_KEY: Final = f"{SELECT} and key = $6 order by time desc, id desc limit $5"
COUNT: Final = (
    f"insert into rollups (grain, dimension, scope, start, name, {', '.join(MEASURES)}) "  # noqa: S608
    f"values ({', '.join(f'${number}' for number in range(1, 6 + len(MEASURES)))}) "
    "on conflict (grain, dimension, scope, start, name) do update set "
    + ", ".join(f"{name} = rollups.{name} + excluded.{name}" for name in MEASURES)
)
NAMES: Final = (
    "select dimension, name from rollups where grain = 'day' and start = $1 and scope = '' "
    "and dimension in ('model', 'tag', 'team', 'upstream')"
)
TOTALS: Final = ", ".join(f"cast(sum({name}) as bigint)" for name in MEASURES)
PAGE: Final = "(bucket, label) > ($5, $6) order by bucket, label limit $7"
# $8: 1 keeps hours or days apart, 0 adds them up; $9: 1 keeps names apart.
SPAN: Final = "grain = $1 and dimension = $2 and start >= $3 and start < $4"
USAGE: Final = (
    f"select * from (select start * $8 as bucket, substr(name, 1, $9) as label, {TOTALS} from rollups "  # noqa: S608
    f"where {SPAN} and scope = $10 and (cast($11 as text) is null or name = $11) "
    f"group by bucket, label) as sums where {PAGE}"
)
# `+start`: SQLite must not take the index on it, but the primary key up to the scope.
USAGE_BY_KEY: Final = (
    f"select * from (select start * $8 as bucket, scope as label, {TOTALS} from rollups "  # noqa: S608
    "where grain = $1 and dimension = $2 and +start >= $3 and +start < $4 and scope > '' and name = $9 "
    f"group by bucket, label) as sums where {PAGE}"
)
WHOLE: Final = 1_000_000  # letters of a name: all of them
PRUNE: Final = (
    "delete from rollups where grain = $1 and (dimension, scope, start, name) in "
    "(select dimension, scope, start, name from rollups where grain = $1 and start < $2 order by start limit $3)"
)


class EntryTable(Protocol):
    async def prepare(self, starts: Sequence[int]) -> None:
        """Entries of these days will be inserted."""

    async def insert(self, connection: DatabaseConnection, records: Sequence[Record]) -> Sequence[Record]:
        """-> those that were new"""

    async def prune(self, keep: Retention, now: int) -> int:
        """One small step."""


class SqlLedger:
    def __init__(self, database: Database, table: EntryTable) -> None:
        self._database = database
        self._table = table

    async def post(self, records: Sequence[Record]) -> int:
        unique = {record[:3]: record._replace(entry=clean(record.entry)) for record in reversed(records)}
        starts = days(record.entry for record in unique.values())
        if not starts:
            return 0
        await self._table.prepare(starts)
        async with self._database.writing() as connection:
            new = await self._table.insert(connection, list(reversed(unique.values())))
            if new:
                sums = sum_up((record.entry for record in new), await _names(connection, starts))
                await connection.execute_many(COUNT, [(*key, *added) for key, added in sums])
        return len(new)

    async def entries(self, query: EntryQuery) -> Sequence[ListedEntry]:
        values = (query.since, query.until, *(query.after or (2**62, 2**62)), query.limit)
        async with self._database.reading() as connection:
            if query.key is None:
                rows = await connection.fetch(ENTRIES, *values)
            else:
                rows = await connection.fetch(ENTRIES_OF_KEY, *values, query.key)
        return [_listed(row) for row in rows]

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        after = query.after or (-1, "")
        values = (query.grain, query.dimension, query.since, query.until, *after, query.limit)
        timed = int(query.period != "total")
        async with self._database.reading() as connection:
            if query.split == "key":
                rows = await connection.fetch(USAGE_BY_KEY, *values, timed, query.name)
            else:
                shown = WHOLE if query.split else 0
                rows = await connection.fetch(USAGE, *values, timed, shown, query.key or "", query.name)
        return [UsageRow(row[0], row[1], tuple(row[2:])) for row in rows]

    async def prune(self, keep: Retention, now: int) -> int:
        gone = await self._table.prune(keep, now)
        for grain, limit in (("hour", keep.hour_days), ("day", keep.day_days)):
            if limit:
                async with self._database.writing() as connection:
                    gone += await connection.execute(PRUNE, grain, now - limit * DAY, STEP)
        return gone


async def _names(connection: DatabaseConnection, starts: Sequence[int]) -> dict[Named, set[str]]:
    names: dict[Named, set[str]] = {}
    for start in starts:
        for dimension, name in await connection.fetch(NAMES, start):
            names.setdefault((start, dimension), set()).add(name)
    return names


def values_of(record: Record) -> tuple[Any, ...]:
    """In the order of COLUMNS."""
    entry = record.entry
    values = [getattr(entry, name) for name in FIELDS]
    values[TAGS] = msgspec.json.encode(entry.tags).decode()
    values[DETAIL] = None if entry.detail is None else msgspec.json.encode(entry.detail).decode()
    values[STREAM] = int(entry.stream)
    return (*record[:3], *values)


TAGS: Final = FIELDS.index("tags")
DETAIL: Final = FIELDS.index("detail")
STREAM: Final = FIELDS.index("stream")


def _listed(row: Row) -> ListedEntry:
    id, boot, worker, sequence, *values = row
    fields = dict(zip(FIELDS, values, strict=True))
    fields["tags"] = tuple(msgspec.json.decode(fields["tags"]))
    fields["detail"] = None if fields["detail"] is None else msgspec.json.decode(fields["detail"])
    fields["stream"] = bool(fields["stream"])
    entry = LedgerEntry(**fields)
    return ListedEntry((entry.time, id), Record(boot, worker, sequence, entry))
