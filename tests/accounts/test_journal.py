"""The journal: what was written is shipped once, whatever breaks in between."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from antiphon.accounts.entry import LedgerEntry, Record, encode
from antiphon.accounts.journal.segment import MARKER, segments
from antiphon.accounts.journal.shipper import MOST_DAMAGED, Shipper
from antiphon.accounts.journal.writer import WAITING, JournalWriter
from antiphon.accounts.stores.contract import EntryQuery, StoreDown, StoreError
from antiphon.accounts.stores.memory import MemoryStore
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.accounts.usage import UsageQuery
from tests.accounts.made import entry


class Ledger:
    """Keeps what is posted; can be away, and can refuse."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.is_down = False
        self.refuses: set[str] = set()
        self.largest = 0

    async def post(self, records: Sequence[Record]) -> int:
        if self.is_down:
            raise StoreDown("it is away")
        if self.refuses & {record.entry.request_id for record in records}:
            raise StoreError("a value does not fit")
        self.largest = max(self.largest, len(records))
        return await self.store.ledger.post(records)

    async def names(self) -> list[str]:
        found = await self.store.ledger.entries(EntryQuery(limit=10**6))
        return sorted(one.entry.request_id for one in found)

    entries = usage = None  # of the port, not used here


class Logged(list[str]):
    def __call__(self, words: str) -> None:
        self.append(words)


@pytest.fixture
def logged() -> Logged:
    return Logged()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def names(numbers: Sequence[int]) -> list[str]:
    return sorted(f"req_{number}" for number in numbers)


def shipper_of(folder: Path, ledger: Ledger, logged: Logged) -> Shipper:
    return Shipper(str(folder), ledger, logged)  # type: ignore[arg-type]


async def test_entries_are_shipped_while_the_writer_lives(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path), 3, logged)
    shipper = shipper_of(tmp_path, ledger, logged)
    for number in range(1, 1201):
        writer.post(entry(number))
    assert await shipper.ship() == 1200
    assert ledger.largest <= 500
    writer.post(entry(1201))
    assert await shipper.ship() == 1
    assert await shipper.ship() == 0
    [found] = await ledger.store.ledger.entries(EntryQuery(limit=1))
    assert found.record == Record(writer.boot, 3, found.record.sequence, found.entry)
    assert await ledger.names() == names(range(1, 1202))
    assert len(segments(str(tmp_path))) == 1  # it still has a writer
    assert shipper.backlog() == 0
    writer.close()
    await shipper.ship()
    assert os.listdir(tmp_path) == []
    assert logged == []


async def test_a_new_shipper_posts_nothing_twice(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path), 0, logged)
    for number in range(100):
        writer.post(entry(number))
    await shipper_of(tmp_path, ledger, logged).ship()
    writer.post(entry(100))
    assert await shipper_of(tmp_path, ledger, logged).ship() == 1
    writer.close()
    assert await shipper_of(tmp_path, ledger, logged).ship() == 0
    assert await ledger.names() == names(range(101))


async def test_segments_follow_each_other(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path), 0, logged, segment_bytes=2000)
    for number in range(100):
        writer.post(entry(number))
    assert len(segments(str(tmp_path))) > 3
    shipper = shipper_of(tmp_path, ledger, logged)
    assert await shipper.ship() == 100
    assert len(segments(str(tmp_path))) == 1
    for number in range(100, 200):
        writer.post(entry(number))
    writer.close()
    assert await shipper.ship() == 100
    assert os.listdir(tmp_path) == []
    assert await ledger.names() == names(range(200))


async def test_an_outage_of_the_store_loses_nothing(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path), 0, logged, segment_bytes=3000)
    shipper = shipper_of(tmp_path, ledger, logged)
    ledger.is_down = True
    for number in range(50):
        writer.post(entry(number))
        with pytest.raises(StoreDown):
            await shipper.ship()
    assert shipper.backlog() > 0
    ledger.is_down = False
    assert await shipper.ship() == 50
    writer.close()
    await shipper.ship()
    assert await ledger.names() == names(range(50))
    assert os.listdir(tmp_path) == []


async def test_an_entry_that_the_store_refuses_stops_no_other(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path), 0, logged)
    for number in range(20):
        writer.post(entry(number))
    ledger.refuses = {"req_7"}
    shipper = shipper_of(tmp_path, ledger, logged)
    assert await shipper.ship() == 19
    assert shipper.refused == 1
    assert logged == [
        f"the store refuses entry 8 of the journal {segments(str(tmp_path))[0].name}: a value does not fit"
    ]
    writer.close()
    await shipper.ship()
    [kept] = os.listdir(tmp_path)
    assert kept.endswith(".damaged")


# Broken files


def written(folder: Path, count: int = 10) -> Path:
    writer = JournalWriter(str(folder), 0, print)
    for number in range(count):
        writer.post(entry(number))
    writer.close()
    return folder / segments(str(folder))[0].name


