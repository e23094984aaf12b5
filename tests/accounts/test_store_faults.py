"""Stores that are away, damaged, newer than this version, or opened by two at once."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from antiphon.accounts.stores.contract import EntryQuery, Store, StoreDown, StoreError
from antiphon.accounts.stores.postgres import open_postgres
from antiphon.accounts.stores.sqlite import open_sqlite
from tests.accounts.made import add_key, record
from tests.support.postgres import Postgres, running


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be opened more than once."""
    if request.param == "sqlite":
        return str(tmp_path / "accounts.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


def open_store(place: str) -> Store:
    return open_postgres(place) if place.startswith("postgresql:") else open_sqlite(place)


async def test_many_start_at_once_and_one_migrates(place: str) -> None:
    stores = [open_store(place) for _ in range(5)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(
        *(store.ledger.post([record(number, boot=boot) for number in range(50)]) for boot, store in enumerate(stores))
    )
    assert len(await stores[0].ledger.entries(EntryQuery(limit=1000))) == 250
    for store in stores:
        await store.close()


async def test_two_ship_the_same_batch_at_once(place: str) -> None:
    stores = [open_store(place) for _ in range(3)]
    await asyncio.gather(*(store.open() for store in stores))
    batch = [record(number) for number in range(200)]
    new = await asyncio.gather(*(store.ledger.post(batch) for store in stores))
    assert sum(new) == 200
    for store in stores:
        await store.close()


async def test_what_was_committed_is_there_when_it_is_opened_again(place: str) -> None:
    store = open_store(place)
    await store.open()
    key, issued = await add_key(store)
    await store.ledger.post([record(1)])
    await store.close()
    with pytest.raises(StoreDown):
        await store.keys.version()
    await store.open()
    found = await store.keys.find(issued.digest)
    assert found is not None
    assert found.key == key
    assert len(await store.ledger.entries(EntryQuery())) == 1
    await store.close()


async def test_a_cancelled_change_is_undone(place: str) -> None:
    store = open_store(place)
    await store.open()
    for delay in (0.0, 0.001, 0.003):
        task = asyncio.create_task(store.ledger.post([record(number) for number in range(2000)]))
        await asyncio.wait([task], timeout=delay)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    new = await store.ledger.post([record(number) for number in range(2000)])
    assert new in (0, 2000)
    assert len(await store.ledger.entries(EntryQuery(limit=5000))) == 2000
    await store.close()


async def test_a_newer_sqlite_schema_is_refused(tmp_path: Path) -> None:
    store = open_sqlite(str(tmp_path / "a.db"))
    await store.open()
    await store.close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("insert into schema_version values (99)")
    connection.close()
    with pytest.raises(StoreError, match="newer version"):
        await store.open()
    await store.close()


async def test_a_newer_postgres_schema_is_refused(postgres: Postgres) -> None:
    url = postgres.database()
    store = open_postgres(url)
    await store.open()
    await store.close()
    postgres.run(f"insert into {url.rpartition('=')[2]}.schema_version values (99)")
    with pytest.raises(StoreError, match="newer version"):
        await store.open()


async def test_sqlite_where_it_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("this is no database, and it is long enough to be looked at by SQLite" * 20)
    for path, error in (
        (tmp_path / "file", StoreError),
        (tmp_path / "file" / "a.db", StoreDown),
        (tmp_path, StoreDown),
    ):
        store = open_sqlite(str(path))
        with pytest.raises(error):
            await store.open()
        await store.close()


ADD_KEY = """
import asyncio, sys
from antiphon.accounts.keys import Key, issue, new_key_id
from antiphon.accounts.stores.contract import AuditNote
from antiphon.accounts.stores.sqlite import open_sqlite

async def add():
    store = open_sqlite(sys.argv[1])
    await store.open()
    key = Key(id=new_key_id(), name=sys.argv[2], created=1)
    note = AuditNote(time=1, actor="test", action="create", subject=key.id)
    await store.keys.add(key, issue().for_key(key.id, 1), note)
    await store.close()

asyncio.run(add())
"""


async def test_another_process_that_comes_and_goes_takes_nothing_away(tmp_path: Path) -> None:
    """The last one to close a database deletes its WAL. Who is not the last must not take himself for it."""
    path = str(tmp_path / "accounts.db")
    store = open_sqlite(path)
    await store.open()
    for number in range(1, 3):
        done = await asyncio.create_subprocess_exec(sys.executable, "-c", ADD_KEY, path, f"key {number}")
        assert await done.wait() == 0
        assert (await store.keys.version())[1] == number
    await store.close()


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = open_sqlite(str(tmp_path / "new" / "a.db"))
    await store.open()
    await store.ledger.post([record(1)])
    for file in (tmp_path / "new").iterdir():
        assert os.stat(file).st_mode & 0o077 == 0, file
    assert os.stat(tmp_path / "new").st_mode & 0o077 == 0
    await store.close()


async def test_a_locked_file_is_an_outage_and_ends(tmp_path: Path) -> None:
    store = open_sqlite(str(tmp_path / "a.db"), busy=0.05)
    await store.open()
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(StoreDown, match="locked"):
        await store.ledger.post([record(1)])
    assert await store.ledger.entries(EntryQuery()) == []  # reading goes on
    other.execute("rollback")
    other.close()
    assert await store.ledger.post([record(1)]) == 1
    await store.close()


async def test_a_file_that_is_locked_at_the_start_opens_later(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("pragma journal_mode = wal")
    other.execute("begin immediate")
    store = open_sqlite(str(tmp_path / "a.db"), busy=0.05)
    for _ in range(2):
        with pytest.raises(StoreDown, match="locked"):
            await store.open()
    other.execute("rollback")
    other.close()
    await store.open()
    assert await store.ledger.post([record(1)]) == 1
    assert len(await store.ledger.entries(EntryQuery())) == 1
    await store.close()


async def test_postgres_goes_away_and_comes_back() -> None:
    with running() as server:
        url = server.database()
        store = open_postgres(url)
        await store.open()
        await store.ledger.post([record(1)])
        server.stop()
        with pytest.raises(StoreDown):
            await store.ledger.post([record(2)])
        with pytest.raises(StoreDown):
            await open_postgres(url).open()
        server.start()
        assert await store.ledger.post([record(1), record(2)]) == 1
        await store.close()


async def test_an_outage_does_not_tell_the_password(postgres: Postgres) -> None:
    for url in (
        f"postgresql://me:hunter2@127.0.0.1:{postgres.port}/none",
        "postgresql://me:hunter2@127.0.0.1:1/none",
        "postgresql://me:hunter2@127.0.0.1:port/none",
    ):
        with pytest.raises(StoreError) as caught:
            await open_postgres(url).open()
        assert "hunter2" not in str(caught.value)
