"""Usage, entries and the audit, as the store has them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from starlette.requests import Request

from antiphon.accounts.commands.running import write_time
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.rollups import DAY, HOUR, floor
from antiphon.accounts.stores.contract import EntryQuery, Store
from antiphon.accounts.usage import PERIODS, SPLITS, UsageQuery
from antiphon.control.admin.endpoint import PAGE, AdminEndpoint, AdminError, Param, page, read_count, read_cursor
from antiphon.control.admin.store import OpenStore

SECOND: Final = 1_000_000
SINCE: Final = Param("since", "a date or time (ISO 8601; UTC where it has no zone)")
UNTIL: Final = Param("until", "likewise; not included")
KEY: Final = Param("key", "of this key alone: its id or name")
ONLY: Final = ("model", "tag", "team", "upstream")


class LedgerEndpoints:
    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def rows(self) -> list[AdminEndpoint]:
        usage = (
            *(SINCE, UNTIL, KEY, Param("period", f"one of {', '.join(PERIODS)}; default day")),
            Param("by", f"one of {', '.join(SPLITS)}"),
            *(Param(name, f"of this {name} alone") for name in ONLY),
            *PAGE,
        )
        return [
            AdminEndpoint(
                "GET", "/usage", "Sums of the ledger. Prices are millionths of the currency.", self.usage, usage
            ),
            AdminEndpoint("GET", "/entries", "Turns, newest first.", self.entries, (SINCE, UNTIL, KEY, *PAGE)),
            AdminEndpoint("GET", "/audit", "Who changed what, in the order in which it happened.", self.audit, PAGE),
        ]

    async def usage(self, request: Request) -> Any:
        params, limit, now = request.query_params, read_count(request), wall_clock()
        period = params.get("period", "day")
        if period not in PERIODS:
            raise AdminError(400, "invalid_parameter", f"Must be one of {', '.join(PERIODS)}.", "period")
        split = params.get("by")
        if split is not None and split not in SPLITS:
            raise AdminError(400, "invalid_parameter", f"Must be one of {', '.join(SPLITS)}.", "by")
        size = HOUR if period == "hour" else DAY
        only = [(name, params[name]) for name in ONLY if name in params]
        if len(only) > 1:
            raise AdminError(400, "invalid_parameter", f"Only one of {', '.join(ONLY)} can be asked for.", only[1][0])
        store = await self._store.open()
        since = floor(read_time(request, "since", now - 30 * DAY), size)
        until = read_time(request, "until", floor(now, size) + size)
        key, after = await _key_id(store, params.get("key")), read_cursor(request, tuple[int, str])
        try:
            query = UsageQuery(since, until, period, split, key, only[0] if only else None, after, limit)
        except ValueError as error:
            raise AdminError(400, "invalid_parameter", f"{error}.", "by") from None
        found = await store.ledger.usage(query)
        rows = [{"start": write_time(row.start) or None, "name": row.name, **row.as_dict()} for row in found]
        last = (found[-1].start, found[-1].name) if found else None
        return {"since": write_time(since), "until": write_time(until), **page(rows, last, limit)}

    async def entries(self, request: Request) -> Any:
        limit, store = read_count(request), await self._store.open()
        query = EntryQuery(
            key=await _key_id(store, request.query_params.get("key")),
            since=read_time(request, "since", 0),
            until=read_time(request, "until", 2**62),
            after=read_cursor(request, tuple[int, int]),
            limit=limit,
        )
        found = await store.ledger.entries(query)
        return page([entry_document(listed.entry) for listed in found], found and found[-1].cursor, limit)

    async def audit(self, request: Request) -> Any:
        limit, store = read_count(request), await self._store.open()
        found = await store.keys.notes(read_cursor(request, int) or 0, limit)
        rows = [{**msgspec.to_builtins(note), "time": write_time(note.time)} for _, note in found]
        return page(rows, found and found[-1][0], limit)


async def _key_id(store: Store, name: str | None) -> str | None:
    """A [[key]] of the settings is not in the store; its name is its id."""
    if name is None:
        return None
    found = await store.keys.find_named(name)
    return name if found is None else found.key.id


def entry_document(entry: Any) -> dict[str, Any]:
    document = {name: getattr(entry, name) for name in entry.__struct_fields__}
    document["time"] = write_time(entry.time)
    return document


def read_time(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise AdminError(400, "invalid_parameter", "Is no date or time such as 2026-12-31T18:00Z.", name) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if not 1970 < moment.year < 9999:
        raise AdminError(400, "invalid_parameter", "Is not in the years 1971 to 9998.", name)
    return int(moment.timestamp()) * SECOND
