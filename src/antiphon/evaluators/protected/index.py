"""An index file, opened: which document does a fingerprint belong to?

The file is mapped, not read, so that all workers share one copy of it in memory.
"""

from __future__ import annotations

import mmap
import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn
from zlib import decompressobj
from zlib import error as ZlibError

import msgspec

from antiphon.evaluators.protected.layout import BUCKETS, HEADER, Header, IndexFault, read_header, split
from antiphon.evaluators.protected.winnow import Sieve
from antiphon.safety.verdict import Citation

PACKAGED: Final = Path(__file__).parent / "data" / "code.index"  # made by tools/build_index.py
TABLE_LIMIT: Final = 1 << 28  # bytes of the unpacked table: a small file must not fill the memory


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    path: str
    citation: Citation


class IndexTable(msgspec.Struct):
    sources: list[tuple[str, str]]
    documents: list[tuple[int, str]]


class ProtectedIndex:
    """Immutable once loaded; `load` is the way to one."""

    def __init__(self, header: Header, data: mmap.mmap | bytes) -> None:
        starts, middles, lows, owners, table = header.sections
        view = memoryview(data)
        self.sieve: Sieve = header.sieve
        self._starts = _numbers(view[starts], "I")
        self._middles = _numbers(view[middles], "H")
        self._lows = view[lows]
        self._owners = _numbers(view[owners], "H" if header.owner_width == 2 else "I")
        self._documents = _documents(bytes(view[table]), header.documents)
        if list(self._starts) != sorted(self._starts) or self._starts[BUCKETS] != header.keys:
            raise IndexFault("the file is damaged: its buckets are out of order")

    @classmethod
    def load(cls, path: Path) -> ProtectedIndex:
        """IndexFault names the file and what is wrong with it. OSError: it cannot be opened."""
        try:
            with path.open("rb") as file:
                header = read_header(file.read(HEADER.size))
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            _verify(header, data)
            return cls(header, data)
        except IndexFault as fault:
            raise IndexFault(f"{path}: {fault}") from None

    def __len__(self) -> int:
        return len(self._lows)

    @property
    def documents(self) -> Sequence[IndexedDocument]:
        return self._documents

    def find(self, key: int) -> IndexedDocument | None:
        bucket, middle, low = split(key)
        end = self._starts[bucket + 1]
        place = bisect_left(self._middles, middle, self._starts[bucket], end)
        while place < end and self._middles[place] == middle:
            if self._lows[place] == low:
                return self._documents[self._owners[place]]
            place += 1
        return None


def _verify(header: Header, data: mmap.mmap) -> None:
    size = header.sections[-1].stop
    if len(data) != size:
        raise IndexFault(f"the file is damaged: it has {len(data)} bytes and should have {size}")
    with memoryview(data) as view, view[HEADER.size :] as rest:
        if header.checksum_with(rest) != header.checksum:
            raise IndexFault("the file is damaged: its checksum is wrong")


def _numbers(view: memoryview, code: str) -> Sequence[int]:
    if sys.byteorder == "little":
        return view.cast(code)  # type: ignore[call-overload, no-any-return]
    numbers = array(code, view.tobytes())
    numbers.byteswap()
    return numbers


def _documents(packed: bytes, count: int) -> list[IndexedDocument]:
    try:
        unpacker = decompressobj()
        unpacked = unpacker.decompress(packed, TABLE_LIMIT)
        table = msgspec.json.decode(unpacked, type=IndexTable)
        citations = [Citation(url, license) for url, license in table.sources]
        documents = [IndexedDocument(path, citations[source]) for source, path in table.documents]
    except (ZlibError, msgspec.DecodeError, IndexError):
        _damaged()
    if len(documents) != count or unpacker.unconsumed_tail:
        _damaged()
    return documents


def _damaged() -> NoReturn:
    raise IndexFault("the file is damaged: its table of documents cannot be read")
