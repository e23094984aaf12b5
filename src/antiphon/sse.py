"""Server-sent events, both ways: bytes in, the data of whole events out; payloads in, frames out.

Rules: WHATWG HTML §9.2.6 (event stream interpretation). Only CR, LF and CRLF end a line (never U+2028 or U+0085, which
stand inside JSON strings); multi-line data is joined by LF; a BOM at the very start is dropped. Two things are ours: an
event whose data is blank gives nothing (a heartbeat), and an event cut off by the end of the stream is still given
(upstreams forget the last blank line). The codec knows no JSON. Its work is linear in the bytes, however they are cut.
"""

from __future__ import annotations

from typing import Final

DONE: Final = b"data: [DONE]\n\n"
KEEPALIVE: Final = b": keep-alive\n\n"
LIMIT: Final = 16 * 1024 * 1024

_BOM: Final = b"\xef\xbb\xbf"
_LF: Final = 10
_PER_LINE: Final = 16  # what holding a line costs beyond its bytes, so that many short ones count too


class SseError(ValueError):
    """An event, or a line of one, is larger than the limit."""


class Named(bytes):
    """The payload of an event that was given a name other than `message`."""

    name: bytes

    def __new__(cls, payload: bytes, name: bytes) -> Named:
        self = super().__new__(cls, payload)
        self.name = name
        return self


def frame(payload: bytes) -> bytes:
    return b"data: %b\n\n" % payload


class Decoder:
    """Feed it bytes as they come; it gives the data of each event that is complete."""

    __slots__ = ("_after_cr", "_data", "_held", "_limit", "_name", "_started", "_tail", "clean")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._tail: list[bytes] = []  # the pieces of a line that has not ended
        self._data: list[bytes] = []  # the data lines of an event that has not ended
        self._name = b""
        self._held = 0  # bytes in _tail and _data
        self._after_cr = False  # the last byte was a CR: a LF now belongs to it
        self._started = False  # past the place where a BOM may stand
        self.clean = False  # past that place, and between two events

    def feed(self, data: bytes) -> list[bytes]:
        # The usual read is one whole event, one line of JSON: nothing but a slice (0.6 us instead of 1.2).
        if (
            self.clean
            and data.find(b"\n") == len(data) - 2
            and data[:7] == b"data: {"
            and data[-1] == _LF
            and b"\r" not in data
            and len(data) <= self._limit
        ):
            return [data[6:-2]]
        events = self._feed(data)
        self.clean = not (self._tail or self._data or self._name or self._after_cr) and self._started
        return events

    def _feed(self, data: bytes) -> list[bytes]:
        if self._after_cr or b"\r" in data:
            data = self._unfold(data)
        if b"\n" not in data:
            self._hold(data)
            return []
        if self._tail:
            data = self._join(data)
        if not self._started:
            data = self._start(data)
        if len(data) > self._limit:
            self._refuse_long(data)
        blocks = data.split(b"\n\n")
        rest = blocks.pop()
        events: list[bytes] = []
        for block in blocks:
            if block[:7] == b"data: {" and not self._data and not self._name and b"\n" not in block:
                events.append(block[6:])
            else:
                for line in block.split(b"\n"):
                    self._take(line, events)
                self._dispatch(events)
        if rest:
            self._keep(rest, events)
        return events

    def close(self) -> list[bytes]:
        events: list[bytes] = []
        line = self._start(self._join(b""))
        if line:
            self._take(line, events)
        self._dispatch(events)
        return events

    def _unfold(self, data: bytes) -> bytes:
        """CR and CRLF become LF; a CR at the end may be half of a CRLF."""
        if not data:
            return data
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
        self._after_cr = data[-1:] == b"\r"
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _start(self, data: bytes) -> bytes:
        self._started = True
        return data.removeprefix(_BOM)

    def _hold(self, data: bytes) -> None:
        if not data:
            return
        self._tail.append(data)
        self._held += len(data)
        if self._held > self._limit:
            raise SseError(f"an event is larger than {self._limit} bytes")

    def _join(self, data: bytes) -> bytes:
        tail = b"".join(self._tail)
        self._tail.clear()
        self._held -= len(tail)
        return tail + data

    def _keep(self, rest: bytes, events: list[bytes]) -> None:
        """What follows the last blank line: whole lines of an event still open, and a line still open."""
        head, newline, tail = rest.rpartition(b"\n")
        if newline:
            for line in head.split(b"\n"):
                self._take(line, events)
        self._hold(tail)

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if not line:
            self._dispatch(events)
            return
        field, _, value = line.partition(b":")  # a comment is a line whose field is empty
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            self._data.append(value)
            self._held += len(value) + _PER_LINE
            if self._held > self._limit:
                raise SseError(f"an event is larger than {self._limit} bytes")
        elif field == b"event":
            self._name = value

    def _dispatch(self, events: list[bytes]) -> None:
        if self._data:
            payload = b"\n".join(self._data)
            self._held -= sum(len(value) + _PER_LINE for value in self._data)
            self._data.clear()
            if payload.strip():
                plain = self._name in (b"", b"message")
                events.append(payload if plain else Named(payload, self._name))
        self._name = b""

    def _refuse_long(self, data: bytes) -> None:
        if max(map(len, data.split(b"\n"))) > self._limit:
            raise SseError(f"an event is larger than {self._limit} bytes")
