"""What the scripted upstream was sent: one request, and the small HTTP/1.1 reader that finds it in the bytes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from antiphon.document import Document

MAX_HEAD = 1024 * 1024


@dataclass(slots=True, eq=False)
class Received:
    """One request. `closed` is set when its connection is gone, `answered` when its script is through."""

    method: str
    path: str  # without the query
    query: str
    headers: dict[str, str]  # names in lower case
    body: bytes = b""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def document(self) -> Document:
        """The body as a JSON object; {} where it is none."""
        try:
            value = msgspec.json.decode(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


class BadRequestError(ValueError):
    """Bytes that are no request."""


class ScriptedRequestReader:
    """Bytes in, requests out. Knows lengths and chunked bodies; nothing else is needed for a fake."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._request: Received | None = None
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def take_expectation(self) -> bool:
        """Whether the other side waits for "100 Continue"; told once per request."""
        return self._request is not None and self._request.headers.pop("expect", "").lower() == "100-continue"

    def next(self) -> Received | None:
        """The next complete request, if there is one."""
        if self._request is None and not self._read_head():
            return None
        request = self._request
        assert request is not None
        chunked = "chunked" in request.headers.get("transfer-encoding", "").lower()
        if not (self._read_chunks() if chunked else self._read_length(request)):
            return None
        request.body = bytes(self._body)
        self._body.clear()
        self._request = None
        return request

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD:
                raise BadRequestError("no end of the headers")
            return False
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        try:
            method, target, _ = first.split(" ")
            headers = {name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        except ValueError:
            raise BadRequestError("no HTTP request") from None
        path, _, query = target.partition("?")
        self._request = Received(method, path, query, headers)
        return True

    def _read_length(self, request: Received) -> bool:
        length = _number(request.headers.get("content-length", "0"), 10)
        if len(self._buffer) < length:
            return False
        self._body += self._buffer[:length]
        del self._buffer[:length]
        return True

    def _read_chunks(self) -> bool:
        while (line := self._buffer.find(b"\r\n")) >= 0:
            size = _number(self._buffer[:line].decode("latin-1").partition(";")[0].strip(), 16)
            end = line + 2 + size
            if len(self._buffer) < end + 2:
                return False
            self._body += self._buffer[line + 2 : end]
            del self._buffer[: end + 2]
            if size == 0:
                return True
        return False


def _number(text: str, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise BadRequestError("no length") from None
