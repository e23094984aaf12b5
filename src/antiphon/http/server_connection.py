"""One client's connection: requests in, answers out, strictly in order.

Rules: one exchange runs at a time, further requests wait in `_queue` (bounded, then reading pauses). A refusal is
answered after everything that came before it and ends the connection. No timer and no task belongs to a connection: it
keeps two deadlines, and the server's tick compares them with the clock.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Final, cast

from antiphon.http.head_checks import refusal_for_fault
from antiphon.http.remote import Remote, remote_of
from antiphon.http.request import Refusal, Request
from antiphon.http.server_budget import SPENT
from antiphon.http.server_exchange import CLOSE, Exchange, status_line
from antiphon.http.server_limits import LINGER_BYTES, LINGER_SECONDS, LINGER_WHILE_DRAINING, BodyPace
from antiphon.http.server_modes import BODY, CLOSED, ENDED, HEAD, IDLE, LINGERING, OPEN
from antiphon.http.server_reader import RequestReader
from antiphon.http.server_sockets import reset_when_closed

if TYPE_CHECKING:
    from antiphon.http.server import Server

HIGH_WATER: Final = 64 * 1024
# The parser cannot be stopped inside a piece, so a piece is what bounds how many requests it may find at once.
PIECE: Final = 8 * 1024
QUEUED_BYTES: Final = 256 * 1024  # bodies read ahead; beyond that reading pauses
LEFT: Final = Refusal(499, "The client went away before its request was complete.")
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class ServerConnection(asyncio.Protocol):
    __slots__ = (
        "_declared",
        "_exchange",
        "_held",
        "_mode",
        "_owes_continue",
        "_pace",
        "_queue",
        "_queued",
        "_reader",
        "_refusal",
        "_spare",
        "_unsent",
        "_wait",
        "deadline",
        "remote",
        "served",
        "server",
        "stall",
        "transport",
    )

    def __init__(self, server: Server, declared: str | None = None) -> None:
        """`declared`: the client's address as a PROXY header says."""
        self.server = server
        self._declared = declared
        self.remote: Remote = None  # type: ignore[assignment]  # until connection_made
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # until connection_made
        self._reader = RequestReader(server.limits, self._on_request, self._on_expect, server.wants_body, server.bodies)
        self._mode = OPEN
        self._wait = IDLE
        self._exchange: Exchange | None = None
        self._queue: list[Exchange] = []
        self._queued = 0
        self._held: bytes | None = None  # reading is paused; what was read and not yet parsed
        self._refusal: tuple[Refusal, Request | None] | None = None
        self._owes_continue = False
        self._spare = LINGER_BYTES  # how much input may still be thrown away
        self._unsent = 0  # what waited to be written when that was last looked at
        self._pace = BodyPace(server.limits)
        self.deadline = inf
        self.stall = inf  # when writing has been paused for too long
        self.served = False  # a first request has been read

    @property
    def client_address(self) -> str:
        """Empty for a trusted proxy, which connects for many."""
        return "" if self.remote.trusted is not None else self.remote.address

    @property
    def busy(self) -> bool:
        return self._exchange is not None

    @property
    def is_idle(self) -> bool:
        """Between two requests."""
        return self.served and self._wait is IDLE and self._mode is OPEN and not self.busy and not self._queue

    @property
    def is_silent(self) -> bool:
        """No request has begun."""
        return not self.served and self._wait is IDLE and self._mode is OPEN

    @property
    def stalled(self) -> bool:
        return self.stall != inf

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by class
        self.transport.set_write_buffer_limits(high=HIGH_WATER)
        self.remote = remote_of(transport, self._declared, self.server.trusted)
        self.deadline = self.server.clock() + self.server.limits.header_timeout
        refusal = self.server.admit(self)
        if refusal is not None:
            self._reader.barred = refusal
            self._reader.vital = self.server.vital

    def data_received(self, data: bytes) -> None:
        if len(data) > PIECE or self._mode is not OPEN or self._held is not None:
            self._feed_in_pieces(data)
            return
        reader = self._reader
        try:
            reader.take(data)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if reader.fed:
            self._await_rest(len(data))

    def eof_received(self) -> None:
        """A client that half-closes while it waits for an answer counts as gone. The transport then closes itself."""
        self._note_leaving()
        self._set_closed()
        if self._exchange is not None or self._queue:
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._note_leaving()
        self._mode = CLOSED
        self._lose()
        self.server.forget(self)
        self._reader.close()
        self._unhold()

    def _note_leaving(self) -> None:
        """A client that leaves in the middle of a body leaves a line in the access log, too."""
        if self._mode is OPEN and self._reader.request is not None:
            self.server.render(LEFT, self._reader.request, self.remote)

    def pause_writing(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self.stall = self.server.clock() + self.server.limits.write_timeout
        if self._exchange is not None and self._exchange.on_pause is not None:
            self.server.call(self._exchange.on_pause)

    def resume_writing(self) -> None:
        self.stall = inf
        if self._exchange is None:
            self.server.soon(self._proceed)
        elif self._exchange.on_resume is not None:
            self.server.call(self._exchange.on_resume)

    # Reading

    def _feed(self, data: bytes | memoryview) -> None:
        reader = self._reader
        try:
            reader.feed(data)
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if reader.fed:
            self._await_rest(len(data))

    def _feed_in_pieces(self, data: bytes) -> None:
        view = memoryview(data)
        start = 0
        while start < len(view):
            if self._mode is not OPEN:
                self._discard(len(view) - start)
                return
            if self._reader.inflater is not None and self._held is None:
                self._take_turn()
            if self._held is not None:
                self._hold(view[start:])
                return
            end = start + max(PIECE, self._reader.rest())
            self._feed(view[start:end])
            start = end

    def _take_turn(self) -> None:
        if not self.server.inflating.may_go_on(self._make_room):
            self._pause_reading()

    def _await_rest(self, size: int) -> None:
        """Part of a request is here. Its head must be complete in time; its body must make progress."""
        now = self.server.clock()
        if self._wait is IDLE:
            self._pace.begin(now)
        if self._reader.request is not None:
            if self._wait is not BODY:
                self._wait = BODY
                self._pace.begin_body(now)
            deadline = self._pace.deadline(size, now)
            if self._reader.request.upload is not None:  # how long it takes is a matter of its receiver too
                deadline = inf if self._held is not None else now + self.server.limits.body_timeout
            self.deadline = inf if self._owes_continue else deadline
        elif self._wait is not HEAD:
            self._wait = HEAD
            self.deadline = now + self.server.limits.header_timeout

    def _on_request(self, request: Request) -> None:
        if self._mode is not OPEN:
            return
        server = self.server
        bodies = server.bodies
        held = bodies.held + len(request.body)
        if held > bodies.limit and request.body:
            self._refuse(Refusal(503, SPENT), request)
            return
        bodies.held = held
        if request.upload is not None or not request.keep_alive:
            self._note_last(request)
        self.served = True
        self.deadline = inf
        self._wait = IDLE
        self._owes_continue = False
        exchange = Exchange(self, request, server.clock())
        if self._exchange is not None or self._queue or self.stall != inf:
            self._enqueue(exchange)
            return
        self._exchange = exchange
        try:
            server.handler(exchange)
        except Exception as error:
            self._apologise(exchange, error)

    def _note_last(self, request: Request) -> None:
        """An upload, which may be answered before its end, or the last request of the connection."""
        self._spare = max(self._spare, request.max_upload)
        if request.upload is not None:
            request.upload.owner = self
            request.upload.check_room()
        else:
            self._mode = ENDED

    def _on_expect(self) -> None:
        if self._exchange is None and not self._queue:
            self.transport.write(CONTINUE)
        else:
            self._owes_continue = True  # the answers before it go first

    def _enqueue(self, exchange: Exchange) -> None:
        self._queue.append(exchange)
        self._queued += len(exchange.request.body)
        if self._held is None and self._is_full():
            self._pause_reading()

    def _pause_reading(self) -> None:
        self._held = b""
        self.transport.pause_reading()

    def _hold(self, data: memoryview) -> None:
        """Keep what was read and cannot be parsed yet."""
        bodies = self.server.bodies
        if bodies.held + len(data) > bodies.limit:
            self.cut()
            return
        self._held = (self._held or b"") + data
        bodies.held += len(data)

    def _unhold(self) -> bytes:
        held, self._held = self._held or b"", None
        self.server.bodies.held -= len(held)
        return held

    def _is_full(self) -> bool:
        return len(self._queue) >= self.server.limits.max_pipelined or self._queued > QUEUED_BYTES

    def _make_room(self) -> None:
        if self._held is None or self._is_full() or self._mode is CLOSED:
            return
        held = self._unhold()
        self.transport.resume_reading()
        if held:
            self.data_received(held)
        elif self._reader.request is not None and self._reader.request.upload is not None:
            self._await_rest(0)

    # Uploads: bodies that are handed on while they arrive

    def pause_upload(self) -> None:
        if self._held is None:
            self._pause_reading()

    def resume_upload(self) -> None:
        self.server.soon(self._make_room)

    def end_upload(self) -> None:
        if self._mode is OPEN:
            self._wait = IDLE
            self.deadline = inf

    def _discard(self, size: int) -> None:
        self._spare -= size
        if self._spare < 0:
            self.cut()

    # Answering

    def may_keep(self) -> bool:
        """While the server drains, only requests that have already been read keep a connection open."""
        return not self.server.draining or bool(self._queue)

    def _run(self, exchange: Exchange) -> None:
        self._exchange = exchange
        try:
            self.server.handler(exchange)
        except Exception as error:
            self._apologise(exchange, error)

    def _apologise(self, exchange: Exchange, error: Exception) -> None:
        """The handler raised."""
        self.server.log(error)
        if exchange.closed:
            return
        if exchange.status:
            exchange.abort()
        else:
            refusal = refusal_for_fault(error)
            exchange.respond(refusal.status, *self.server.render(refusal, exchange.request, self.remote))

    def release(self, keep: bool) -> None:
        """The running exchange is finished."""
        exchange, self._exchange = self._exchange, None
        assert exchange is not None
        server, request = self.server, exchange.request
        server.bodies.held -= len(request.body)
        if request.upload is not None:
            request.upload.close()
        if exchange.on_end is not None:
            server.call(exchange.on_end)
        if not keep:
            # More may be on its way than we read, and closing at once could then destroy the answer. In TLS our side
            # cannot be closed alone, and a client may wait for the end of the connection.
            self._hang_up(linger=self.transport.can_write_eof())
        elif self._queue or self._refusal is not None or self._owes_continue or server.draining:
            server.soon(self._proceed)
        elif self._wait is IDLE:
            self.deadline = server.now + server.keepalive

    def _proceed(self) -> None:
        """After an answer: the next request, or the refusal, or whatever else had to wait for its turn."""
        if self._exchange is not None or self.stall != inf or self._mode in (CLOSED, LINGERING):
            return
        if self._queue:
            exchange = self._queue.pop(0)
            self._queued -= len(exchange.request.body)
            self._run(exchange)
            self._make_room()
        elif self._refusal is not None:
            self._answer_refusal(*self._refusal)
        elif self._owes_continue:
            self._owes_continue = False
            self.transport.write(CONTINUE)
            self._wait = IDLE  # its time begins now
            self._await_rest(0)
        elif self._wait is IDLE and self.server.draining:
            self._hang_up(linger=self.transport.can_write_eof())
        elif self._wait is IDLE:
            self.deadline = self.server.now + self.server.keepalive

    def _refuse(self, refusal: Refusal, request: Request | None = None) -> None:
        """Read no further; answer in order, then close."""
        if self._mode is not OPEN:
            return
        if refusal.__cause__ is not None:
            self.server.log(refusal.__cause__)
        self._mode = ENDED
        self._wait = IDLE
        self._owes_continue = False
        self.deadline = inf
        uploading = self._reader.request
        if uploading is not None and uploading.upload is not None:  # its handler answers it
            uploading.upload.refuse(refusal)
            return
        self._refusal = (refusal, request or self._reader.so_far())
        self._reader.drop()
        self._proceed()

    def _answer_refusal(self, refusal: Refusal, request: Request | None) -> None:
        self._refusal = None
        headers, body = self.server.render(refusal, request, self.remote)
        shown = b"" if request is not None and request.method == b"HEAD" else body
        head = b"%b%bcontent-length: %d\r\n%b" % (status_line(refusal.status), headers, len(body), CLOSE)
        self.transport.write(head + shown)
        self._hang_up(linger=True)

    # Ending

    def _hang_up(self, *, linger: bool) -> None:
        if self._mode is CLOSED or self.transport.is_closing():
            return
        if not linger:
            self.close()
            return
        self._set_closed()
        self._mode = LINGERING
        if self._held is not None:
            self._unhold()
            self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def close(self) -> None:
        """Close once everything is written, or the client has not read it in time."""
        self._set_closed()
        self.transport.close()

    def _set_closed(self) -> None:
        self._mode = CLOSED
        self._await_end(self.server.clock())

    def _await_end(self, now: float) -> None:
        """When to look whether all is written: then the client had its time. Writing has a time of its own."""
        self.deadline = now + (LINGER_WHILE_DRAINING if self.server.draining else LINGER_SECONDS)
        waiting = self.transport.get_write_buffer_size()
        if waiting and self.stall == inf:
            self._unsent = waiting
            self.stall = now + self.server.limits.write_timeout

    def cut_short(self, *, flush: bool) -> None:
        """The handler gives up. A chunked body without its end is visibly incomplete; any other needs a reset."""
        self._forget_running()
        if flush:
            self.close()
            return
        reset_when_closed(self.transport)
        self.cut()

    def refuse_running(self) -> None:
        """The server waits no longer: a request that has no answer yet gets this one."""
        exchange = self._exchange
        if exchange is None or exchange.status:
            return
        lost = exchange.on_lost
        refusal = Refusal(503, "The server is shutting down.")
        exchange.respond(503, *self.server.render(refusal, exchange.request, self.remote))
        if lost is not None:
            self.server.call(lost)

    def cut(self) -> None:
        self._mode = CLOSED
        self.deadline = inf
        self.stall = inf
        self.transport.abort()
        self._lose()

    def _lose(self) -> None:
        exchange = self._forget_running()
        for waiting in self._queue:
            self.server.bodies.held -= len(waiting.request.body)
            if waiting.request.upload is not None:
                waiting.request.upload.close()
        self._queue.clear()
        self._refusal = None
        callback = None if exchange is None else exchange.lose()
        if callback is not None:
            self.server.call(callback)

    def _forget_running(self) -> Exchange | None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            self.server.bodies.held -= len(exchange.request.body)
            if exchange.request.upload is not None:
                exchange.request.upload.close()
            if exchange.on_end is not None:
                self.server.call(exchange.on_end)
        return exchange

    def expire(self, now: float) -> None:
        """A deadline has passed."""
        if self.stall <= now:
            self._cut_unless_reading(now)
        elif self._mode in (CLOSED, LINGERING):
            if self.transport.get_write_buffer_size():
                self._await_end(now)
            else:
                self.cut()
        elif self._wait is IDLE:
            self.close()
        elif self._wait is HEAD:
            self._refuse(Refusal(408, "The request's headers did not arrive in time."))
        else:
            self._refuse(Refusal(408, "The request's body did not arrive in time."))

    def _cut_unless_reading(self, now: float) -> None:
        """A slow client is served as long as it takes something in each write_timeout."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self._unsent >= before:
            self.cut()
            return
        self.stall = now + self.server.limits.write_timeout

    def forget_admission(self) -> None:
        self._reader.forget_admission()

    def drain(self, grace: float) -> None:
        """The server is stopping: close what is idle. Who has just connected may still get a request in."""
        if self._mode is not OPEN or self.busy or self._queue or self._wait is not IDLE:
            return
        if self.served:
            self.close()
        else:
            self.deadline = min(self.deadline, self.server.clock() + grace)
