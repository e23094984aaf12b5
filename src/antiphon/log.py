"""Two logs, one JSON object per line: the access log (one line a turn) and the error log. Never secrets, never bodies.

Lines are gathered and written at most a fifth of a second later: one system call for many turns.
"""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from collections.abc import Sequence
from typing import Any

import msgspec

from antiphon.flow.ports import Entry
from antiphon.lines import STANDARD, Lines, put

FLUSH_AFTER = 0.2  # seconds
FLUSH_AT = 128  # lines
encode = msgspec.json.Encoder().encode


class LogFile:
    """Gathers lines for one log. "-" is stderr, "off" is nowhere, anything else a path.

    Where lines cannot be written, that is told once on stderr; how many were lost, in the log when it works again.
    """

    def __init__(self, where: str) -> None:
        self.on = where != "off"
        self._where = where
        self._out = open_log(where) if self.on else Lines(-1)
        self._lines: list[bytes] = []
        self._waiting = False
        self._lost = 0

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
        if not self._lost:
            self._lose(self._out.write(lines))
            return
        lost = self._out.write([error_line(self._told()), *lines])
        if lost <= len(lines):  # the first line, which tells of the lost ones, was written
            self._lost = 0
        self._lose(min(lost, len(lines)))

    def reopen(self) -> None:
        """After a rotation: what was gathered goes to the old file. One that cannot be opened leaves the old one."""
        if not self.on or self._where == "-":
            return
        self.flush()
        try:
            new = open_log(self._where)
        except OSError as error:
            _say(f"antiphon: the log {self._where} cannot be opened anew: {error.strerror}; the old file is kept")
            return
        os.close(self._out.descriptor)
        self._out = new

    def close(self) -> None:
        self.flush()
        if self._lost:
            _say(f"antiphon: the log {self._where}: {self._told()}")
            self._lost = 0

    def _lose(self, count: int) -> None:
        if count and not self._lost and self._where != "-":
            _say(f"antiphon: the log {self._where} cannot be written: {self._out.fault}; lines are lost")
        self._lost += count

    def _told(self) -> str:
        return f"{self._lost} log line{' was' if self._lost == 1 else 's were'} lost: {self._out.fault}"


def open_log(where: str) -> Lines:
    """Never waits: a named pipe that nobody reads is refused (ENXIO)."""
    if where == "-":
        return STANDARD[2]
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    return Lines(os.open(where, flags, 0o640))


def append(where: str, line: bytes) -> None:
    """One line, by a process that keeps no log open; what cannot be written is left."""
    if where in ("-", "off"):
        if where == "-":
            put(2, [line])
        return
    try:
        log = open_log(where)
    except OSError:
        return
    log.write([line])
    os.close(log.descriptor)


def error_line(
    message: str, error: BaseException | None = None, request_id: str | None = None, where: Sequence[str] = ()
) -> bytes:
    """`where`: places in the code; of `error`, which is one of ours, they are found here."""
    line: dict[str, Any] = {"log": "error", "time": round(time.time(), 3), "message": message}
    if request_id is not None:
        line["request_id"] = request_id
    if error is not None:
        line["error"] = type(error).__name__
        where = [
            f"{f.name} ({os.path.basename(f.filename)}:{f.lineno})"
            for f in traceback.extract_tb(error.__traceback__)[-6:]
        ]
    if where or error is not None:
        line["where"] = where
    return encode(line)


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
        if self._error.on:
            self._error.add(error_line(message, error, request_id))

    def reopen(self) -> None:
        self._access.reopen()
        self._error.reopen()

    def flush(self) -> None:
        self._access.flush()
        self._error.flush()

    def close(self) -> None:
        self._access.close()
        self._error.close()


def _say(line: str) -> None:
    put(2, [line.encode()])
