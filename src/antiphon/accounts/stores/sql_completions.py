"""Stored completions in a database; their bodies lie in a table of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import STEP, CompletionQuery, Retention, StoredCompletion
from antiphon.accounts.stores.database import Database, DatabaseConnection, Row

KEEP: Final = (
    "insert into completions (id, key, time, model, metadata, size, kind) values ($1, $2, $3, $4, $5, $6, $7) "
    "on conflict do nothing"
)
KEEP_BODIES: Final = "insert into completion_bodies (id, request, answer) values ($1, $2, $3)"
RELABEL: Final = "update completions set metadata = $3 where key = $1 and id = $2"
COUNT: Final = "update meta set value = value + $1 where name = 'completion_bytes'"
BYTES: Final = "select value from meta where name = 'completion_bytes'"
FIND: Final = (
    "select completions.id, key, time, model, metadata, kind, request, answer from completions "
    "join completion_bodies on completion_bodies.id = completions.id where key = $1 and completions.id = $2"
)
SIZE: Final = "select size from completions where key = $1 and id = $2"
REMOVE: Final = "delete from completions where id = $1"
LISTED: Final = "select id, key, time, model, metadata, kind from completions"
FITS: Final = "where key = $1 and (cast($2 as text) is null or model = $2) and kind = $6"
UP: Final = f"{LISTED} {FITS} and (time, id) > ($3, $4) order by time, id limit $5"
DOWN: Final = f"{LISTED} {FITS} and (time, id) < ($3, $4) order by time desc, id desc limit $5"
OLDEST: Final = "select id, time, size from completions order by time, id limit $1"
PAGE: Final = 200  # rows that are looked at in one go where metadata is filtered
LAST: Final = (2**62, "\U0010ffff")


class SqlCompletions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, completion: StoredCompletion) -> bool:
        size = len(completion.request) + len(completion.answer)
        metadata = msgspec.json.encode(completion.metadata).decode()
        values = (completion.id, completion.key, completion.time, completion.model, metadata, size, completion.kind)
        async with self._database.writing() as connection:
            if not await connection.execute(KEEP, *values):
                return False
            await connection.execute(KEEP_BODIES, completion.id, completion.request, completion.answer)
            await connection.execute(COUNT, size)
            return True

    async def find(self, key: str, id: str) -> StoredCompletion | None:
        async with self._database.reading() as connection:
            rows = await connection.fetch(FIND, key, id)
        return _completion(rows[0], bytes(rows[0][6]), bytes(rows[0][7])) if rows else None

    async def list(self, query: CompletionQuery) -> Sequence[StoredCompletion]:
        """Metadata is filtered here: it is short, and databases spell that differently."""
        found: list[StoredCompletion] = []
        after = query.after or (LAST if query.descending else (-1, ""))
        async with self._database.reading() as connection:
            while len(found) < query.limit:
                statement = DOWN if query.descending else UP
                size = max(PAGE, query.limit) if query.metadata else query.limit - len(found)
                listed = await connection.fetch(statement, query.key, query.model, *after, size, query.kind)
                rows = [_completion(row) for row in listed]
                found += [row for row in rows if query.metadata_fits(row)]
                if len(rows) < size:
                    break
                after = (rows[-1].time, rows[-1].id)
        return found[: query.limit]

    async def label(self, key: str, id: str, metadata: dict[str, str]) -> bool:
        async with self._database.writing() as connection:
            return bool(await connection.execute(RELABEL, key, id, msgspec.json.encode(metadata).decode()))

    async def remove(self, key: str, id: str) -> bool:
        async with self._database.writing() as connection:
            sizes = await connection.fetch(SIZE, key, id)
            if sizes:
                await _remove(connection, [(id, sizes[0][0])])
            return bool(sizes)

    async def prune(self, keep: Retention, now: int) -> int:
        async with self._database.writing() as connection:
            excess = int((await connection.fetch(BYTES))[0][0]) - keep.completion_bytes if keep.completion_bytes else 0
            old = []
            for id, time, size in await connection.fetch(OLDEST, STEP):
                if not (excess > 0 or (keep.completion_days and time < now - keep.completion_days * DAY)):
                    break
                excess -= size
                old.append((id, size))
            await _remove(connection, old)
            return len(old)


async def _remove(connection: DatabaseConnection, rows: Sequence[tuple[str, int]]) -> None:
    if rows:
        await connection.execute_many(REMOVE, [(id,) for id, _ in rows])
        await connection.execute(COUNT, -sum(size for _, size in rows))


def _completion(row: Row, request: bytes = b"", answer: bytes = b"") -> StoredCompletion:
    metadata = msgspec.json.decode(row[4], type=dict[str, str])
    id, key, time, model = row[:4]
    return StoredCompletion(
        id=id, key=key, time=time, model=model, kind=row[5], metadata=metadata, request=request, answer=answer
    )
