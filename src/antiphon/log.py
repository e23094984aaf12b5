"""Two logs, one JSON object per line: the access log (one line a turn) and the error log. Never secrets, never bodies.

Lines are gathered and written at most a fifth of a second later: one system call for many turns.
"""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from typing import Any

import msgspec

from antiphon.flow.ports import Entry

FLUSH_AFTER = 0.2  # seconds
FLUSH_AT = 128  # lines
encode = msgspec.json.Encoder().encode


class LogFile:
    """Appends lines to a file descriptor. "-" is stderr, "off" is nowhere, anything else a path."""

    def __init__(self, where: str) -> None:
        self._fd = {"-": 2, "off": -1}.get(where, -2)
        if self._fd == -2:
            self._fd = os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._lines: list[bytes] = []
        self._waiting = False

    @property
    def on(self) -> bool:
        return self._fd >= 0

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) >= FLUSH_AT:
            self.flush()
        elif not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_later(FLUSH_AFTER, self.flush)

    def flush(self) -> None:
        self._waiting = False
        if not self._lines:
            return
        data = b"\n".join(self._lines) + b"\n"
        self._lines.clear()
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except OSError:  # a full disk or a closed pipe must not stop traffic
                return


class Log:
    """The ledger until there is one: posts entries to the access log."""

    def __init__(self, access: LogFile, error: LogFile) -> None:
        self._access = access
        self._error = error

    def post(self, entry: Entry) -> None:
        if self._access.on:
            self._access.add(encode(entry))

    def error(self, message: str, error: BaseException | None = None, request_id: str | None = None) -> None:
        """`error` is one of ours: its traceback names places in the code, not what a client sent."""
        if not self._error.on:
            return
        line: dict[str, Any] = {"log": "error", "time": round(time.time(), 3), "message": message}
        if request_id is not None:
            line["request_id"] = request_id
        if error is not None:
            line["error"] = type(error).__name__
            line["where"] = [
                f"{f.name} ({os.path.basename(f.filename)}:{f.lineno})"
                for f in traceback.extract_tb(error.__traceback__)[-6:]
            ]
        self._error.add(encode(line))

    def flush(self) -> None:
        self._access.flush()
        self._error.flush()
