"""Requests that go to an upstream as they came, and its answers as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from antiphon.flow.ports import Relayed, RelayReceiver
from antiphon.http.client import ClientError, Sink

MOST_ERROR: Final = 1024 * 1024  # bytes of an error's body that are read
ASKED: Final = (b"content-type", b"accept")  # headers that are the client's own


def without_asked(lines: bytes) -> bytes:
    """Header lines without those that a relayed request takes from the client."""
    kept = [line for line in lines.split(b"\r\n") if line and line.partition(b":")[0] not in ASKED]
    return b"".join(line + b"\r\n" for line in kept)


def asked_lines(headers: Mapping[bytes, bytes]) -> bytes:
    return b"".join(b"%b: %b\r\n" % (name, headers[name]) for name in ASKED if name in headers)


def target(prefix: bytes, asked: Relayed) -> bytes:
    return b"%b%b?%b" % (prefix, asked.path, asked.query) if asked.query else prefix + asked.path


class RelayAnswer:
    """A good answer goes to the receiver as it is. Any other, and what fails, is read by `errors`."""

    __slots__ = ("_errors", "_is_good", "_receiver", "_room")

    def __init__(self, receiver: RelayReceiver, errors: Sink) -> None:
        self._receiver = receiver
        self._errors = errors
        self._is_good = False
        self._room = MOST_ERROR

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._is_good = 200 <= status < 300
        if self._is_good:
            self._errors.on_head(status, {})  # if it is cut, it was one that had begun
            self._receiver.begin(status, headers)
        else:
            self._errors.on_head(status, headers)

    def on_data(self, data: bytes) -> None:
        if self._is_good:
            self._receiver.data(data)
        elif self._room > 0:
            self._room -= len(data)
            self._errors.on_data(data)

    def on_end(self) -> None:
        if self._is_good:
            self._receiver.finish()
        else:
            self._errors.on_end()

    def on_fail(self, error: ClientError) -> None:
        self._errors.on_fail(error)
