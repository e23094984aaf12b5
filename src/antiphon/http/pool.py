"""The connections to one origin, and the clock of the calls on them.

Re-use is last in, first out, so that few connections stay warm and the rest grow old. An idle one that hears anything,
EOF included, is dropped at once; the kernel is asked about one that was idle for a while. One tick watches all
deadlines, and runs only while there is something to watch. Where the calls that may run are limited, the others wait;
a call leaves `_active` once, however it ends, and that starts the next one.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable
from typing import Final

from antiphon.http.call import (
    CONNECTING,
    NOBODY,
    QUEUED,
    READING,
    WAITING,
    BodySource,
    Call,
    ClientError,
    Concurrency,
    Failure,
    OnePiece,
    Pieces,
    RelayCall,
    Sink,
    Timeouts,
)
from antiphon.http.client_connection import PIECE, ClientConnection
from antiphon.http.client_reader import AnswerReader
from antiphon.http.dial import Dialer
from antiphon.http.origin import Origin
from antiphon.http.proxy import Proxy
from antiphon.http.tls import ssl_context as default_context

TICK: Final = 0.25  # seconds; a timer per call would cost 1.5 us each
CLOSE_TIMEOUT: Final = 1.0
# RFC 9110 §8.6: these say content-length: 0 for an empty body; others say nothing.
_BODIED: Final = frozenset({b"POST", b"PUT", b"PATCH"})

Log = Callable[[str, BaseException], None]


class Pool:
    def __init__(
        self,
        origin: Origin,
        timeouts: Timeouts | None = None,
        *,
        ssl_context: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
        max_idle: int = 256,
        idle_ttl: float = 30.0,
        max_body: int = 64 * 1024 * 1024,
        max_header_bytes: int = 65_536,
        max_header_count: int = 256,
        concurrency: Concurrency | None = None,
        log: Log | None = None,
    ) -> None:
        """`max_body` holds for answers that are no event stream. `concurrency` None: no limit. `log` hears what a
        sink's callback raised."""
        timeouts = timeouts or Timeouts()
        if ssl_context is None and (origin.tls or (proxy is not None and proxy.tls)):
            ssl_context = default_context()
        self.max_body = max_body
        self.max_header_bytes = max_header_bytes
        self._max_idle = max_idle
        self._idle_ttl = idle_ttl
        self._log = log
        self.max_header_count = max_header_count
        self.first_byte = timeouts.first_byte
        self.idle_wait = timeouts.idle
        self.now = 0.0  # the loop's time at the last tick: exact enough for the longest of waits, and free
        self._total = timeouts.total + TICK  # from `now`: never early
        self._waits = {CONNECTING: timeouts.connect, WAITING: timeouts.first_byte, READING: timeouts.idle}
        self._dialer = Dialer(origin, ssl_context, proxy, timeouts.connect)
        self._target, self._prefix = _request_parts(origin, proxy)
        self._idle: list[ClientConnection] = []  # oldest first
        self._active: set[Call] = set()  # those that wait too
        self._waiting: dict[Call, None] = {}  # until fewer calls run; oldest first
        self._concurrency = concurrency or Concurrency(sys.maxsize)
        self._most_running = self._concurrency.running
        self._dials: set[asyncio.Task[None]] = set()
        self._open = 0
        self._closed = False
        self._all_closed: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # bound at the first send: pools are built before the loop

    def __repr__(self) -> str:
        state = "closed, " if self._closed else ""
        waiting = f"{len(self._waiting)} waiting, " if self._waiting else ""
        running = len(self._active) - len(self._waiting)
        return f"<Pool {self._dialer.origin.label} {state}{running} active, {waiting}{len(self._idle)} idle>"

    @property
    def active(self) -> int:
        """Calls that have not ended; those that wait too."""
        return len(self._active)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> int:
        return len(self._idle)

    def time(self) -> float:
        assert self._loop is not None
        return self._loop.time()

    # For senders

    def send(self, method: bytes, path: bytes, headers: bytes, body: bytes | Pieces, sink: Sink) -> Call:
        """`headers`: ready-made lines, each with its CRLF; host, accept-encoding and content-length are the pool's. A
        large body can come in pieces.

        The sink is never told anything before this returns.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        rest: Pieces | None = None
        if type(body) is not bytes or len(body) > PIECE:
            rest = OnePiece(body) if isinstance(body, bytes) else body
            request = self._large_head(method, path, headers, rest.size)
        elif body or method in _BODIED:
            size = b"content-length: %d\r\n\r\n" % len(body)  # to join takes half the time of a longer format
            request = b"".join((method, self._target, path, self._prefix, headers, size, body))
        else:
            request = b"%b%b%b%b%b\r\n" % (method, self._target, path, self._prefix, headers)
        if self._timer is None:
            self.now = loop.time()
            self._timer = loop.call_later(TICK, self._tick)
        call = Call(self, sink, request, method == b"HEAD", self.now + self._total, rest)
        self._active.add(call)
        if len(self._active) > self._most_running:
            self._queue(call)
            return call
        if self._idle:  # as nearly always; without a call of its own
            connection = self._idle.pop()
            if (transport := connection.transport) and not transport.is_closing() and not connection.look(0):
                call.reused = True
                connection.begin(call)
                return call
            connection.abort()
        self._start(call)
        return call

    def relay(
        self,
        method: bytes,
        path: bytes,
        headers: bytes,
        body: bytes | BodySource,
        sink: Sink,
        length: int | None = None,
    ) -> RelayCall:
        """As `send`, for an answer of any size and a body that may come in pieces. `length`: of such a body, where it
        is known. It goes on a connection of its own: on one that has served before it could not be sent again."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        source = None if isinstance(body, bytes) else body
        head = b"%b%b%b%b%b" % (method, self._target, path, self._prefix, headers)
        if isinstance(body, bytes):
            sized = b"content-length: %d\r\n" % len(body) if body or method in _BODIED else b""
            request = b"%b%b\r\n%b" % (head, sized, body)
        elif length is None:
            request = head + b"transfer-encoding: chunked\r\n\r\n"
        else:
            request = b"%bcontent-length: %d\r\n\r\n" % (head, length)
        if self._timer is None:
            self.now = loop.time()
            self._timer = loop.call_later(TICK, self._tick)
        call = RelayCall(self, sink, request, method == b"HEAD", self.now + self._total, source)
        if source is not None and length is None:
            call.chunk()
        self._active.add(call)
        if len(self._active) > self._most_running:
            self._queue(call)
        else:
            self._start(call)
        return call

    def _large_head(self, method: bytes, path: bytes, headers: bytes, size: int) -> bytes:
        return b"%b%b%b%b%bcontent-length: %d\r\n\r\n" % (method, self._target, path, self._prefix, headers, size)

    async def close(self) -> None:
        """Calls still running fail with RESET; returns when every socket is closed (or after a second)."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for call in list(self._active):
            self.fail(call, Failure.RESET, "the pool was closed")
        for connection in list(self._idle):
            connection.abort()
        if self._dials:
            await asyncio.wait(self._dials, timeout=CLOSE_TIMEOUT)
        if self._open and self._loop is not None:
            self._all_closed = self._loop.create_future()
            await asyncio.wait([self._all_closed], timeout=CLOSE_TIMEOUT)

    # Waiting

    def _queue(self, call: Call) -> None:
        assert self._loop is not None
        if len(self._waiting) >= self._concurrency.waiting:
            self._loop.call_soon(self.fail, call, Failure.BUSY, f"{self._dialer.origin.label} has enough to do")
            return
        self._waiting[call] = None
        call.enter(QUEUED, self._loop.time(), self._concurrency.timeout)

    def _start_waiting(self) -> None:
        """Starts the calls for which there is room now."""
        while self._waiting and len(self._active) - len(self._waiting) < self._most_running:
            call = next(iter(self._waiting))
            del self._waiting[call]
            self._start(call)

    # Connecting

    def _start(self, call: Call) -> None:
        """On an idle connection that still stands, or on a new one."""
        while self._idle and call.source is None:
            connection = self._idle.pop()
            transport = connection.transport
            if transport is None or transport.is_closing():
                continue
            if connection.look(0):
                connection.abort()
                continue
            call.reused = True
            connection.begin(call)
            return
        self._dial(call)

    def _dial(self, call: Call) -> None:
        assert self._loop is not None
        call.enter(CONNECTING, self._loop.time(), self._waits[CONNECTING])
        if self._closed:
            self._loop.call_soon(self.fail, call, Failure.CONNECT, "the pool is closed")
            return
        call.dial = self._loop.create_task(self._connect(call))
        self._dials.add(call.dial)
        call.dial.add_done_callback(self._dials.discard)

    async def _connect(self, call: Call) -> None:
        connection = ClientConnection(self, AnswerReader(self.max_header_bytes, self.max_header_count))
        try:
            await self._dialer.dial(connection)
        except Exception as error:
            connection.abort()
            call.dial = None
            self.fail(call, *self._dialer.explain(error))
        except BaseException:
            connection.abort()
            raise
        else:
            call.dial = None
            if connection.transport is None or connection.transport.is_closing():
                self.fail(call, Failure.RESET, "the connection ended before the request")
            else:
                connection.begin(call)

    def send_again(self, call: Call) -> None:
        """An idle connection had ended before the request reached its peer. Once more, on a fresh one."""
        call.connection = None
        call.reused = False
        self._dial(call)

    # The ends of a call

    def finish(self, call: Call) -> None:
        self._active.discard(call)
        if self._waiting:
            self._waiting.pop(call, None)
            assert self._loop is not None
            self._loop.call_soon(self._start_waiting)  # later: then the connection of this call is idle
        call.connection = None
        call.dial = None
        call.request = None
        call.rest = None
        call.sink = NOBODY

    def drop(self, call: Call) -> None:
        """Whatever the call is at, it ends now, unheard."""
        connection, dial = call.connection, call.dial
        self.finish(call)
        if connection is not None:
            connection.abort()
        if dial is not None:
            dial.cancel()

    def fail(self, call: Call, failure: Failure, detail: str) -> None:
        if call not in self._active:
            return
        sink = call.sink
        self.drop(call)
        try:
            sink.on_fail(ClientError(failure, detail))
        except Exception as error:
            self.report_fault(call, error)

    def report_fault(self, call: Call, error: Exception) -> None:
        """A sink raised: its call ends, the pool lives on."""
        self.drop(call)
        if self._log is not None:
            self._log("a callback of a call raised", error)
        elif self._loop is not None:
            self._loop.call_exception_handler({"message": "a callback of a call raised", "exception": error})

    # Clock

    def restart_clock(self, call: Call) -> None:
        call.enter(call.phase, self.time(), self._waits[call.phase])

    def hurry(self, call: Call, seconds: float) -> None:
        call.deadline = min(call.deadline, self.time() + seconds)

    def _tick(self) -> None:
        assert self._loop is not None
        self.now = now = self._loop.time()
        for call in [call for call in self._active if call.overdue(now)]:
            failure = Failure.TOTAL_TIMEOUT if now > call.deadline else call.phase
            self.fail(call, failure, f"{self._dialer.origin.label} took too long")
        while self._idle and now - self._idle[0].since > self._idle_ttl:
            self._idle[0].abort()
        watching = (self._active or self._idle) and not self._closed
        self._timer = self._loop.call_later(TICK, self._tick) if watching else None

    # For connections

    def connection_opened(self) -> None:
        self._open += 1

    def connection_closed(self) -> None:
        self._open -= 1
        if self._open == 0 and self._all_closed is not None and not self._all_closed.done():
            self._all_closed.set_result(None)

    def park(self, connection: ClientConnection) -> None:
        if self._closed or len(self._idle) >= self._max_idle:
            connection.abort()
            return
        connection.since = self.now  # up to a tick ago: it may be closed that much early
        self._idle.append(connection)

    def forget(self, connection: ClientConnection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)


def _request_parts(origin: Origin, proxy: Proxy | None) -> tuple[bytes, bytes]:
    """-> (what stands between the method and the path, all between the path and the sender's headers)"""
    host = origin.host_header.encode("ascii")
    fixed = b" HTTP/1.1\r\nhost: %b\r\naccept-encoding: identity\r\n" % host
    if proxy is None or origin.tls:
        return b" ", fixed
    # RFC 9112 §3.2.2: a proxy is asked in absolute form, and it, not the origin, reads its credentials.
    return b" http://" + host, fixed + proxy.header
