"""The work behind the workers, with real stores that go away: what was journalled arrives, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from antiphon.accounts.journal.segment import segments
from antiphon.accounts.journal.shipper import Shipper
from antiphon.accounts.journal.writer import JournalWriter
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import EntryQuery, Retention, Store
from antiphon.accounts.stores.postgres import open_postgres
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.accounts.upkeep import Upkeep
from antiphon.accounts.usage import UsageQuery
from tests.accounts.made import entry, record
from tests.support.postgres import running


class Logged(list[str]):
    def __call__(self, words: str) -> None:
        self.append(words)


@asynccontextmanager
async def upkeep(store: Store, folder: Path, logged: Logged, keep: Retention | None = None) -> AsyncIterator[None]:
    shipper = Shipper(str(folder), store.ledger, logged)
    task = asyncio.create_task(Upkeep(store, shipper, keep or Retention(), logged).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def count(store: Store) -> int:
    await store.open()
    [total] = await store.ledger.usage(UsageQuery(0, 2**60, period="total"))
    found = await store.ledger.entries(EntryQuery(limit=10_000))
    await store.close()
    assert len({one.entry.request_id for one in found}) == len(found) == total.as_dict()["turns"]
    return len(found)


async def test_what_is_written_at_the_end_is_shipped_too(tmp_path: Path) -> None:
    store, logged = open_sqlite(str(tmp_path / "a.db")), Logged()
    writer = JournalWriter(str(tmp_path / "journal"), 0, logged)
    async with upkeep(store, tmp_path / "journal", logged):
        writer.post(entry(1, time=wall_clock()))
        await until(lambda: (tmp_path / "a.db").exists())
        await asyncio.sleep(0)
        writer.post(entry(2, time=wall_clock()))
        await until(lambda: bool(segments(str(tmp_path / "journal"))))
        writer.close()
    async with upkeep(store, tmp_path / "journal", logged):
        await until(lambda: segments(str(tmp_path / "journal")) == [])
    assert await count(store) == 2
    assert logged == []


async def test_a_store_that_is_down_at_the_start_and_again_later(tmp_path: Path) -> None:
    logged = Logged()
    writer = JournalWriter(str(tmp_path), 0, logged)
    with running() as server:
        store = open_postgres(server.database())
        server.stop()
        writer.post(entry(1, time=wall_clock()))
        async with upkeep(store, tmp_path, logged):
            await until(lambda: len(logged) == 1)
            server.start()
            await until(lambda: len(logged) == 2)
            server.stop()
            writer.post(entry(2, time=wall_clock()))
            await until(lambda: len(logged) == 3)
            for number in range(3, 1000):
                writer.post(entry(number, time=wall_clock()))
            server.start()
            await until(lambda: len(logged) == 4)
        assert await count(store) == 999
    writer.close()
    assert [words.split(":")[0] for words in logged] == [
        "the store of accounts is out",
        "the store of accounts is back",
    ] * 2


async def test_old_entries_go_by_themselves(tmp_path: Path) -> None:
    store, logged = open_sqlite(str(tmp_path / "a.db")), Logged()
    await store.open()
    old = wall_clock() - 20 * DAY
    await store.ledger.post([record(number, time=old) for number in range(1200)])
    await store.close()
    reader = open_sqlite(str(tmp_path / "a.db"))
    await reader.open()
    async with upkeep(store, tmp_path / "journal", logged, Retention(entry_days=10)), asyncio.timeout(30):
        while await reader.ledger.entries(EntryQuery(limit=1)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await reader.close()
    assert logged == []


@pytest.mark.parametrize("words", ["no database", ""])
async def test_a_store_that_will_never_open_is_told_once(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.db").write_text(words * 100)
    logged = Logged()
    async with upkeep(open_sqlite(str(tmp_path / "a.db" if words else tmp_path)), tmp_path / "journal", logged):
        await until(lambda: bool(logged))
    assert len(logged) == 1
    assert logged[0].startswith("the store of accounts is out: ")
