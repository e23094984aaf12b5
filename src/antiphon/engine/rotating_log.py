"""What the native engine writes, kept in a file that cannot grow without bound: when full it becomes `.1`."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

LARGEST = 1024 * 1024  # bytes of one file; there are two at most
REMEMBERED = 20  # last lines, for a fault's reason


def journal_path(environ: Mapping[str, str]) -> Path | None:
    """Under $XDG_STATE_HOME (a relative one is ignored, as its specification says). None: there is no place for it."""
    named = environ.get("XDG_STATE_HOME", "")
    if named.startswith("/"):
        return Path(named) / "antiphon" / "engine.log"
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(home) / ".local" / "state" / "antiphon" / "engine.log" if home.startswith("/") else None


class RotatingLog:
    """Never raises: a log that cannot be written must not stop the engine."""

    def __init__(self, path: Path | None, largest: int = LARGEST) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=REMEMBERED)
        self._largest = largest

    def mark(self, words: str) -> None:
        """A line of our own, with the time: the engine's lines count from its start."""
        self.tail.clear()
        self.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S %z')} {words}\n".encode())

    def write(self, data: bytes) -> None:
        self.tail.extend(data.decode("utf-8", "replace").splitlines())
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            size = self.path.stat().st_size if self.path.exists() else 0
            if size + len(data) > self._largest:
                self.path.replace(self.path.with_name(self.path.name + ".1"))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                os.write(descriptor, data[-self._largest :])
            finally:
                os.close(descriptor)
        except OSError:
            return