async def test_a_segment_cut_at_every_byte(tmp_path: Path, logged: Logged) -> None:
    """Every whole record before the cut is shipped; the rest is logged, and nothing hangs."""
    path = written(tmp_path, 4)
    whole = path.read_bytes()
    starts = [at for at in range(len(whole)) if whole[at : at + 4] == MARKER]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        ledger, logged = Ledger(), Logged()
        shipper = shipper_of(tmp_path, ledger, logged)
        await shipper.ship()
        ends = [*starts[1:], len(whole)]
        assert await ledger.names() == names(range(sum(end <= cut for end in ends)))
        is_clean = cut in (31, *ends)
        assert (shipper.broken == 0) == (is_clean or cut == 0), cut
        assert bool(logged) != (is_clean or cut == 0)
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)


async def test_a_broken_byte_costs_one_record_and_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, 6)
    whole = path.read_bytes()
    starts = [at for at in range(len(whole)) if whole[at : at + 4] == MARKER]
    for at in range(31, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        ledger, logged = Ledger(), Logged()
        shipper = shipper_of(tmp_path, ledger, logged)
        await shipper.ship()
        hit = sum(start <= at for start in starts) - 1
        assert await ledger.names() == names([number for number in range(6) if number != hit]), at
        assert shipper.broken >= 1
        assert f"is broken at byte {starts[hit]}: " in logged[0]
        assert [name.endswith(".damaged") for name in os.listdir(tmp_path)] == [True]
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)


