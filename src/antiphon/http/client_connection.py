"""One HTTP/1.1 connection to an upstream: serves one call at a time, and is idle in between.

The sink is told after the parser has returned, so it may cancel, pause, or send again from within its own callbacks;
after each of them `self.call is call` says whether this answer still matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Final, cast

from httptools import HttpParserError, HttpParserUpgrade

from antiphon.http.call import READING, WAITING, Call, Failure, Pieces, WholeSink
from antiphon.http.client_inflate import INFLATABLE, AnswerInflater, InflateError, InflateLimit
from antiphon.http.client_reader import AnswerReader
from antiphon.http.client_socket import Look, is_undelivered, watch

if TYPE_CHECKING:
    from antiphon.http.pool import Pool

SMALL: Final = 32 * 1024  # bytes
PIECE: Final = 256 * 1024  # bytes of a large request that are written at once
OK: Final = 200
MAX_INTERIM: Final = 32  # 1xx answers before the final one
_EVENT_STREAM: Final = b"text/event-stream"
_JSON: Final = b"application/json"
_UNENCODED: Final = frozenset({b"", b"identity"})


def _ignore(data: bytes) -> None:
    """Stands in for the parser of a closed connection."""


def _pieces(body: Pieces) -> Iterator[bytes | memoryview]:
    """Not too large, so that TLS encrypts them a few at a time, nor many small ones."""
    small: list[bytes | memoryview] = []
    size = 0
    for part in body:
        if len(part) > PIECE:
            if small:
                yield b"".join(small)
            small, size = [], 0
            view = memoryview(part)
            yield from (view[start : start + PIECE] for start in range(0, len(view), PIECE))
            continue
        small.append(part)
        size += len(part)
        if size > PIECE:
            yield b"".join(small)
            small, size = [], 0
    if small:
        yield b"".join(small)


def _unseen(milliseconds: int) -> list[tuple[int, int]]:
    """Before there is a socket to look at."""
    return []


class ClientConnection(asyncio.Protocol):
    __slots__ = (
        "_endless",
        "_feed",
        "_fruitless",
        "_inflater",
        "_opened",
        "_pieces",
        "_plain",
        "_pool",
        "_reader",
        "_room",
        "_unsent",
        "_written",
        "call",
        "is_full",
        "look",
        "since",
        "transport",
    )

    def __init__(self, pool: Pool, reader: AnswerReader) -> None:
        self._pool = pool
        self._reader = reader
        self._feed = reader.parser.feed_data if reader.parser is not None else _ignore
        self._pieces = reader.pieces
        self._opened = False  # the head has been handed on
        self._fruitless = 0  # bytes since the last that was body: heads, chunk sizes, trailers are bounded by it
        self._endless = False  # an event stream: unlimited in total
        self._plain = False  # and not encoded: its data goes on as it is
        self._room = 0  # bytes that the body may still have
        self._inflater: AnswerInflater | None = None
        self._written = 0  # bytes of the request
        self._unsent: Iterator[bytes | memoryview] | None = None  # the rest of a large one
        self.call: Call | None = None
        self.is_full = False  # the peer reads more slowly than we write
        self.look: Look = _unseen  # at the socket, while the connection is idle
        self.since = 0.0  # idle since
        self.transport: asyncio.Transport | None = None

    # Life of the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by class
        self.look = watch(self.transport)
        self._pool.connection_opened()
        if self._feed is _ignore:  # lost already: start_tls can be that late
            self.connection_lost(None)

    def begin(self, call: Call) -> None:
        """Send this call's request."""
        assert self.transport is not None
        assert call.request is not None
        self.call = call
        call.connection = self
        self._opened = False
        self._fruitless = 0
        self._reader.reset(call.is_head)
        self.transport.write(call.request)
        self._written = len(call.request)
        if call.rest is not None:
            self._unsent = _pieces(call.rest)
            self._send_more()
        if not call.reused:
            call.request = None
            call.rest = None
        call.phase = WAITING
        call.wait = self._pool.first_byte
        call.heard = True  # the next tick starts the clock
        if call.paused:
            call.wait = inf
            self.hold()
        if call.source is not None:
            call.source.on_writable()

    def write(self, data: bytes) -> None:
        """More of the body of the request under way."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self._unsent is not None:
            self._send_more()
        elif self.call is not None and self.call.source is not None:
            self.call.source.on_writable()

    def hold(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def release(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def abort(self) -> None:
        """Closes the socket at once; nothing is told to anybody."""
        self.call = None
        self._unsent = None
        self._pool.forget(self)
        if self.transport is not None:
            self.transport.abort()

    def eof_received(self) -> None:
        call = self.call
        if call is not None and self._is_unread(call):
            self.abort()
            self._pool.send_again(call)
        else:
            self._gone(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone(exc)
        self._feed = _ignore
        self._reader.close()
        if self.transport is not None:
            self.transport = None
            self._pool.connection_closed()

    def _gone(self, exc: Exception | None) -> None:
        """The peer has closed. In TLS without close_notify too: what the answer itself shows to be cut, its reader will
        notice, and many servers never send one."""
        call = self.call
        self._unsent = None
        if call is None:
            self.abort()
        elif self._opened and self._reader.until_eof and exc is None:
            try:
                self._finish(call)
            except Exception as error:
                self._pool.report_fault(call, error)
        else:
            where = "inside" if self._opened else "before"
            self._pool.fail(call, Failure.RESET, f"the connection ended {where} the answer")

    def _is_unread(self, call: Call) -> bool:
        """The peer closed a connection that has served before, and the request had not reached it."""
        request, transport = call.request, self.transport
        if not call.reused or request is None or transport is None:
            return False
        return is_undelivered(transport, self._written)

    # Sending a large request, as fast as the peer reads it

    def _send_more(self) -> None:
        while self._unsent is not None and not self.is_full and self.transport is not None:
            piece = next(self._unsent, None)
            if piece is None:
                self._unsent = None
                return
            self._written += len(piece)
            self.transport.write(piece)

    # Reading

    def data_received(self, data: bytes) -> None:
        """One read: at most one on_head, one on_data and one on_end or on_fail, in this order.

        Hot, once per read of every stream: in one piece, and the usual chunk (plain, of an event stream) passes
        through it in 0.4 us, all calls but the parser's and the sink's avoided.
        """
        call = self.call
        if call is None:
            self.abort()  # whatever it says, nobody asked
            return
        fault = ""
        try:
            self._feed(data)
        except HttpParserError as error:
            fault = str(error)
        except HttpParserUpgrade:
            fault = "an upgrade nobody asked for"
        try:
            if self._opened:
                call.heard = True
            elif (self._reader.complete and self._whole(call, len(data))) or not self._open(call, len(data), fault):
                return
            pieces, complete = self._pieces, self._reader.complete
            if complete:
                del pieces[self._reader.end :]  # the body of an answer nobody asked for
            if pieces:
                body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                self._fruitless = 0
                if self._plain or (body := self._admit(call, body)):
                    call.sink.on_data(body)
                if self.call is not call:
                    return
            else:
                self._fruitless += len(data)
            if complete:
                self._finish(call)
            elif fault:
                self._pool.fail(call, Failure.PROTOCOL, fault)
            elif self._fruitless > self._pool.max_header_bytes:
                self._pool.fail(call, Failure.TOO_LARGE, "the answer goes on without a body")
        except Exception as error:
            self._pool.report_fault(call, error)

    def _whole(self, call: Call, size: int) -> bool:
        """The usual JSON answer: small, unencoded, all in one read. Saves 2 us; False: take it step by step."""
        reader, pieces, pool, sink = self._reader, self._pieces, self._pool, call.sink
        headers = reader.headers
        if (
            self._fruitless
            or size > SMALL
            or size > pool.max_body
            or reader.end != 1
            or len(pieces) != 1
            or not reader.keep
            or reader.status != OK
            or call.is_head
            or call.paused
            or call.source is not None
            or self._unsent is not None
            or not isinstance(sink, WholeSink)
            or not headers.get(b"content-type", b"").startswith(_JSON)
            or b"content-length" not in headers
            or b"content-encoding" in headers
            or reader.is_over(size)
        ):
            return False
        body = pieces.pop()
        self.call = None
        pool.finish(call)
        pool.park(self)
        sink.on_whole(body)  # told last: it may send again, on this very connection
        return True

    def _open(self, call: Call, size: int, fault: str) -> bool:
        """Before the head is complete. True: it is, the sink has it, and wants more."""
        reader, pool = self._reader, self._pool
        call.request = None  # a byte came: never sent again
        self._fruitless += size
        status = reader.status
        begun = status or not reader.fresh
        call.phase = READING if begun else WAITING  # after an interim answer (1xx) the first byte is awaited anew
        if not call.paused:
            call.wait = pool.idle_wait if begun else pool.first_byte
        call.heard = True
        if fault and not status:
            pool.fail(call, Failure.PROTOCOL, fault)
        elif reader.is_over(self._fruitless):
            pool.fail(call, Failure.TOO_LARGE, "the answer's head is over its limit")
        elif status:
            headers = reader.headers
            refusal = self._prepare(call, headers)
            if refusal is None:
                self._opened = True
                self._fruitless = -size  # this read has been counted
                call.sink.on_head(status, headers)
                return self.call is call
            pool.fail(call, *refusal)
        elif reader.interim > MAX_INTERIM:
            pool.fail(call, Failure.PROTOCOL, "too many interim answers")
        return False

    def _prepare(self, call: Call, headers: dict[bytes, bytes]) -> tuple[Failure, str] | None:
        """How the body is to be taken, from the head; or why it will not be."""
        kind = headers.get(b"content-type", b"")
        self._endless = endless = call.is_endless or (kind != _JSON and kind.lower().startswith(_EVENT_STREAM))
        self._room = self._pool.max_body
        self._inflater = None
        encoding = headers.get(b"content-encoding")
        self._plain = endless and encoding is None
        if not (self._reader.complete or endless) and int(headers.get(b"content-length", b"0")) > self._room:
            return Failure.TOO_LARGE, "the answer's content-length is over the limit"
        if b"transfer-encoding" in headers and headers[b"transfer-encoding"].lower() != b"chunked":
            return Failure.PROTOCOL, "a transfer-encoding other than chunked"
        if encoding is None or call.is_head or encoding.lower() in _UNENCODED:
            return None
        if encoding.lower() not in INFLATABLE:
            return Failure.PROTOCOL, "a content-encoding we did not ask for"
        self._inflater = AnswerInflater()
        del headers[b"content-encoding"]
        headers.pop(b"content-length", None)
        return None

    def _admit(self, call: Call, data: bytes) -> bytes:
        """Undo the encoding, hold to the limit; b"" where the call has failed (or nothing came out yet)."""
        if self._inflater is not None:
            try:
                data = self._inflater.feed(data, self._room)
            except InflateError:
                self._pool.fail(call, Failure.PROTOCOL, "the answer's content-encoding is broken")
                return b""
            except InflateLimit:
                data = b""
                self._room = -1
        if not self._endless:
            self._room -= len(data)
        if self._room < 0:
            self._pool.fail(call, Failure.TOO_LARGE, "the answer is over the limit")
            return b""
        return data

    def _finish(self, call: Call) -> None:
        if self._inflater is not None and not self._inflater.complete:
            self._pool.fail(call, Failure.PROTOCOL, "the answer ends inside its content-encoding")
            return
        sink = call.sink
        if call.paused:
            self.release()
        self.call = None
        self._pool.finish(call)
        if self._reader.keep and call.source is None and self._unsent is None:  # else the rest would follow
            self._pool.park(self)
        else:
            self.abort()
        # Told last: the sink may send again, on this very connection.
        sink.on_end()
