"""From the journal to the store: whole records in batches, in order, each until the store has committed it.

What was shipped is remembered in memory only. A shipper that starts anew reads segments from their beginning, and the
store ignores what it has. A segment is deleted when its writer is gone or has begun another, and the store has
all of it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from antiphon.accounts.entry import Record, decode
from antiphon.accounts.journal.reader import JournalRecord, Reading, has_ended, read_segment
from antiphon.accounts.journal.segment import DAMAGED, Segment, segments
from antiphon.accounts.journal.writer import Log
from antiphon.accounts.stores.contract import LedgerStore, StoreDown, StoreError

BATCH: Final = 500
SYNC_EVERY: Final = 1.0  # seconds, while the store is away
MOST_DAMAGED: Final = 8  # segments that are kept because something in them could not be shipped


@dataclass(slots=True)
class _Progress:
    at: int = 0
    damaged: bool = False


@dataclass(slots=True)
class Shipper:
    """Of one folder there is one shipper at a time; two would do no harm but the work."""

    folder: str
    ledger: LedgerStore
    log: Log
    is_needed: Callable[[Segment], bool] | None = None  # somebody has yet to read it, though its writer is gone
    shipped: int = 0  # entries that were new to the store
    broken: int = 0  # places in segments that are no record
    refused: int = 0  # records that the store does not take
    _progress: dict[Segment, _Progress] = field(default_factory=dict)
    _batch: list[tuple[Segment, Record]] = field(default_factory=list)
    _synced: float = 0.0

    async def ship(self) -> int:
        """Ships all that is whole now. -> how many entries were new. Raises StoreDown; nothing is lost then."""
        before = self.shipped
        try:
            await self._post()
            present = segments(self.folder)
            done = [segment for segment in present if await self._read(segment, present)]
            await self._post()
        except StoreDown:
            await self._sync()
            raise
        for segment in done:
            self._remove(segment)
        return self.shipped - before

    def backlog(self) -> int:
        """Bytes that are not shipped yet, for metrics."""
        total = 0
        for segment in segments(self.folder):
            progress = self._progress.get(segment)
            try:
                total += os.stat(self._path(segment)).st_size - (progress.at if progress else 0)
            except FileNotFoundError:
                pass
        return total

    # Reading

    async def _read(self, segment: Segment, present: list[Segment]) -> bool:
        """-> it has ended, and all of it is read."""
        progress = self._progress.setdefault(segment, _Progress())
        try:
            descriptor = os.open(self._path(segment), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            is_followed = Segment(segment.boot, segment.worker, segment.number + 1) in present
            ended = is_followed or has_ended(descriptor)
            if not ended and os.fstat(descriptor).st_size == progress.at:
                return False  # nothing is new: no thread is woken for it
            while True:
                reading = await asyncio.to_thread(read_segment, descriptor, segment, progress.at, ended=ended)
                self._gather(segment, progress, reading)
                if len(self._batch) >= BATCH:
                    await self._post()
                if not reading.found:
                    is_read = ended and progress.at >= os.fstat(descriptor).st_size
                    return is_read and (is_followed or self.is_needed is None or not self.is_needed(segment))
        finally:
            os.close(descriptor)

    def _gather(self, segment: Segment, progress: _Progress, reading: Reading) -> None:
        for found in reading.found:
            fault = found.fault
            if found.payload is not None:
                try:
                    entry = decode(found.payload)
                    self._batch.append((segment, Record(segment.boot, segment.worker, found.sequence, entry)))
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    fault = f"it is no entry ({error})"
            if fault:
                self._note_broken(segment, progress, found, fault)
        progress.at = reading.end

    def _note_broken(self, segment: Segment, progress: _Progress, found: JournalRecord, fault: str) -> None:
        self.broken += 1
        progress.damaged = True
        size = found.end - found.at
        self.log(f"the journal {segment.name} is broken at byte {found.at}: {fault}; {size} bytes are skipped")

    # Posting

    async def _post(self) -> None:
        while self._batch:
            some = self._batch[:BATCH]
            try:
                self.shipped += await self.ledger.post([record for _, record in some])
            except StoreDown:
                raise
            except StoreError:
                await self._post_singly(some)
            del self._batch[: len(some)]

    async def _post_singly(self, some: list[tuple[Segment, Record]]) -> None:
        """One of them is not to the store's liking; the others must not wait for it."""
        for segment, record in some:
            try:
                self.shipped += await self.ledger.post([record])
            except StoreDown:
                raise
            except StoreError as error:
                self.refused += 1
                self._progress[segment].damaged = True
                self.log(f"the store refuses entry {record.sequence} of the journal {segment.name}: {error}")

    # Files

    def _remove(self, segment: Segment) -> None:
        path = self._path(segment)
        if not os.path.exists(path):  # somebody was faster
            self._progress.pop(segment)
        elif self._progress.pop(segment).damaged:
            os.rename(path, path + DAMAGED)
            kept = sorted(name for name in os.listdir(self.folder) if name.endswith(DAMAGED))
            kept.sort(key=lambda name: os.stat(os.path.join(self.folder, name)).st_mtime)
            for name in kept[:-MOST_DAMAGED]:
                os.unlink(os.path.join(self.folder, name))
        else:
            os.unlink(path)

    async def _sync(self) -> None:
        """While the store is away the journal is all there is."""
        if time.monotonic() - self._synced >= SYNC_EVERY:
            await asyncio.to_thread(self._sync_files)
            self._synced = time.monotonic()

    def _sync_files(self) -> None:
        for segment in segments(self.folder):
            try:
                descriptor = os.open(self._path(segment), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)

    def _path(self, segment: Segment) -> str:
        return os.path.join(self.folder, segment.name)
