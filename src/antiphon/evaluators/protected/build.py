"""Folders become an index file.

Left out, since they would accuse the innocent: licence notices, files under permissive licences, generated files, lists
of numbers or imports, what stands in many files alike (boilerplate), and what stands in folders named as freely usable.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Final
from zlib import compress

from antiphon.evaluators.protected.layout import BUCKETS, Header, IndexFault, split
from antiphon.evaluators.protected.lexemes import lexemes
from antiphon.evaluators.protected.licences import is_permissive, licence_of
from antiphon.evaluators.protected.sources import TextSource, between_notices, files
from antiphon.evaluators.protected.winnow import Sieve, Winnower, fingerprints

COMMON: Final = 12  # files; a fingerprint of more of them is boilerplate
NAMES: Final = 3  # different ones that a gram must have
LETTERS: Final = 8  # that they must have together: 'a', 'b', 'c' is everybody's
IMPORTING: Final = frozenset(("import", "include", "require", "using"))
IMPORTS: Final = 3  # so many in one gram make it a list of imports
NARROW: Final = 1 << 16  # documents that two bytes can tell apart

Say = Callable[[str], None]


def quietly(line: str) -> None:
    """Nobody listens."""


@dataclass
class Builder:
    """Collects fingerprints; about 150 bytes of memory for each. `free`: fingerprints that anybody may use."""

    sieve: Sieve
    free: set[int] = field(default_factory=set)
    say: Say = quietly

    def __post_init__(self) -> None:
        self._owners: dict[int, int] = {}
        self._files: Counter[int] = Counter()  # in how many files a fingerprint stands
        self._sources: dict[tuple[str, str], int] = {}
        self._documents: list[tuple[int, str]] = []
        self._known: set[bytes] = set()  # digests of files: a twin adds nothing

    def leave_out(self, source: TextSource) -> None:
        """What this folder holds may be copied freely; to be called before `add`."""
        for _, text in files(source, self.sieve.kind):
            self.free.update(print.key for print in fingerprints(self.sieve, text))

    def add(self, source: TextSource) -> None:
        taken = permissive = 0
        skipped: list[str] = []
        for path, text in files(source, self.sieve.kind, skipped):
            licence = licence_of(text) or source.licence
            if is_permissive(licence):
                permissive += 1
            elif self._is_new(text):
                self._take(source.url_of(path), licence, path, text)
                taken += 1
        told = f"{source.folder.name}: {taken} files, {permissive} left out as permissive"
        unread = f", {len(skipped)} skipped as binary or too large" if skipped else ""
        self.say(f"{told}{unread}; {len(self._owners)} in all")

    def _is_new(self, text: str) -> bool:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        new = digest not in self._known
        self._known.add(digest)
        return new

    def _take(self, url: str, licence: str, path: str, text: str) -> None:
        keys = {key for part in between_notices(text) for key in telling(self.sieve, part)} - self.free
        if not keys:
            return
        source = self._sources.setdefault((url, licence), len(self._sources))
        for key in keys:
            self._owners.setdefault(key, len(self._documents))
        self._files.update(keys)
        self._documents.append((source, path))

    def write(self, path: Path) -> int:
        """The file, whole or not at all; gives the number of fingerprints in it."""
        keys = sorted(key for key in self._owners if self._files[key] <= COMMON)
        if not keys:
            raise IndexFault("nothing to index: no file of a known kind, long enough and not freely usable")
        body, table_size, width = self._body(keys)
        header = Header(self.sieve, width, len(keys), len(self._documents), table_size)
        _replace(path, replace(header, checksum=header.checksum_with(body)).pack() + body)
        return len(keys)

    def _body(self, keys: list[int]) -> tuple[bytes, int, int]:
        code, width = ("H", 2) if len(self._documents) <= NARROW else ("I", 4)
        table = {"sources": list(self._sources), "documents": self._documents}
        packed = compress(json.dumps(table, separators=(",", ":")).encode(), 9)
        buckets, middles, lows = zip(*map(split, keys), strict=True)
        owners = [self._owners[key] for key in keys]
        columns = [_bytes("I", _starts(buckets)), _bytes("H", middles), bytes(lows), _bytes(code, owners), packed]
        return b"".join(columns), len(packed), width


def telling(sieve: Sieve, text: str) -> Iterator[int]:
    """Keys of grams that are somebody's own: tables of numbers are facts, and lists of imports alike everywhere."""
    words = lexemes(sieve.kind, text)
    for print in Winnower(sieve).feed(words):
        gram = words[print.position : print.position + sieve.gram]
        if _says_something({word for word in gram if word[0].isalpha() or word[0] == "_"}) and (
            sum(word in IMPORTING for word in gram) < IMPORTS
        ):
            yield print.key


def _says_something(names: set[str]) -> bool:
    return len(names) >= NAMES and sum(map(len, names)) >= LETTERS


def build(
    sieve: Sieve, sources: Iterable[TextSource], free: Iterable[TextSource], path: Path, say: Say = quietly
) -> int:
    """The index of `sources` without what `free` holds, as a file; gives the number of its fingerprints."""
    builder = Builder(sieve, say=say)
    for source in free:
        builder.leave_out(source)
    for source in sources:
        builder.add(source)
    return builder.write(path)


def _starts(buckets: Iterable[int]) -> Iterable[int]:
    """Where each bucket begins, and at the end where the last one ends."""
    sizes = Counter(buckets)
    return accumulate((sizes[bucket] for bucket in range(BUCKETS)), initial=0)


def _bytes(code: str, numbers: Iterable[int]) -> bytes:
    packed = array(code, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _replace(path: Path, data: bytes) -> None:
    """A gateway that has the old file mapped keeps it; one that starts sees the new one whole."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:  # Ctrl-C too: half a file is of no use
            os.unlink(file.name)
            raise
