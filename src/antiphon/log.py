"""Two logs, one JSON object per line: the access log (one line a turn) and the error log. Never secrets, never bodies.

Lines are gathered and written at most a fifth of a second later: one system call for many turns.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import time
import traceback
from typing import Any

import msgspec

from antiphon.flow.ports import Entry

FLUSH_AFTER = 0.2  # seconds
FLUSH_AT = 128  # lines
ERASE = b"\r\x1b[K"  # ECMA-48: the cursor's line, from its beginning
encode = msgspec.json.Encoder().encode


class LogFile:
    """Appends lines to a file descriptor. "-" is stderr, "off" is nowhere, anything else a path."""

    def __init__(self, where: str) -> None:
        self._fd = {"-": 2, "off": -1}.get(where, -2)
        if self._fd == -2:
            self._fd = os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self.on = self._fd >= 0
        self._lines: list[bytes] = []
        self._waiting = False
        self._dropped = 0

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) >= FLUSH_AT:
            self.flush()
        elif not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_later(FLUSH_AFTER, self.flush)

    def flush(self) -> None:
        self._waiting = False
        lines, self._lines = self._lines, []
        if not lines:
            return
        if self._dropped:
            lines.insert(0, encode({"log": "error", "message": f"{self._dropped} log lines were lost"}))
        lost = put(self._fd, lines)
        self._dropped = 0 if not lost else self._dropped + lost


def put(fd: int, lines: list[bytes]) -> int:
    """Writes what can be written without waiting; returns how many lines were not.

    A reader that stops reading its pipe, a full disk or a closed descriptor must not stop traffic. A pipe that is
    writable takes PIPE_BUF bytes at once (POSIX); the descriptor is shared with others, so it stays a blocking one.
    On a terminal a line begins by erasing what a progress bar has drawn there (`antiphon.supply.progress`).
    """
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.write(fd, b"\n".join(lines) + b"\n")
            return 0
    except OSError:
        return len(lines)
    if os.isatty(fd) and os.environ.get("TERM", "dumb") != "dumb":
        lines = [ERASE + line for line in lines]
    ready = select.poll()
    ready.register(fd, select.POLLOUT)
    at = 0
    while at < len(lines):
        size = len(lines[at]) + 1
        end = at + 1
        while end < len(lines) and size + len(lines[end]) + 1 <= select.PIPE_BUF:
            size += len(lines[end]) + 1
            end += 1
        data = b"\n".join(lines[at:end]) + b"\n"
        for start in range(0, len(data), select.PIPE_BUF):
            try:
                if not any(event & select.POLLOUT for _, event in ready.poll(0)):
                    return len(lines) - at
                os.write(fd, data[start : start + select.PIPE_BUF])
            except OSError:
                return len(lines) - at
        at = end
    return 0


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
