"""Requests that go to an upstream as they came, and its answers as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from antiphon.flow.ports import Relayed, RelayReceiver
from antiphon.http.client import ClientError, Sink
from antiphon.upstreams.catalog import MODEL

MOST_ERROR: Final = 1024 * 1024  # bytes of an error's body that are read
CHAT: Final = b"/chat/completions"
DEPLOYMENT: Final = b"/deployments/" + MODEL  # Azure's older URLs
ASKED: Final = (b"content-type", b"accept")  # headers that are the client's own


def without_asked(lines: bytes) -> bytes:
    """Header lines without those that a relayed request takes from the client."""
    kept = [line for line in lines.split(b"\r\n") if line and line.partition(b":")[0] not in ASKED]
    return b"".join(line + b"\r\n" for line in kept)


def asked_lines(headers: Mapping[bytes, bytes]) -> bytes:
    return b"".join(b"%b: %b\r\n" % (name, headers[name]) for name in ASKED if name in headers)


class BesidePaths:
    """Where an upstream's other endpoints are, told by where its chat is."""

    __slots__ = ("_deployment", "_prefix", "_query")

    def __init__(self, chat: bytes) -> None:
        path, _, self._query = chat.partition(b"?")
        self._deployment = path.removesuffix(CHAT)  # the model may stand in it
        self._prefix = self._deployment.removesuffix(DEPLOYMENT)

    def of_model(self, endpoint: bytes) -> bytes:
        """A {model} in it is the target's."""
        path = b"%b/%b" % (self._deployment, endpoint)
        return b"%b?%b" % (path, self._query) if self._query else path

    def find(self, asked: Relayed, model: bytes) -> bytes:
        """`model`: as a segment of a path; b"": none is named, as for files."""
        path = (self._deployment.replace(MODEL, model) if model else self._prefix) + asked.path
        query = b"&".join(part for part in (self._query, asked.query) if part)
        return b"%b?%b" % (path, query) if query else path


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
