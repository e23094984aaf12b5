"""The index file, byte by byte. All numbers are little-endian.

    header     64 bytes: magic, version, kind, owner width, gram, window, keys, documents, table's length, CRC-32
    starts     65,537 x 4 bytes: where each bucket of keys begins; the bucket is a key's high 16 bits
    middles    2 bytes for each key: its next 16 bits, rising within a bucket
    lows       1 byte for each key: its low 8 bits, rising among equal middles
    owners     2 bytes (4 where there are more than 65,536 documents) for each key: the number of its document
    table      zlib of JSON: {"sources": [[url, license]...], "documents": [[number of the source, path]...]}

The CRC-32 is of everything but itself and the padding behind it. A key costs five bytes, so that the default
index fits into 4 MB; 40 bits of a hash are enough, since two must agree within a few lexemes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final
from zlib import crc32

from antiphon.evaluators.protected.lexemes import IndexKind
from antiphon.evaluators.protected.winnow import Sieve

MAGIC: Final = b"antiphon-index\r\n"  # the line break betrays a transfer in text mode
VERSION: Final = 1
HEADER: Final = struct.Struct("<16sHBBHHQIII20x")
COVERED: Final = 40  # bytes of the header before its checksum
BUCKETS: Final = 1 << 16


class IndexFault(Exception):
    """This is no index file, or not a whole one; or there is nothing to make one of."""


@dataclass(frozen=True, slots=True)
class Header:
    sieve: Sieve
    owner_width: int  # 2 or 4
    keys: int
    documents: int
    table_size: int
    checksum: int = 0

    def pack(self) -> bytes:
        sieve = self.sieve
        shape = (sieve.kind.value, self.owner_width, sieve.gram, sieve.window)
        return HEADER.pack(MAGIC, VERSION, *shape, self.keys, self.documents, self.table_size, self.checksum)

    def checksum_with(self, body: memoryview | bytes) -> int:
        return crc32(body, crc32(self.pack()[:COVERED]))

    @property
    def sections(self) -> list[slice]:
        """Starts, middles, lows, owners, table."""
        sizes = ((BUCKETS + 1) * 4, self.keys * 2, self.keys, self.keys * self.owner_width, self.table_size)
        ends = list(accumulate(sizes, initial=HEADER.size))
        return [slice(begin, end) for begin, end in pairwise(ends)]


def split(key: int) -> tuple[int, int, int]:
    """Bucket, middle, low."""
    return key >> 24, key >> 8 & 0xFFFF, key & 0xFF


def read_header(head: bytes) -> Header:
    """IndexFault says what is wrong, without the file's name."""
    if not head.startswith(MAGIC[:14]):
        raise IndexFault("this is not an Antiphon index")
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise IndexFault("the file is damaged: its header is not whole")
    _, version, kind, width, gram, window, keys, documents, table_size, checksum = HEADER.unpack(head[: HEADER.size])
    if version != VERSION:
        raise IndexFault(f"the file has version {version}, this Antiphon reads version {VERSION}; build it again")
    if kind not in {known.value for known in IndexKind} or width not in (2, 4) or not gram or not window:
        raise IndexFault("the file is damaged: its header makes no sense")
    return Header(Sieve(IndexKind(kind), gram, window), width, keys, documents, table_size, checksum)
