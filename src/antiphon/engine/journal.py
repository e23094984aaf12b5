"""What the native engine writes, kept in a file that cannot grow without bound: when full it becomes `.1`."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path

LARGEST = 1024 * 1024  # bytes of one file; there are two at most
REMEMBERED = 20  # last lines, for a fault's reason


def journal_path(environ: Mapping[str, str]) -> Path:
    """Under $XDG_STATE_HOME (a relative one is ignored, as its specification says)."""
    state = environ.get("XDG_STATE_HOME", "")
    root = Path(state) if state.startswith("/") else Path(environ.get("HOME") or "/tmp") / ".local" / "state"  # noqa: S108
    return root / "antiphon" / "engine.log"


class Journal:
    """Never raises: a log that cannot be written must not stop the engine."""

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=REMEMBERED)
        self._largest = largest

    def write(self, data: bytes) -> None:
        self.tail.extend(data.decode("utf-8", "replace").splitlines())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            size = self.path.stat().st_size if self.path.exists() else 0
            if size + len(data) > self._largest:
                self.path.replace(self.path.with_name(self.path.name + ".1"))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, data[-self._largest :])
            finally:
                os.close(descriptor)
        except OSError:
            return
