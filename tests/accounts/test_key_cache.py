"""The copy of the keys: current within a poll, usable without the store for a time, never a wrong 401."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.accounts.key_cache import CURRENT, MAX_AGE, SECOND, KeyCache
from antiphon.accounts.key_copy import KeyCopyReader, KeyCopyWriter
from antiphon.accounts.key_feed import KeyFeed
from antiphon.accounts.keys import KeyChanges, digest_of, issue
from antiphon.accounts.stores.contract import Store, StoreDown
from antiphon.accounts.stores.memory import MemoryStore
from antiphon.accounts.stores.postgres import open_postgres
from antiphon.accounts.stores.sqlite import open_sqlite
from tests.accounts.made import NOON, add_key, note
from tests.support.postgres import Postgres

UNKNOWN = digest_of(b"ak-unknown")


class Outage:
    """The keys of a store that can be away, or not answer."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.is_down = False

    def __getattr__(self, name: str) -> Any:
        if self.is_down:
            raise StoreDown("it is away")
        return getattr(self.store.keys, name)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


class Logged(list[str]):
    def __call__(self, words: str) -> None:
        self.append(words)


class Scene:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.keys = Outage(store)
        self.cache = KeyCache()
        self.clock = Clock()
        self.logged = Logged()
        self.feed = KeyFeed(self.keys, self.cache, self.logged, self.clock)

    def find(self, digest: bytes) -> object:
        return self.cache.find(digest, self.clock.now)


@pytest.fixture
def scene() -> Scene:
    return Scene(MemoryStore())


def test_before_the_first_answer_nobody_is_unknown() -> None:
    with pytest.raises(StoreDown):
        KeyCache().find(UNKNOWN, NOON)


async def test_new_rotated_and_revoked_keys_are_known_after_one_poll(store: Store) -> None:
    scene = Scene(store)
    assert await scene.feed.poll()
    assert scene.find(UNKNOWN) is None
    key, old = await add_key(store)
    assert scene.find(old.digest) is None
    await scene.feed.poll()
    assert scene.find(old.digest) == key
    new = issue()
    await store.keys.rotate(new.for_key(key.id, NOON), NOON + 10, note())
    await scene.feed.poll()
    assert scene.find(old.digest) == scene.find(new.digest) == key
    scene.clock.now = NOON + 10
    assert scene.find(old.digest) is None
    assert scene.find(new.digest) == key
    await store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note())
    await scene.feed.poll()
    assert scene.find(new.digest) is None
    assert len(scene.cache) == 0


async def test_a_key_ends_at_its_time_without_a_poll(scene: Scene) -> None:
    key, issued = await add_key(scene.store, expires=NOON + SECOND)
    await scene.feed.poll()
    assert scene.find(issued.digest) == key
    scene.clock.now = NOON + SECOND
    assert scene.find(issued.digest) is None


async def test_an_outage_stops_no_known_key_and_makes_no_key_wrong(scene: Scene) -> None:
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    scene.keys.is_down = True
    scene.clock.now += CURRENT + 1
    assert not await scene.feed.poll()
    assert not await scene.feed.poll()
    assert scene.find(issued.digest) == key
    with pytest.raises(StoreDown):
        scene.find(UNKNOWN)
    scene.clock.now = NOON + MAX_AGE + 1
    with pytest.raises(StoreDown, match="too old"):
        scene.find(issued.digest)
    scene.keys.is_down = False
    assert await scene.feed.poll()
    assert scene.find(issued.digest) == key
    assert scene.find(UNKNOWN) is None
    assert scene.logged == [
        "the store of the keys is out: it is away; known keys go on",
        "the store of the keys is back",
    ]


async def test_one_missed_poll_is_no_outage(scene: Scene) -> None:
    await scene.feed.poll()
    scene.keys.is_down = True
    scene.clock.now += SECOND
    await scene.feed.poll()
    assert scene.find(UNKNOWN) is None


async def test_a_store_restored_from_a_backup_is_read_anew(scene: Scene) -> None:
    _, issued = await add_key(scene.store)
    await add_key(scene.store, "b")
    await scene.feed.poll()
    for other in (MemoryStore(), _older(scene)):
        scene.keys.store = other
        await scene.feed.poll()
        assert len(scene.cache) == 0
        assert scene.find(issued.digest) is None


def _older(scene: Scene) -> MemoryStore:
    """The same store, before it had keys."""
    older = MemoryStore()
    older.keys._identity = scene.cache.store
    return older


async def test_a_copy_serves_a_process_that_starts_in_an_outage(scene: Scene) -> None:
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    data = scene.cache.dump()
    assert issued.text.encode() not in data
    late = KeyCache()
    assert late.restore(data, NOON + 60 * SECOND)
    assert late.find(issued.digest, NOON + 60 * SECOND) == key
    with pytest.raises(StoreDown):
        late.find(UNKNOWN, NOON + 60 * SECOND)
    with pytest.raises(StoreDown):
        late.find(issued.digest, NOON + MAX_AGE + 1)
    feed = KeyFeed(scene.store.keys, late, scene.logged, scene.clock)
    await add_key(scene.store, "b")
    assert await feed.poll()
    assert len(late) == 2


