"""The file of numbers: a header and one part for each worker, which only that worker writes.

    magic · parts · then for each worker: process id · the numbers of `families.py`

A worker that is replaced goes on in its predecessor's part, so a counter never goes backwards [counters-go-up].
Numbers are 8 bytes, aligned: a reader sees the old one or the new one. A worker that is killed loses at most the turn
that it was counting.

The names of routes and upstreams stand in a second file, in the order of their indexes. A reload adds names and takes
none away.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from antiphon.metrics.families import GAUGES, MOST_NAMES, ROUTE, UPSTREAM, WORDS, start_of

MAGIC: Final = 0x41504D4554520001
HEAD: Final = 4096
PART: Final = -(-(8 + WORDS * 8) // 4096) * 4096

Names = dict[str, list[str]]


def table_path(room: str) -> str:
    """`room`: the gateway's private directory."""
    return os.path.join(room, "metrics")


def names_path(room: str) -> str:
    return os.path.join(room, "metric-names")


def create(path: str, workers: int) -> None:
    """The supervisor calls it before any worker starts."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(fd, 0, HEAD + workers * PART)  # a hole of a full disk would kill who counts (SIGBUS)
        os.pwrite(fd, struct.pack("=QQ", MAGIC, workers), 0)
    finally:
        os.close(fd)


class MetricsTable:
    """One process's view of the file, opened after the fork."""

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._memory = mmap.mmap(fd, 0)
        finally:
            os.close(fd)
        magic, self.workers = struct.unpack_from("=QQ", self._memory)
        if magic != MAGIC:
            raise ValueError(f"{path} is not a file of metrics, or of another version")

    def part(self, worker: int) -> memoryview[float]:
        """A worker's numbers, to read and write."""
        at = HEAD + worker * PART + 8
        return memoryview(self._memory)[at : at + WORDS * 8].cast("d")

    def pid(self, worker: int) -> int:
        """0: it never ran."""
        return int(struct.unpack_from("=q", self._memory, HEAD + worker * PART)[0])

    def enter(self, worker: int) -> memoryview[float]:
        """A worker begins: what stood for its predecessor's present is over."""
        struct.pack_into("=q", self._memory, HEAD + worker * PART, os.getpid())
        numbers = self.part(worker)
        for gauge in GAUGES:
            numbers[start_of(gauge)] = 0.0
        return numbers


def read_names(path: str) -> Names:
    """Nothing where the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Names)
    except (OSError, msgspec.MsgspecError):
        return {ROUTE: [], UPSTREAM: []}


def add_names(path: str, routes: Sequence[str], upstreams: Sequence[str]) -> None:
    """Writes the file; names that it has keep their indexes."""
    names = read_names(path)
    for label, more in ((ROUTE, routes), (UPSTREAM, upstreams)):
        known = set(names[label])
        names[label] += [name for name in dict.fromkeys(more) if name not in known]
        del names[label][MOST_NAMES[label] :]
    with open(f"{path}.new", "wb", opener=_private) as file:
        file.write(msgspec.json.encode(names))
    os.replace(f"{path}.new", path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def indexes(names: Mapping[str, Sequence[str]], label: str) -> dict[str, int]:
    """Of each name; the others are 0."""
    return {name: index for index, name in enumerate(names[label], 1)}
