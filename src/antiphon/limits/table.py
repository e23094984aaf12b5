"""The file that all workers of a machine map into memory: rows, guarded by one lock and a redo log.

    header · of each worker the settled sequence and the boot of its journal · redo log · rows
    columns of worker 0, worker 1, …

A row belongs to one subject of one limit. What it holds for turns that run stands in it as a sum, and again in the
column of the worker whose turns they are, so that a dead worker's part can be taken out of the sum.

A change is written to the log first, then marked as complete (one store of 8 bytes), then made. A process that is
killed in between leaves the log; whoever takes the lock next makes the change, or drops it if it was not complete. The
lock is flock(2): it goes with its process, and costs 0.7 us to take and give back.

The table is open addressing over 64-bit digests of subjects. Rows are never freed; one that is idle is given to another
subject when its neighbourhood is full. Therefore a row is used only while it holds the digest that was looked for.

The file has holes. Who touches one in memory while the disk is full is killed (SIGBUS). Therefore room is asked for
before a row or column is used, and what may be a hole is read by pread(2).
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol

MAGIC: Final = 0x41504C494D495402  # with the version of the layout in its last byte
PAGE: Final = 4096
ROW: Final = 256  # bytes: 15 words of state, 13 of a lease
COLUMN: Final = 32  # bytes: held input, output, turns, money
LOG: Final = 4 * PAGE
NEIGHBOURS: Final = 64  # rows in which a subject may stand
DEFAULT_ROWS: Final = 65_536
PATIENCE: Final = 0.05  # seconds that a worker waits for the lock, while its event loop stands still
SPINS: Final = 20  # a few microseconds each
NAP: Final = 0.00002

# Words of the header.
MAGIC_AT, ROWS_AT, WORKERS_AT, LEASED_AT, BOOT_AT, LOGGED_AT, HIGHEST_AT, HOLDER_AT = range(8)
WORD: Final = struct.Struct("=q")
HEAD: Final = struct.Struct("=QQ")  # of a change in the log: where, how many bytes
# Of a row: digest, time; spent: requests, input, output, tokens; day, month; spent: this day, this month, ever; held:
# input, output, turns, money. What follows is a lease's (leased_row.py).
STATE: Final = struct.Struct("=15q")
HELD: Final = struct.Struct("=4q")  # the last four of these, and a column
HELD_AT: Final = 11 * 8
CHANGE: Final = struct.Struct("=QQ15qQQ4q")  # a row and a column, as the log has them

_EXCLUSIVE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
_flock = fcntl.flock
_head = HEAD.unpack_from


def patch(at: int, data: bytes) -> bytes:
    """A change, as it stands in the log."""
    return HEAD.pack(at, len(data)) + data


assert (HEAD.size, STATE.size, HELD.size, CHANGE.size) == (16, 120, 32, 184)


class Placed(Protocol):
    """A row, by where it and this worker's column of it stand."""

    at: int
    column: int


class TableFull(Exception):
    """All rows where a subject could stand are in use, or the disk is full."""


def create(path: str, workers: int, rows: int = DEFAULT_ROWS, *, leased: bool = False) -> bool:
    """The supervisor calls it before any worker starts. A file with the same layout is kept, with what was spent; True:
    there was none, and what the books say was spent is to be restored (limiter.py). `leased`: other machines share the
    limits (leases.py).

    `workers`: one more than there are, if the supervisor resettles (limiter.py): the last number is its own. What dead
    workers held is released. After a reboot the monotonic clock starts anew, and so do the rows' times.
    """
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size = _columns_at(rows, workers) + workers * rows * COLUMN
        is_new = os.fstat(fd).st_size != size or _header(fd) != (MAGIC, rows, workers, leased)
        if is_new:
            os.ftruncate(fd, 0)
            os.ftruncate(fd, size)
            os.posix_fallocate(fd, 0, _rows_at(workers))
            os.pwrite(fd, struct.pack("=4Q", MAGIC, rows, workers, leased), 0)
    finally:
        os.close(fd)
    table = LimitTable(path)
    for worker in range(workers):
        table.release(worker)
    table.forget_time()
    table.close()
    return is_new


def _header(fd: int) -> tuple[int, ...]:
    return struct.unpack("=4Q", os.pread(fd, 32, 0).ljust(32, b"\0"))


