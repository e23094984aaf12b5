"""The client of a turn, as the flow sees it: an Exchange that speaks the client's dialect.

The status line waits for the first chunk (or the first keep-alive comment): until then an error is a real status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from antiphon.apis.api import ApiStream
from antiphon.dialects import Dialect
from antiphon.document import Document
from antiphon.errors import AntiphonError
from antiphon.flow.ports import Flow
from antiphon.http.server import Exchange
from antiphon.sse import DONE, KEEPALIVE, frame

Clock = Callable[[], float]
encode = msgspec.json.Encoder().encode

JSON = b"content-type: application/json\r\n"
UNBUFFERED = b"cache-control: no-cache\r\nx-accel-buffering: no\r\n"
EVENTS = b"content-type: text/event-stream; charset=utf-8\r\n" + UNBUFFERED
MOST_RECORDED = 16 * 1024 * 1024  # bytes of an answer that are kept until its end
RELAYED_HEADERS = (b"content-type", b"content-disposition")


class ChatClient:
    __slots__ = (
        "_clock",
        "_committed",
        "_dialect",
        "_headers",
        "_id",
        "_sent",
        "_since",
        "_stream",
        "exchange",
        "method",
        "path",
        "record",
        "remote",
    )

    def __init__(self, exchange: Exchange, dialect: Dialect, request_id: str, headers: bytes, clock: Clock) -> None:
        self.exchange = exchange
        self.remote = exchange.remote
        self.method = exchange.request.method
        self.path = exchange.request.path
        self._dialect = dialect
        self._id = request_id
        self._headers = headers
        self._clock = clock
        self._committed = False  # the status line has left
        self._sent = 0  # bytes by the last look at the clock
        self._since = exchange.received  # when that changed
        self._stream: ApiStream | None = None
        self.record: Recording | None = None

    def start_record(self, request: bytes) -> None:
        self.record = Recording(request)

    def write_with(self, stream: ApiStream) -> None:
        self._stream = stream

    def follow(self, flow: Flow) -> None:
        self.exchange.on_pause = flow.pause
        self.exchange.on_resume = flow.resume

    def on_lost(self, callback: Callable[[], None]) -> None:
        self.exchange.on_lost = callback

    @property
    def is_closed(self) -> bool:
        return self.exchange.closed

    @property
    def sent(self) -> int:
        return self.exchange.sent

    def answer(self, body: bytes) -> None:
        if self.record is not None:
            self.record.add(body)
        self.exchange.respond(200, self._head(JSON), body)

    def write(self, frames: bytes) -> None:
        if self.record is not None:
            self.record.is_stream = True
            self.record.add(frames)
        if not self._committed:
            self._committed = True
            kind = EVENTS
            if self._stream is not None:
                kind = b"content-type: %b\r\n%b" % (self._stream.content_type, UNBUFFERED)
            self.exchange.start(200, self._head(kind))
        self.exchange.write(frames)

    @property
    def direct(self) -> Callable[[bytes], None]:
        return self.exchange.write if self.record is None else self.write

    def break_silence(self, limit: float, now: float) -> None:
        """Called every now and then: silence becomes a comment."""
        if self.exchange.sent != self._sent:
            self._sent, self._since = self.exchange.sent, now
        elif now - self._since >= limit and not self.exchange.closed:
            sign = KEEPALIVE if self._stream is None else self._stream.silence
            if sign:
                self.write(sign)
            self._sent, self._since = self.exchange.sent, now

    def add_headers(self, lines: bytes) -> None:
        self._headers += lines

    def finish(self) -> None:
        self.exchange.finish()

    def fail(self, error: AntiphonError, receipt: Document | None) -> None:
        body = self._dialect.write_error(error, self._id)
        if receipt is not None:
            body["antiphon"] = receipt
        if self._committed:
            self.write(frame(encode(body)) + DONE if self._stream is None else self._stream.fail(error, body))
            self.finish()
        else:
            self.exchange.respond(error.status, self._head(JSON + error_headers(error)), encode(body))

    def _head(self, lines: bytes) -> bytes:
        spent = int((self._clock() - self.exchange.received) * 1000)
        return b"%b%bopenai-processing-ms: %d\r\n" % (lines, self._headers, spent)


class Recording:
    """Frames, or the body, as they left."""

    __slots__ = ("_parts", "_size", "is_stream", "request")

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.is_stream = False
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= MOST_RECORDED:
            self._parts.append(data)
        else:
            self._parts.clear()

    def whole(self) -> bytes | None:
        return b"".join(self._parts) if self._size <= MOST_RECORDED else None


class RelayClient(ChatClient):
    """The client of a relayed turn: what it gets is the upstream's answer, byte by byte."""

    __slots__ = ()

    def begin(self, status: int, headers: Mapping[bytes, bytes]) -> None:
        lines = b"".join(b"%b: %b\r\n" % (name, headers[name]) for name in RELAYED_HEADERS if name in headers)
        if headers.get(b"content-type", b"").lower().startswith(b"text/event-stream"):
            lines += UNBUFFERED
        length = headers.get(b"content-length")
        self._committed = True
        self.exchange.start(status, self._head(lines), None if length is None else int(length))

    def fail(self, error: AntiphonError, receipt: Document | None) -> None:
        """An answer that has begun is cut: its client sees that it is not whole."""
        if self._committed:
            self.exchange.abort()
        else:
            super().fail(error, receipt)


def error_headers(error: AntiphonError) -> bytes:
    """`retry-after` where there is one; a used-up quota is not worth a retry [retry-after]."""
    spent = error.status == 429 and error.code == "insufficient_quota"
    lines = b"x-should-retry: false\r\n" if spent else b""
    if error.retry_after is not None:
        return lines + b"retry-after: %d\r\n" % max(1, error.retry_after)
    return lines if spent or error.status not in (429, 503) else b"retry-after: 1\r\n"