async def test_rubbish_is_skipped_and_told(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    path = written(tmp_path, 6)
    whole = path.read_bytes()
    third = [at for at in range(len(whole)) if whole[at : at + 4] == MARKER][3]
    path.write_bytes(whole[:third] + random.Random(1).randbytes(3_000_000) + whole[third:])
    shipper = shipper_of(tmp_path, ledger, logged)
    assert await shipper.ship() == 6
    assert shipper.broken > 0
    assert f"is broken at byte {third}: it does not begin as a record" in logged[0]


async def test_bytes_that_look_like_a_record_are_none(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    """A client's text with a whole record in it, and a broken byte before it."""
    forged = JournalWriter(str(tmp_path / "other"), 0, logged)
    forged.append(encode(entry(666)))
    forged.close()
    [source] = segments(str(tmp_path / "other"))
    inner = (tmp_path / "other" / source.name).read_bytes()[31:]
    writer = JournalWriter(str(tmp_path / "own"), 0, logged)
    writer.append(encode(entry(1)) + inner)
    writer.append(encode(entry(2)))
    writer.close()
    path = tmp_path / "own" / segments(str(tmp_path / "own"))[0].name
    path.write_bytes(path.read_bytes().replace(b"req_1", b"req_0"))
    shipper = shipper_of(tmp_path / "own", ledger, logged)
    await shipper.ship()
    assert await ledger.names() == names([2])
    assert shipper.broken == 2


async def test_a_damaged_segment_is_kept_but_not_many(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    shipper = shipper_of(tmp_path, ledger, logged)
    for _ in range(MOST_DAMAGED + 3):
        path = written(tmp_path, 1)
        path.write_bytes(path.read_bytes()[:-1])
        await shipper.ship()
    assert len(os.listdir(tmp_path)) == MOST_DAMAGED


async def test_foreign_files_are_left_alone(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    (tmp_path / "README").write_text("hello")
    (tmp_path / "0000000000000001-00000-00000001.journal.new").write_bytes(b"unfinished")
    assert await shipper_of(tmp_path, ledger, logged).ship() == 0
    assert len(os.listdir(tmp_path)) == 2
    assert await shipper_of(tmp_path / "none", ledger, logged).ship() == 0


# No room


async def test_a_writer_begins_on_a_full_disk(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        writer = JournalWriter(str(tmp_path), 0, logged)
        writer.flush()
        writer.post(entry(0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert [words.partition(": ")[0] for words in logged] == ["the journal cannot be written"]
    writer.flush()
    assert logged[1:] == ["the journal can be written again; 0 entries were lost"]
    writer.close()
    assert await shipper_of(tmp_path, ledger, logged).ship() == 1


async def test_a_full_disk_is_told_once_and_waited_for(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    """A limit on the size of files stands in for the disk: write(2) takes a part, then fails (EFBIG)."""
    writer = JournalWriter(str(tmp_path), 0, logged)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        for number in range(200):
            writer.post(entry(number))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert len(logged) == 1
    assert logged[0].startswith("the journal cannot be written: ")
    writer.flush()
    assert logged[1:] == ["the journal can be written again; 0 entries were lost"]
    writer.post(entry(200))
    writer.close()
    shipper = shipper_of(tmp_path, ledger, logged)
    assert await shipper.ship() == 201
    assert (shipper.broken, writer.lost) == (0, 0)


async def test_a_journal_that_has_reached_its_size(tmp_path: Path, ledger: Ledger, logged: Logged) -> None:
    """The store is away for long: what does not fit in the folder, nor in memory, is lost and counted."""
    writer = JournalWriter(str(tmp_path), 0, logged, segment_bytes=100_000, folder_bytes=250_000)
    big = {"text": "x" * 3000}
    count = (300_000 + 2 * WAITING) // 3000
    for number in range(count):
        writer.post(entry(number, detail=big))
    assert len(logged) == 1
    assert "it has reached its size of 250000 bytes" in logged[0]
    assert 0 < writer.lost < count
    shipper = shipper_of(tmp_path, ledger, logged)
    await shipper.ship()
    writer.flush()
    while await shipper.ship():
        writer.flush()
    assert logged[-1] == f"the journal can be written again; {writer.lost} entries were lost"
    assert len(await ledger.names()) == count - writer.lost
    writer.close()


def test_an_entry_of_a_megabyte_and_more_is_lost_and_told(tmp_path: Path, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path), 0, logged)
    writer.append(b"x" * (1024 * 1024 + 1))
    assert writer.lost == 1
    assert "1048577 bytes" in logged[0]
    writer.close()


def test_a_folder_that_cannot_be_made_is_an_error_at_the_start(tmp_path: Path, logged: Logged) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:  # noqa: PT011
        JournalWriter(str(tmp_path / "file" / "journal"), 0, logged)
    assert caught.value.errno in (errno.ENOTDIR, errno.EEXIST)


def test_files_are_for_their_owner_alone(tmp_path: Path, logged: Logged) -> None:
    writer = JournalWriter(str(tmp_path / "journal"), 0, logged)
    assert os.stat(tmp_path / "journal").st_mode & 0o077 == 0
    for file in (tmp_path / "journal").iterdir():
        assert os.stat(file).st_mode & 0o077 == 0
    writer.close()


async def test_what_cannot_be_encoded_is_written_as_far_as_it_can(
    tmp_path: Path, ledger: Ledger, logged: Logged
) -> None:
    writer = JournalWriter(str(tmp_path), 0, logged)
    writer.post(LedgerEntry(time=1, request_id="req_1", model="\ud800", detail={"\udfff": "\ud800"}))
    writer.post(LedgerEntry(time=1, request_id="req_2", input_tokens=10**30, detail={"n": [-(10**30)]}))
    writer.close()
    assert await shipper_of(tmp_path, ledger, logged).ship() == 2
    assert logged == []


# kill -9


class Victim:
    def __init__(self, nursery: subprocess.Popen[str], folder: Path, worker: int, size: int) -> None:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        pipe = folder / f"pipe{worker}"
        os.mkfifo(pipe)
        print(folder / "journal", worker, size, pipe, sep="\t", file=nursery.stdin, flush=True)
        self._process = int(nursery.stdout.readline())
        self._said = os.open(pipe, os.O_RDONLY)

    def kill(self, chance: random.Random) -> list[str]:
        """At some point. -> the records whose write returned"""
        said = os.read(self._said, 1)
        for _ in range(chance.randrange(5)):
            said += os.read(self._said, chance.randrange(1, 2000))
        os.kill(self._process, signal.SIGKILL)
        while piece := os.read(self._said, 65536):
            said += piece
        os.close(self._said)
        return said[: said.rfind(b"\n") + 1].decode().split()


@pytest.fixture
def nursery() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.accounts.victim"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


async def test_kill_9_a_hundred_times(tmp_path: Path, logged: Logged, nursery: subprocess.Popen[str]) -> None:
    """Every record whose write returned is in the store exactly once; at most the one in hand is there besides."""
    store = open_sqlite(str(tmp_path / "accounts.db"))
    await store.open()
    chance = random.Random()
    returned: list[str] = []
    for first in range(0, 100, 5):
        sizes = [chance.choice((700, 20_000, 8_000_000)) for _ in range(5)]
        victims = [Victim(nursery, tmp_path, first + index, size) for index, size in enumerate(sizes)]
        shipper = Shipper(str(tmp_path / "journal"), store.ledger, logged)
        for position, victim in enumerate(victims):
            if position == 2:
                await shipper.ship()  # while two are dead and three write
            returned += victim.kill(chance)
    shipper = Shipper(str(tmp_path / "journal"), store.ledger, logged)
    async with asyncio.timeout(30):
        while segments(str(tmp_path / "journal")):  # the last one killed may hold its lock for a moment
            await shipper.ship()
    found: list[str] = []
    cursor = None
    while page := await store.ledger.entries(EntryQuery(limit=5000, after=cursor)):
        found += [one.entry.request_id for one in page]
        cursor = page[-1].cursor
    assert len(returned) >= 100
    assert len(found) == len(set(found))
    assert set(returned) <= set(found)
    assert len(found) - len(returned) <= 100
    [total] = await store.ledger.usage(UsageQuery(0, 2**60, period="total"))
    assert total.as_dict()["price"] == len(found)
    await store.close()
