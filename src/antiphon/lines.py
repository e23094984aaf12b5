"""Whole lines to a descriptor, or none of a line: to a file, a pipe or a terminal, without ever waiting for it."""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Sequence
from typing import Final

ERASE: Final = b"\r\x1b[K"  # ECMA-48: the cursor's line, from its beginning


class Lines:
    """A reader that stops reading its pipe, a full disk or a closed descriptor must not stop traffic.

    A pipe that is writable takes PIPE_BUF bytes at once (POSIX); the descriptor is shared with others, so it stays a
    blocking one. A line that could be written in part is taken back; where that cannot be, it is ended by the next one.
    On a terminal a line begins by erasing what a progress bar has drawn there (`antiphon.supply.progress`).
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.fault = ""  # why the last lines were lost
        self._torn = False  # the last byte written is not the end of a line

    def write(self, lines: Sequence[bytes]) -> int:
        """-> how many lines, of the last ones, were lost"""
        try:
            is_file = stat.S_ISREG(os.fstat(self.descriptor).st_mode)
            if not is_file and _draws(self.descriptor):
                lines = [ERASE + line for line in lines]
            if self._torn:
                self._write_some(b"\n", is_file)
                self._torn = False
        except OSError as error:
            self.fault = error.strerror or str(error)
            return len(lines)
        data = b"\n".join(lines) + b"\n"
        written = self._write_pieces(data, is_file)
        whole = data.rfind(b"\n", 0, written) + 1
        if written > whole:
            self._torn = not (is_file and self._take_back(written - whole))
        return data.count(b"\n", whole)

    def _write_pieces(self, data: bytes, is_file: bool) -> int:
        """-> how many bytes. A full disk takes a part, and refuses the next write."""
        at = 0
        try:
            for end in [len(data)] if is_file else _pieces(data):
                while at < end:
                    at += self._write_some(data[at:end], is_file)
        except OSError as error:
            self.fault = error.strerror or str(error)
        return at

    def _write_some(self, data: bytes, is_file: bool) -> int:
        if not is_file:
            ready = select.poll()
            ready.register(self.descriptor, select.POLLOUT)
            if not any(event & select.POLLOUT for _, event in ready.poll(0)):
                raise BlockingIOError(errno.EAGAIN, "it takes no more")
        return os.write(self.descriptor, data)

    def _take_back(self, size: int) -> bool:
        """The last bytes of the file, if nobody has written behind them."""
        try:
            end = os.lseek(self.descriptor, 0, os.SEEK_CUR)
            if os.fstat(self.descriptor).st_size != end:
                return False
            os.ftruncate(self.descriptor, end - size)
            os.lseek(self.descriptor, end - size, os.SEEK_SET)
        except OSError:
            return False
        return True


def _draws(descriptor: int) -> bool:
    return os.isatty(descriptor) and os.environ.get("TERM", "dumb") != "dumb"


def _pieces(data: bytes) -> list[int]:
    """Where each piece for a pipe ends: PIPE_BUF bytes at most, to the end of a line where there is one."""
    ends: list[int] = []
    at = 0
    while at < len(data):
        line = data.rfind(b"\n", at, at + select.PIPE_BUF) + 1
        at = line or min(at + select.PIPE_BUF, len(data))
        ends.append(at)
    return ends


STANDARD: Final = {1: Lines(1), 2: Lines(2)}


def put(descriptor: int, lines: Sequence[bytes]) -> int:
    """To stdout or stderr. -> how many lines were lost"""
    return STANDARD[descriptor].write(lines)
