"""The process behind the workers, killed over and over while they write: every entry once, every key known."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.accounts.journal.segment import segments
from antiphon.accounts.journal.writer import JournalWriter
from antiphon.accounts.key_cache import KeyCache
from antiphon.accounts.key_copy import KeyCopyReader
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.keys import Issued, Key
from antiphon.accounts.stores.contract import EntryQuery, Store
from antiphon.accounts.stores.postgres import open_postgres
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.accounts.usage import UsageQuery
from tests.accounts.made import add_key, entry
from tests.support.postgres import Postgres

PROCESS = """
import asyncio, sys
from antiphon.accounts.process import AccountsOptions, run_accounts
options = AccountsOptions(*sys.argv[1:])
asyncio.run(run_accounts(options, lambda words: print(words, file=sys.stderr, flush=True)))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Store]:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/accounts.db", open_sqlite(f"{tmp_path}/accounts.db")
    server: Postgres = request.getfixturevalue("postgres")
    url = server.database()
    return url, open_postgres(url)


def start(url: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROCESS, url, str(folder / "journal"), str(folder / "keys")])


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_kill_9_of_the_process_under_load(place: tuple[str, Store], tmp_path: Path) -> None:
    url, store = place
    chance, written = random.Random(), 0
    logged: list[str] = []
    writers = [JournalWriter(str(tmp_path / "journal"), n, logged.append, segment_bytes=50_000) for n in range(3)]
    for _ in range(6):
        process = start(url, tmp_path)
        deadline = time.monotonic() + chance.uniform(0.3, 1.5)
        while time.monotonic() < deadline:
            written += 1
            chance.choice(writers).post(entry(written, time=wall_clock(), price=3))
            time.sleep(0.001)  # a load, not a flood
        process.kill()
        process.wait()
    for writer in writers:
        writer.close()
    process = start(url, tmp_path)
    until(lambda: segments(str(tmp_path / "journal")) == [])
    process.kill()
    process.wait()
    turns, price, names = asyncio.run(_sums(store))
    assert (turns, price) == (written, 3 * written)
    assert sorted(names) == sorted(f"req_{number}" for number in range(1, written + 1))
    assert logged == []


async def _sums(store: Store) -> tuple[int, int, list[str]]:
    await store.open()
    [row] = await store.ledger.usage(UsageQuery(0, 2**60, period="total"))
    found = await store.ledger.entries(EntryQuery(limit=10**6))
    await store.close()
    return row.as_dict()["turns"], row.as_dict()["price"], [one.entry.request_id for one in found]


def test_workers_learn_of_keys_by_the_file(place: tuple[str, Store], tmp_path: Path) -> None:
    url, store = place
    process = start(url, tmp_path)
    cache = KeyCache()
    reader = KeyCopyReader(str(tmp_path / "keys"), cache)
    until(lambda: reader.poll(wall_clock()))
    key, issued = asyncio.run(_add(store))
    until(lambda: reader.poll(wall_clock()) and cache.find(issued.digest, wall_clock()) == key)
    process.kill()
    process.wait()
    assert cache.find(issued.digest, wall_clock()) == key
    late = KeyCache()
    assert KeyCopyReader(str(tmp_path / "keys"), late).poll(wall_clock())
    assert late.find(issued.digest, wall_clock()) == key


async def _add(store: Store) -> tuple[Key, Issued]:
    await store.open()
    added = await add_key(store)
    await store.close()
    return added
