"""Limits whose file is new learn from the ledger what was spent."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from antiphon.accounts.entry import LedgerEntry, Record
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.billing.recovery import all_callers, restore_spent
from antiphon.limits.limit import Caller, Cost, Limit, Refused
from antiphon.limits.limiter import Limiter
from antiphon.limits.table import LimitTable, create
from tests.accounts.made import add_key


def spent(key: str, price: int, days_ago: int, number: int) -> Record:
    moment = int((time.time() - days_ago * 86_400) * 1_000_000)
    return Record(1, 0, number, LedgerEntry(time=moment, request_id=f"req_{number}", key=key, price=price))


async def test_a_new_file_of_limits_is_filled_from_the_ledger(tmp_path: Path) -> None:
    store = open_sqlite(str(tmp_path / "accounts.db"))
    await store.open()
    issued, _ = await add_key(store, "issued", budget={"day": 500, "total": 10_000})
    static = Caller("static", limits=(Limit("key:static", total=1000),))
    old = (datetime.now(UTC) - datetime(2020, 1, 1, tzinfo=UTC)) // timedelta(days=1)
    records = [spent(issued.id, 400, 0, 1), spent(issued.id, 5000, old, 2), spent("static", 990, old, 3)]
    await store.ledger.post(records)
    create(str(tmp_path / "limits"), 2, rows=64)
    limiter = Limiter(LimitTable(str(tmp_path / "limits")), 1, ())
    callers = {caller.key: caller for caller in await all_callers(store, [static])}
    assert set(callers) == {issued.id, "static"}
    await restore_spent(limiter, store, callers.values(), UTC)
    of_day, of_all = limiter.admit(callers[issued.id], "m", Cost(0, 0, 101)), limiter.admit(static, "m", Cost(0, 0, 11))
    assert isinstance(of_day, Refused)
    assert (of_day.measure, of_day.used) == ("day", 400)
    assert isinstance(of_all, Refused)
    assert (of_all.measure, of_all.used) == ("total", 990)
    assert not isinstance(limiter.admit(callers[issued.id], "m", Cost(0, 0, 100)), Refused)
    limiter.table.close()
    await store.close()