def _boot() -> int:
    """A number of this run of the machine."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        text = b""
    return int.from_bytes(blake2b(text, digest_size=7).digest(), "little") | 1


def _rows_at(workers: int) -> int:
    return PAGE + _whole_pages(16 * workers) + LOG


def _columns_at(rows: int, workers: int) -> int:
    return _rows_at(workers) + _whole_pages(rows * ROW)


def _whole_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


class LimitTable:
    """One process's view of the file. `enter`, then `commit` or `leave`; nothing may be awaited in between.

    Opened by the process that uses it, after the fork: who inherits the file inherits its lock.
    """

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.memory = mmap.mmap(self._fd, 0)
        self.words = memoryview(self.memory).cast("q")
        if self.words[MAGIC_AT] != MAGIC:
            raise ValueError(f"{path} is not a table of limits, or of another version")
        self.rows, self.workers = self.words[ROWS_AT], self.words[WORKERS_AT]
        self._patience = patience
        self._waits = True  # whether a lock that is taken is waited for
        self._log = _rows_at(self.workers) - LOG
        self._first = _rows_at(self.workers)
        self._columns = _columns_at(self.rows, self.workers)

    def close(self) -> None:
        self.words.release()
        self.memory.close()
        os.close(self._fd)

    # The lock

    def enter(self) -> bool:
        """Takes the lock. False: somebody has held it for too long; nothing was taken."""
        try:
            _flock(self._fd, _EXCLUSIVE)
        except BlockingIOError:
            if not self._wait():
                return False
        self._waits = True
        if self.words[LOGGED_AT]:
            self._redo()
        return True

    def leave(self) -> None:
        _flock(self._fd, fcntl.LOCK_UN)

    def commit(self, log: bytes) -> None:
        """Makes all changes of the log (see `patch`), also if this process is killed half way; then leaves."""
        words, start = self.words, self._log
        self.memory[start : start + len(log)] = log
        words[LOGGED_AT] = len(log)
        self._apply(log)
        words[LOGGED_AT] = 0
        _flock(self._fd, fcntl.LOCK_UN)

    def commit_rows(self, log: bytes, rows: Sequence[Placed], worker: int, sequence: int) -> None:
        """As `commit`, of a log of CHANGEs and, unless it is 0, a sequence. It knows where they are in the log: 0.8 us
        less for a row."""
        memory, words, start = self.memory, self.words, self._log
        memory[start : start + len(log)] = log
        words[LOGGED_AT] = len(log)
        first = 0
        for row in rows:
            at, column = row.at, row.column
            memory[at : at + 120] = log[first + 16 : first + 136]
            memory[column : column + 32] = log[first + 152 : first + 184]
            first += 184
        if sequence:
            words[PAGE // 8 + 2 * worker] = sequence
        words[LOGGED_AT] = 0
        _flock(self._fd, fcntl.LOCK_UN)

    def _apply(self, log: bytes) -> None:
        memory, at, end = self.memory, 0, len(log)
        while at < end:
            where, size = _head(log, at)
            at += 16
            memory[where : where + size] = log[at : at + size]
            at += size

    def _wait(self) -> bool:
        """A lock is held for microseconds, unless its holder was stopped. Who has waited in vain once does not wait
        again until the lock was free: turns that cannot be admitted must not stop those that run."""
        until = time.monotonic() + (self._patience if self._waits else 0.0)
        tries = 0
        while True:
            try:
                _flock(self._fd, _EXCLUSIVE)
            except BlockingIOError:
                if time.monotonic() >= until:
                    self._waits = False
                    return False
            else:
                return True
            tries += 1
            if tries > SPINS:  # its holder does not run: leave it the core
                time.sleep(NAP)

    def _redo(self) -> None:
        """A process was killed while it made a change that was complete in the log."""
        self._apply(self.memory[self._log : self._log + self.words[LOGGED_AT]])
        self.words[LOGGED_AT] = 0

    # Rows. All of this with the lock.

    def find(self, digest: int, worker: int, idle_before: int) -> int:
        """Where the row stands; it is made if it is new. `worker`: whose column of it will be used. `idle_before`: rows
        untouched since may be given away."""
        first = digest % self.rows
        spare = -1
        for step in range(min(NEIGHBOURS, self.rows)):
            at = self._first + (first + step) % self.rows * ROW
            found = self._digest(at)
            if found == digest:
                self._take_room(self.column(at, worker), COLUMN)
                return at
            if not found:
                spare = at
                break
            if spare < 0 and self._is_idle(at, idle_before):
                spare = at
        if spare < 0:
            raise TableFull
        self._take_room(spare, ROW)
        self._take_room(self.column(spare, worker), COLUMN)
        # In this order, each step leaves a table that is right: whoever is killed here was the only one to lose.
        self.words[HIGHEST_AT] = max(self.words[HIGHEST_AT], (spare - self._first) // ROW + 1)
        self.memory[spare + 8 : spare + ROW] = bytes(ROW - 8)  # its old subject has used nothing
        self.words[spare // 8] = digest
        return spare

    def _digest(self, at: int) -> int:
        """Of a row that may be a hole."""
        return int(WORD.unpack(os.pread(self._fd, WORD.size, at))[0])

    def _take_room(self, at: int, size: int) -> None:
        """On the disk. Raises TableFull."""
        try:
            os.posix_fallocate(self._fd, at, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise TableFull from None
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # the file system does not know it
                raise

    def _is_idle(self, at: int, before: int) -> bool:
        """Nothing held, nothing spent of a budget, and every minute is over."""
        words = self.words[at // 8 : (at + ROW) // 8]
        return words[1] < before and not any(words[8:])

    def column(self, at: int, worker: int) -> int:
        """Where `worker`'s part of what the row holds stands."""
        return self._columns + (worker * self.rows + (at - self._first) // ROW) * COLUMN

    @property
    def holder(self) -> int:
        """This machine's number among those that share limits."""
        return int(self.words[HOLDER_AT])

    def sequence_at(self, worker: int) -> int:
        return PAGE + 16 * worker

    def settled(self, worker: int) -> int:
        """The sequence number of the last entry of `worker` that is in the rows."""
        return int(self.words[self.sequence_at(worker) // 8])

    def boot(self, worker: int) -> int:
        """Of the journal that these sequence numbers are of."""
        return int(self.words[self.sequence_at(worker) // 8 + 1])

    # Without the lock.

    def release(self, worker: int, patience: float = 5.0) -> bool:
        """Takes what a dead worker's turns held out of all rows. False: the lock was not to be had; try again."""
        until = time.monotonic() + patience
        if not self._enter_until(until):  # which also finishes a change that the worker died in
            return False
        self.leave()
        for at, column in list(self._held_by(worker)):
            if not self._enter_until(until):
                return False
            held = HELD.unpack_from(self.memory, column)
            kept = HELD.unpack_from(self.memory, at + HELD_AT)
            rest = HELD.pack(*(whole - part for whole, part in zip(kept, held, strict=True)))
            self.commit(patch(at + HELD_AT, rest) + patch(column, bytes(COLUMN)))
        return True

    def _held_by(self, worker: int) -> Iterator[tuple[int, int]]:
        empty = bytes(COLUMN * 128)
        start = self._columns + worker * self.rows * COLUMN
        highest = self.words[HIGHEST_AT]
        for first in range(0, highest, 128):
            count = min(128, highest - first)
            block = os.pread(self._fd, count * COLUMN, start + first * COLUMN)
            if block == empty[: len(block)]:
                continue
            for index in range(count):
                if any(block[index * COLUMN : (index + 1) * COLUMN]):
                    yield self._first + (first + index) * ROW, start + (first + index) * COLUMN

    def forget_time(self) -> None:
        """After a reboot: the rows' times are of another clock. What they used goes on from now; leases have ended, and
        this machine is another holder (exchanges are numbered by the clock)."""
        if self.words[BOOT_AT] == _boot():
            return
        now = time.monotonic_ns() // 1000
        for index in range(self.words[HIGHEST_AT]):
            at = self._first + index * ROW
            if self._digest(at):
                self.words[at // 8 + 1] = now
        self.words[HOLDER_AT] = int.from_bytes(os.urandom(7), "little")
        self.words[BOOT_AT] = _boot()

    def _enter_until(self, until: float) -> bool:
        while not self.enter():
            if time.monotonic() > until:
                return False
            time.sleep(NAP)
        return True
