"""One request to an upstream, and how it may fail.

A `Call` is what the sender holds. Its clock is three floats: since when it waits, how long it may, and the end of all
patience; `phase` is the failure it will be if that runs out. The pool's tick compares them (no timer of its own), and
reads the time for them: who hears something only sets `heard`, which is 0.05 us cheaper per read than asking the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from antiphon.http.client_connection import ClientConnection
    from antiphon.http.pool import Pool

LINGER: Final = 0.75  # seconds to end an answer nobody reads any more; with the tick, one second at most


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many calls of a pool run at a time. The others wait in the order in which they came."""

    running: int
    waiting: int = 64  # one more fails at once
    timeout: float = 10.0  # seconds that a call waits to be started


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. Each is noticed at a tick of the pool: never early, and at most two ticks (half a second) late."""

    connect: float = (
        10.0  # from send(), or the end of the wait in the queue, until the connection stands: name, TCP, proxy, TLS
    )
    first_byte: float = 300.0  # from the request being written to the first byte of the (final) status line
    idle: float = 120.0  # between two reads after that, while the caller has not paused
    total: float = 1800.0  # over all, from send()


class Failure(Enum):
    BUSY = "busy"  # as many calls run as may, and as many wait
    QUEUE_TIMEOUT = "queue timeout"
    CONNECT = "connect"
    TLS = "tls"
    CONNECT_TIMEOUT = "connect timeout"
    FIRST_BYTE_TIMEOUT = "first byte timeout"
    IDLE_TIMEOUT = "idle timeout"
    TOTAL_TIMEOUT = "total timeout"
    RESET = "reset"  # the connection ended before or inside the answer
    PROTOCOL = "protocol"  # not HTTP, a bad chunk, an encoding we did not ask for
    TOO_LARGE = "too large"


# Without these names each use of a member costs 80 ns in Python 3.11 (Enum looks it up through a descriptor).
QUEUED: Final = Failure.QUEUE_TIMEOUT
CONNECTING: Final = Failure.CONNECT_TIMEOUT
WAITING: Final = Failure.FIRST_BYTE_TIMEOUT
READING: Final = Failure.IDLE_TIMEOUT


class ClientError(Exception):
    """`detail` may name the host, never a secret; it is for logs, not for clients."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(f"{failure.value}: {detail}")
        self.failure = failure
        self.detail = detail


class Sink(Protocol):
    """Who hears the answer: on_head, on_data…, then exactly one of on_end and on_fail (which may come at any point)."""

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None: ...
    def on_data(self, data: bytes) -> None: ...
    def on_end(self) -> None: ...
    def on_fail(self, error: ClientError) -> None: ...


class WholeSink:
    """A sink that takes the usual JSON answer, status 200 and all in one read, in one call instead of three."""

    __slots__ = ()

    def on_whole(self, body: bytes) -> None:
        raise NotImplementedError


class Pieces(Protocol):
    """A large body. It can be read again."""

    size: int

    def __iter__(self) -> Iterator[bytes | memoryview]: ...


class OnePiece:
    def __init__(self, body: bytes) -> None:
        self.size = len(body)
        self._body = body

    def __iter__(self) -> Iterator[bytes | memoryview]:
        yield self._body


class Nobody:
    """The sink of a call that has ended, was cancelled, or lingers."""

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None: ...
    def on_data(self, data: bytes) -> None: ...
    def on_end(self) -> None: ...
    def on_fail(self, error: ClientError) -> None: ...


NOBODY: Final = Nobody()


class BodySource(Protocol):
    """Who gives the body of a request in pieces."""

    def on_writable(self) -> None:
        """The connection takes bytes: `RelayCall.write` may be called until `is_full`. Called again after that."""


class Call:
    """Made by Pool.send(). pause, resume, cancel and linger may be called at any time, also from within the sink."""

    __slots__ = (
        "_pool",
        "connection",
        "deadline",
        "dial",
        "heard",
        "is_head",
        "paused",
        "phase",
        "request",
        "rest",
        "reused",
        "since",
        "sink",
        "wait",
    )
    source: BodySource | None = None  # of a body that is still being sent
    is_endless = False  # the answer may be of any size

    def __init__(
        self, pool: Pool, sink: Sink, request: bytes, is_head: bool, deadline: float, rest: Pieces | None
    ) -> None:
        self._pool = pool
        self.sink: Sink = sink
        self.request: bytes | None = request  # kept while it may have to be sent (again)
        self.rest = rest  # what follows it of a large one, likewise
        self.is_head = is_head
        self.reused = False  # on a connection that has served before
        self.paused = False
        self.connection: ClientConnection | None = None
        self.dial: asyncio.Task[None] | None = None
        self.heard = False  # since the last tick; the next one restarts the clock
        self.phase = CONNECTING
        self.since = inf
        self.wait = inf
        self.deadline = deadline

    def enter(self, phase: Failure, now: float, wait: float) -> None:
        self.phase = phase
        self.since = now
        self.heard = False
        self.wait = inf if self.paused and phase is not CONNECTING else wait

    def overdue(self, now: float) -> bool:
        """For the tick."""
        if self.heard:
            self.heard = False
            self.since = now
        return now - self.since > self.wait or now > self.deadline

    def pause(self) -> None:
        """No more on_data until resume(), beyond what the read in progress still holds; the idle clock stands still."""
        if self.paused:
            return
        self.paused = True
        if self.connection is not None:
            self.wait = inf
            self.connection.hold()

    def resume(self) -> None:
        if not self.paused:
            return
        self.paused = False
        if self.connection is not None:
            self._pool.restart_clock(self)
            self.connection.release()

    def cancel(self) -> None:
        """Closes the socket at once. The sink hears nothing more."""
        self.sink = NOBODY
        self._pool.drop(self)

    def linger(self) -> None:
        """The answer is complete for us: the connection may end it by itself, to be used again, or is closed soon."""
        self.sink = NOBODY
        if self.connection is None or self.phase is not READING:
            self._pool.drop(self)  # no answer at all yet
        else:
            self.resume()
            self._pool.hurry(self, LINGER)


class RelayCall(Call):
    """Made by Pool.relay(): an answer of any size and, with a source, a body that is sent in pieces."""

    __slots__ = ("_chunked", "source")
    is_endless = True

    def __init__(
        self, pool: Pool, sink: Sink, request: bytes, is_head: bool, deadline: float, source: BodySource | None
    ) -> None:
        super().__init__(pool, sink, request, is_head, deadline, None)
        self.source: BodySource | None = source
        self._chunked = False

    def chunk(self) -> None:
        """The body's length is not known: it is sent in chunks."""
        self._chunked = True

    @property
    def is_full(self) -> bool:
        """No more can be written for now, or for ever: wait for `on_writable`."""
        return self.connection is None or self.connection.is_full

    def write(self, data: bytes) -> None:
        """A piece of the body. Not an empty one, which would end it."""
        if self.connection is not None:
            self.heard = True  # to send is progress: the clock starts again
            self.connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end_body(self) -> None:
        """The body is complete; the answer is awaited from now on."""
        if self.connection is not None:
            self.source = None
            self.heard = True
            if self._chunked:
                self.connection.write(b"0\r\n\r\n")
