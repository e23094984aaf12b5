"""A credential in the gateway's private directory: the keeper writes it, workers read it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final

import msgspec

LOOK: Final = 1.0  # seconds between looks at a file


def file_of(room: str, position: int) -> str:
    """Of the upstream at this position in the settings."""
    return f"{room}/credential-{position}.json"


def write(file: str, values: dict[str, str], ends: float) -> None:
    """`ends`: Unix seconds. A reader finds the old one or the new one, whole."""
    draft = f"{file}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(msgspec.json.encode({"values": values, "ends": ends}))
    os.replace(draft, file)


class _Kept(msgspec.Struct):
    values: dict[str, str]
    ends: float


class Kept:
    """The newest credential of one file, as a worker sees it."""

    __slots__ = ("_ends", "_file", "_looked", "_version", "values")

    def __init__(self, file: str) -> None:
        self.values: dict[str, str] = {}
        self._file = file
        self._ends = 0.0
        self._looked = 0.0
        self._version: tuple[int, int] | None = None

    def look(self) -> dict[str, str] | None:
        """None: there is none, or it has expired."""
        now = time.time()
        if not 0 <= now - self._looked < LOOK:
            self._looked = now
            self._read()
        return self.values if now < self._ends else None

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            found = os.stat(self._file)
            version = found.st_ino, found.st_mtime_ns
            if version == self._version:
                return
            with open(self._file, "rb") as file:
                kept = msgspec.json.decode(file.read(), type=_Kept)
            self.values, self._ends, self._version = kept.values, kept.ends, version