async def test_copies_that_are_not_taken(scene: Scene) -> None:
    await add_key(scene.store)
    await scene.feed.poll()
    data = scene.cache.dump()
    for spoiled in (b"", b"rubbish", data[:-1], data[: len(data) // 2]):
        assert not KeyCache().restore(spoiled, NOON)
    assert not KeyCache().restore(data, NOON + MAX_AGE + 1)


async def test_a_clock_that_is_set_back_makes_no_key_wrong(scene: Scene) -> None:
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    scene.clock.now -= 3600 * SECOND
    assert scene.find(issued.digest) == key
    with pytest.raises(StoreDown):
        scene.find(UNKNOWN)
    await scene.feed.poll()
    assert scene.find(UNKNOWN) is None
    await scene.store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note())
    await scene.feed.poll()
    assert scene.find(issued.digest) is None


# The copy in a file


class Worker:
    def __init__(self, path: Path) -> None:
        self.cache = KeyCache()
        self.reader = KeyCopyReader(str(path), self.cache)


async def test_workers_follow_the_file(scene: Scene, tmp_path: Path) -> None:
    path = tmp_path / "state" / "keys"
    worker = Worker(path)
    assert not worker.reader.poll(NOON)
    writer = KeyCopyWriter(str(path), scene.cache)
    writer.write()
    assert not path.exists()  # nothing is known yet
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    writer.write()
    assert path.stat().st_mode & 0o077 == 0
    assert issued.text.encode() not in path.read_bytes()
    assert worker.reader.poll(NOON)
    assert worker.cache.find(issued.digest, NOON) == key
    assert worker.cache.find(UNKNOWN, NOON) is None
    inode = path.stat().st_ino
    scene.clock.now = NOON + 60 * SECOND
    await scene.feed.poll()
    writer.write()
    assert path.stat().st_ino == inode
    with pytest.raises(StoreDown):
        worker.cache.find(UNKNOWN, scene.clock.now)
    assert worker.reader.poll(scene.clock.now)
    assert worker.cache.find(UNKNOWN, scene.clock.now) is None
    await scene.store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note())
    await add_key(scene.store, "b")
    await scene.feed.poll()
    writer.write()
    assert worker.reader.poll(scene.clock.now)
    assert worker.cache.find(issued.digest, scene.clock.now) is None
    assert len(worker.cache) == 1


async def test_a_worker_that_starts_in_an_outage(scene: Scene, tmp_path: Path) -> None:
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    KeyCopyWriter(str(tmp_path / "keys"), scene.cache).write()
    worker, later = Worker(tmp_path / "keys"), NOON + 3600 * SECOND
    assert worker.reader.poll(later)
    assert worker.cache.find(issued.digest, later) == key
    with pytest.raises(StoreDown):
        worker.cache.find(UNKNOWN, later)


async def test_the_clock_is_set_back_and_a_revocation_arrives(scene: Scene, tmp_path: Path) -> None:
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    writer, worker = KeyCopyWriter(str(tmp_path / "keys"), scene.cache), Worker(tmp_path / "keys")
    writer.write()
    worker.reader.poll(NOON)
    scene.clock.now -= 3600 * SECOND
    await scene.store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note())
    await scene.feed.poll()
    writer.write()
    assert worker.reader.poll(scene.clock.now)
    assert worker.cache.find(issued.digest, scene.clock.now) is None


async def test_an_older_copy_of_another_gateway_does_not_stay(scene: Scene, tmp_path: Path) -> None:
    """Two gateways of one store write one file. One that was slow must not bring a revoked key back."""
    path, slow = tmp_path / "keys", KeyCache()
    writer, late, worker = KeyCopyWriter(str(path), scene.cache), KeyCopyWriter(str(path), slow), Worker(path)
    key, issued = await add_key(scene.store)
    await KeyFeed(scene.store.keys, slow, print, lambda: NOON).poll()
    await scene.store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note())
    await scene.feed.poll()
    writer.write()
    late.write()
    writer.write()
    assert worker.reader.poll(NOON)
    assert worker.cache.find(issued.digest, NOON) is None


async def test_a_spoiled_file_changes_nothing(scene: Scene, tmp_path: Path) -> None:
    key, issued = await add_key(scene.store)
    await scene.feed.poll()
    path = tmp_path / "keys"
    writer, worker = KeyCopyWriter(str(path), scene.cache), Worker(path)
    writer.write()
    worker.reader.poll(NOON)
    path.unlink()
    assert not worker.reader.poll(NOON)
    await add_key(scene.store, "b")
    await scene.feed.poll()
    writer.write()
    whole = path.read_bytes()
    for cut in (5, 15, 16, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert not worker.reader.poll(NOON)
    assert worker.cache.find(issued.digest, NOON) == key
    path.unlink()
    writer.write()
    assert worker.reader.poll(NOON)


def test_changes_of_one_key_leave_the_others() -> None:
    cache = KeyCache()
    cache.apply(KeyChanges(1, 1, ()), NOON)
    assert cache.find(UNKNOWN, NOON) is None


@pytest.fixture(params=["sqlite", "postgres"])
def two_stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    """One store, opened by two replicas."""
    if request.param == "sqlite":
        path = str(tmp_path_factory.mktemp("keys") / "a.db")
        return open_sqlite(path), open_sqlite(path)
    server: Postgres = request.getfixturevalue("postgres")
    url = server.database()
    return open_postgres(url), open_postgres(url)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_revocation_reaches_another_replica(two_stores: tuple[Store, Store]) -> None:
    here, there = two_stores
    await here.open()
    await there.open()
    key, issued = await add_key(here)
    cache = KeyCache()
    feed = asyncio.create_task(KeyFeed(there.keys, cache, print, lambda: NOON).run())
    await until(lambda: len(cache) == 1)
    assert cache.find(issued.digest, NOON) == key
    await here.keys.replace(msgspec.structs.replace(key, revoked=NOON), note())
    await until(lambda: cache.find(issued.digest, NOON) is None)
    feed.cancel()
    await asyncio.gather(feed, return_exceptions=True)
    await here.close()
    await there.close()
