"""Reads segments: whole records, and what is broken between them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from antiphon.accounts.journal.segment import FRAME, HEADER, LONGEST, MARKER, Segment, checksum

PIECE: Final = 1024 * 1024  # bytes from which records are taken at a time
WINDOW: Final = PIECE + FRAME.size + LONGEST  # so that those which begin in the piece are whole


class JournalRecord(NamedTuple):
    """A record, or the bytes that are none (`payload` is None then)."""

    at: int  # where it begins
    end: int
    sequence: int
    payload: bytes | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    found: list[JournalRecord]
    end: int  # where to go on; what lies behind it is not whole yet


def read_segment(descriptor: int, segment: Segment, at: int, *, ended: bool) -> Reading:
    """From `at`, a few of them. `ended`: its writer is gone, so what is not whole never will be."""
    data = os.pread(descriptor, WINDOW, at)
    is_whole = len(data) < WINDOW  # all that there is
    start = at
    found: list[JournalRecord] = []
    if at == 0:
        if not data or (len(data) < HEADER.size and not ended):
            return Reading([], 0)
        if data[: HEADER.size] == segment.header:
            at = HEADER.size
        else:
            found.append(JournalRecord(0, 0, 0, None, "its header is broken"))
    for one in _records(data, at - start, segment.seed, is_whole=is_whole, ended=ended):
        found.append(one._replace(at=start + one.at, end=start + one.end))
        at = start + one.end
        if one.end >= PIECE:
            break
    return Reading(found, at)


def _records(data: bytes, at: int, seed: int, *, is_whole: bool, ended: bool) -> Iterator[JournalRecord]:
    while at < len(data):
        one = _record(data, at, seed)
        if one is None and not (is_whole and ended):
            return  # more of it may come
        if one is None or one.payload is None:
            end = _next_marker(data, at, is_whole=is_whole, ended=ended)
            if end is None:
                return  # this one ends where the next one begins, and that is not written yet
            one = JournalRecord(at, end, 0, None, one.fault if one is not None else "it is cut off")
        yield one
        at = one.end


def _next_marker(data: bytes, at: int, *, is_whole: bool, ended: bool) -> int | None:
    behind = data.find(MARKER, at + 1)
    if behind >= 0:
        return behind
    if not is_whole:
        return len(data) - len(MARKER) + 1  # a marker may begin in the last bytes
    return len(data) if ended else None


def _record(data: bytes, at: int, seed: int) -> JournalRecord | None:
    """None: the data ends before it does."""
    if len(data) - at < FRAME.size:
        return None
    marker, length, crc, sequence = FRAME.unpack_from(data, at)
    if marker != MARKER or length > LONGEST:
        return JournalRecord(at, at, 0, None, "it does not begin as a record")
    end = at + FRAME.size + length
    if end > len(data):
        return None
    payload = data[at + FRAME.size : end]
    if checksum(seed, sequence, payload) != crc:
        return JournalRecord(at, end, sequence, None, "its checksum is wrong")
    return JournalRecord(at, end, sequence, payload)


def has_ended(descriptor: int) -> bool:
    """Its writer is gone: nobody holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
