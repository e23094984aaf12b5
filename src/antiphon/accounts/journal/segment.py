"""The format of the journal: a segment is a header and records; a record is a frame and a payload.

    header   "antiphon journal 1\n" | boot u64 | worker u32            31 bytes
    record   marker 4 bytes | length u32 | CRC-32 u32 | sequence u64 | payload

The CRC is of the payload and begins with a number of boot and sequence: bytes that a client chose are no record, by
chance or by intent. The marker is where reading goes on behind a record that is broken.
A segment is named BOOT-WORKER-NUMBER.journal. Its writer holds a lock (flock) on it: a segment that can be locked has
no writer any more. It is made under another name and renamed when it is locked, so nobody sees it unlocked before.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"antiphon journal 1\n"
HEADER: Final = struct.Struct("<19sQI")
FRAME: Final = struct.Struct("<4sIIQ")
MARKER: Final = b"\xa7RC\x1e"
LONGEST: Final = 1024 * 1024  # bytes of a payload
NAME: Final = re.compile(r"([0-9a-f]{16})-(\d{5})-(\d{8})\.journal")
DAMAGED: Final = ".damaged"  # added to the name of a segment that is kept for people to look at


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    boot: int
    worker: int
    number: int

    @property
    def name(self) -> str:
        return f"{self.boot:016x}-{self.worker:05}-{self.number:08}.journal"

    @property
    def header(self) -> bytes:
        return HEADER.pack(MAGIC, self.boot, self.worker)

    @property
    def seed(self) -> int:
        return self.boot & 0xFFFFFFFF


def parse_name(name: str) -> Segment | None:
    found = NAME.fullmatch(name)
    return Segment(int(found[1], 16), int(found[2]), int(found[3])) if found else None


def segments(folder: str) -> list[Segment]:
    """In the order in which they were written, one writer after the other."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(segment for name in names if (segment := parse_name(name)) is not None)


def frame(seed: int, sequence: int, payload: bytes) -> bytes:
    return FRAME.pack(MARKER, len(payload), checksum(seed, sequence, payload), sequence) + payload


def checksum(seed: int, sequence: int, payload: bytes) -> int:
    return zlib.crc32(payload, seed ^ (sequence & 0xFFFFFFFF) ^ (sequence >> 32))
