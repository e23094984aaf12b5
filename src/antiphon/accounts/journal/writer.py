"""A worker's end of the journal: one write(2) for each entry.

A full disk, or a journal that has reached its size, loses entries only after a while: up to WAITING bytes wait in
memory for room. What is lost is counted. The log gets one line when entries cannot be written, and one with the
number of lost entries when they can be again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from antiphon.accounts.entry import LedgerEntry, encode
from antiphon.accounts.journal.segment import LONGEST, Segment, frame

SEGMENT: Final = 8 * 1024 * 1024  # bytes, after which a new one is begun
FOLDER: Final = 1024**3  # bytes of all segments of all workers
WAITING: Final = 4 * 1024 * 1024
RETRY: Final = 0.5  # seconds between two tries while there is no room

Log = Callable[[str], None]


class JournalWriter:
    """`log` gets sentences for the error log. Every process makes its own, after it was forked."""

    def __init__(
        self, folder: str, worker: int, log: Log, *, segment_bytes: int = SEGMENT, folder_bytes: int = FOLDER
    ) -> None:
        self.boot = secrets.randbits(63)
        self.worker = worker
        self.lost = 0  # entries, in all
        self._seed = Segment(self.boot, worker, 0).seed
        self._folder = folder
        self._log = log
        self._segment_bytes = segment_bytes
        self._folder_bytes = folder_bytes
        self._sequence = 0
        self._number = 0
        self._descriptor = -1
        self._left = 0  # bytes until the segment is full
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._fault = ""  # while entries cannot be written
        self._lost_before = 0
        self._retry_at = 0.0
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            self._begin_segment()
        except OSError as error:  # a worker that starts while the disk is full answers all the same
            self._fail(error)

    def post(self, entry: LedgerEntry) -> int:
        """-> its number in this journal"""
        return self.append(encode(entry))

    def append(self, payload: bytes) -> int:
        """Never raises for want of room. A payload is one record."""
        self._sequence += 1
        if len(payload) > LONGEST:
            self.lost += 1
            self._log(f"the journal lost an entry of {len(payload)} bytes: the most is {LONGEST}")
        else:
            self._write(payload)
        return self._sequence

    def _write(self, payload: bytes) -> None:
        data = frame(self._seed, self._sequence, payload)
        if self._fault or len(data) > self._left:
            self._append_slowly(data)
            return
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            self._fail(error)
            self._wait(data)
            return
        self._left -= written
        if written < len(data):  # the disk is full
            self._take_back(written)
            self._fail(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            self._wait(data)

    def flush(self) -> None:
        """Tries to write what waits for room."""
        self._retry_at = 0.0
        if self._fault:
            self._recover()

    def close(self) -> None:
        self.flush()
        lost = len(self._waiting)
        if lost:
            self.lost += lost
            self._log(f"the journal ends with {lost} entries that could not be written: {self._fault}")
            self._waiting.clear()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    # Segments

    def _append_slowly(self, data: bytes) -> None:
        """The segment is full, or there was no room before."""
        self._wait(data)
        if not self._fault or time.monotonic() >= self._retry_at:
            self._recover()

    def _recover(self) -> None:
        """Writes what waits. The fault is over when all of it is written."""
        try:
            if self._descriptor < 0:
                self._begin_segment()
            while self._waiting:
                data = self._waiting[0]
                if len(data) > self._left:
                    self._begin_segment()
                written = os.write(self._descriptor, data)
                self._left -= written
                if written < len(data):
                    self._take_back(written)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self._waiting.popleft()
                self._waiting_bytes -= len(data)
        except OSError as error:
            self._fail(error)
            return
        if self._fault:
            lost = self.lost - self._lost_before
            self._log(f"the journal can be written again; {lost} entries were lost")
            self._fault = ""

    def _begin_segment(self) -> None:
        """The old one is closed when the new one stands."""
        if self._number and folder_size(self._folder) > self._folder_bytes:
            raise OSError(errno.EDQUOT, f"it has reached its size of {self._folder_bytes} bytes")
        segment = Segment(self.boot, self.worker, self._number + 1)
        path = os.path.join(self._folder, segment.name)
        draft = f"{path}.new"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.write(descriptor, segment.header) < len(segment.header):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.rename(draft, path)
        except OSError:
            os.close(descriptor)
            os.unlink(draft)
            raise
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._number, self._left = descriptor, segment.number, self._segment_bytes

    def _take_back(self, size: int) -> None:
        """A part of a record. Where it cannot be taken back, the reader finds it broken and goes on behind it."""
        try:
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - size)
        except OSError:
            pass

    # Room

    def _wait(self, data: bytes) -> None:
        if self._waiting_bytes + len(data) > WAITING:
            self.lost += 1
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def _fail(self, error: OSError) -> None:
        self._retry_at = time.monotonic() + RETRY
        if not self._fault:
            self._lost_before = self.lost
            self._fault = error.strerror or str(error)
            self._log(f"the journal cannot be written: {self._fault}; entries wait in memory, and may be lost")


def folder_size(folder: str) -> int:
    total = 0
    with os.scandir(folder) as files:
        for file in files:
            try:
                total += file.stat(follow_symlinks=False).st_size
            except FileNotFoundError:  # shipped and deleted meanwhile
                pass
    return total
