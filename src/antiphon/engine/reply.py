"""How an answer leaves the host: event by event, or whole. Both are made of the same chunks."""

from __future__ import annotations

from typing import Protocol

import msgspec

from antiphon.chat.fold import fold
from antiphon.document import Document
from antiphon.errors import AntiphonError
from antiphon.http.server import Exchange
from antiphon.sse import DONE, frame

JSON = b"content-type: application/json\r\n"
EVENTS = b"content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
encode = msgspec.json.Encoder().encode


class HostReply(Protocol):
    def chunk(self, chunk: Document) -> None: ...

    def finish(self, usage: Document) -> None: ...


class Streamed:
    """The first chunk commits the 200; an error after it is in-band."""

    def __init__(self, exchange: Exchange, *, usage: bool) -> None:
        self._exchange = exchange
        self._usage = usage
        self._last: Document = {}

    def chunk(self, chunk: Document) -> None:
        if not self._exchange.status:
            self._exchange.start(200, EVENTS)
        self._last = chunk
        self._exchange.write(frame(encode(chunk)))

    def finish(self, usage: Document) -> None:
        if self._usage:
            self.chunk({**self._last, "choices": [], "usage": usage})
        self._exchange.write(DONE)
        self._exchange.finish()


class WholeReply:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._chunks: list[Document] = []

    def chunk(self, chunk: Document) -> None:
        self._chunks.append(chunk)

    def finish(self, usage: Document) -> None:
        send(self._exchange, fold(self._chunks, usage))


def reply_to(exchange: Exchange, document: Document) -> HostReply:
    if document.get("stream") is not True:
        return WholeReply(exchange)
    return Streamed(exchange, usage=bool((document.get("stream_options") or {}).get("include_usage")))


def send(exchange: Exchange, document: Document) -> None:
    exchange.respond(200, JSON, encode(document))


def fail(exchange: Exchange, error: AntiphonError) -> None:
    """In OpenAI's shape; as a status while nothing has left, else as an event."""
    body = encode({"error": {"message": error.message, "type": error.type, "param": error.param, "code": error.code}})
    if exchange.status:
        exchange.write(frame(body))
        exchange.finish()
        return
    headers = JSON if error.retry_after is None else JSON + b"retry-after: %d\r\n" % error.retry_after
    exchange.respond(error.status, headers, body)
