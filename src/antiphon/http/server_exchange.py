"""One request and its answer, as the handler sees them.

Every method is synchronous and does nothing once `closed` is true: after the answer is finished, or the client is gone.
uvloop gathers what is written in one turn of the loop into one system call: a head and its first chunk leave together.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from antiphon.http.request import Request

if TYPE_CHECKING:
    from antiphon.http.server_connection import ServerConnection

STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
BODILESS: Final = frozenset({204, 304})  # RFC 9110 §6.4.1

END: Final = b"\r\n"
CLOSE: Final = b"connection: close\r\n\r\n"
SIZED: Final = b"content-length: %d\r\n\r\n"
SIZED_LAST: Final = b"content-length: %d\r\n" + CLOSE
# The first line of a chunk by its size. A chunk is joined in 0.09 us, and formatted in 0.23.
CHUNK_LINES: Final = tuple(b"%x\r\n" % size for size in range(1024))
KEEP_ALIVE: Final = b"connection: keep-alive\r\n\r\n"  # HTTP/1.0 closes unless told otherwise


class Exchange:
    __slots__ = (
        "_chunking",
        "_connection",
        "_cuttable",
        "_keep",
        "_mute",
        "_transport",
        "closed",
        "on_end",
        "on_lost",
        "on_pause",
        "on_resume",
        "received",
        "remote",
        "request",
        "sent",
        "status",
    )

    def __init__(self, connection: ServerConnection, request: Request, received: float) -> None:
        self._connection = connection
        self.remote = connection.remote
        self.request = request
        self.received = received  # loop time at which the request was complete
        self.status = 0  # until answered
        self.sent = 0  # bytes of the body
        self.closed = False
        self._chunking = False  # started, not closed, and the body goes out in chunks
        self.on_end: Callable[[], None] | None = None  # called once, whatever the end is
        self.on_lost: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None

    @property
    def client_address(self) -> str:
        """Of the client that sent the request, as a trusted proxy names it."""
        return self.remote.client(self.request.headers)

    @property
    def paused(self) -> bool:
        """Whether the client reads more slowly than we write; what is written meanwhile is kept in memory."""
        return self._connection.stalled

    def respond(self, status: int, headers: bytes, body: bytes) -> None:
        """The whole answer. `headers` are ready lines; length and connection are added here."""
        if self.closed:
            return
        if self.status:
            raise RuntimeError("the exchange has been answered already")
        connection = self._connection
        request = self.request
        keep = request.keep_alive and (not connection.server.draining or connection.may_keep())
        self.status = status
        if request.method == b"HEAD" or status in BODILESS or request.http10:
            data = render_special(request, status, headers, body, keep)
        else:
            line = STATUS_LINES.get(status) or status_line(status)
            data = b"".join((line, headers, (SIZED if keep else SIZED_LAST) % len(body), body))
        self.sent = len(body)
        self.closed = True
        self.on_lost = self.on_pause = self.on_resume = None
        connection.transport.write(data)
        connection.release(keep)

    def start(self, status: int, headers: bytes, length: int | None = None) -> None:
        """The head of an answer whose body follows in pieces. `length`: of the body, where it is known."""
        if self.closed:
            return
        if self.status:
            raise RuntimeError("the exchange has been answered already")
        request, connection = self.request, self._connection
        self.status = status
        self._mute = request.method == b"HEAD" or status in BODILESS
        is_sized = length is not None and status not in BODILESS
        self._cuttable = not self._mute and (is_sized or not request.http10)
        self._chunking = self._cuttable and not is_sized
        # To an HTTP/1.0 client only the end of the connection can end a body whose length is not known.
        keep = request.keep_alive and connection.may_keep() and (self._mute or is_sized or not request.http10)
        self._keep = keep
        self._transport = connection.transport
        framing = b"transfer-encoding: chunked\r\n" if self._chunking else b""
        if length is not None and is_sized:
            framing = b"content-length: %d\r\n" % length
        tail = (KEEP_ALIVE if request.http10 else END) if keep else CLOSE
        self._transport.write(b"%b%b%b%b" % (status_line(status), headers, framing, tail))

    def write(self, data: bytes) -> None:
        if self._chunking and data:  # an empty chunk would end the body
            size = len(data)
            self.sent += size
            line = CHUNK_LINES[size] if size < len(CHUNK_LINES) else b"%x\r\n" % size
            self._transport.write(b"".join((line, data, END)))
        elif not self.closed and data:
            self._write_plain(data)

    def _write_plain(self, data: bytes) -> None:
        if not self.status:
            raise RuntimeError("the answer has not been started")
        self.sent += len(data)
        if not self._mute:
            self._transport.write(data)

    def finish(self) -> None:
        if self.closed:
            return
        if not self.status:
            raise RuntimeError("the answer has not been started")
        if self._chunking:
            self._transport.write(b"0\r\n\r\n")
        self._forget()
        self._connection.release(self._keep)

    def abort(self) -> None:
        """Cut: what was written still leaves where that shows the body to be incomplete; then the connection ends."""
        if self.closed:
            return
        self._forget()
        self._connection.cut_short(flush=self.status != 0 and self._cuttable)

    def _forget(self) -> None:
        self.closed = True
        self._chunking = False
        self.on_lost = self.on_pause = self.on_resume = None

    # For the connection

    def lose(self) -> Callable[[], None] | None:
        """The client is gone: close, and give what the handler wants called (once)."""
        callback = None if self.closed else self.on_lost
        self._forget()
        return callback


def status_line(status: int) -> bytes:
    return STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status  # RFC 9112 §4: the phrase may be empty


def render_special(request: Request, status: int, headers: bytes, body: bytes, keep: bool) -> bytes:
    """Answers that have no body, and answers to HTTP/1.0."""
    bare = status in BODILESS
    length = b"" if bare else b"content-length: %d\r\n" % len(body)
    tail = (KEEP_ALIVE if request.http10 else END) if keep else CLOSE
    shown = b"" if bare or request.method == b"HEAD" else body
    return b"%b%b%b%b%b" % (status_line(status), headers, length, tail, shown)
