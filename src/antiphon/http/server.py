"""The HTTP/1.1 server: listening sockets, the set of connections, the tick that enforces their deadlines, the drain.

Callbacks only: a request costs no task and no timer. `handler` is called with each Exchange when its request is
complete; it must not block, and may answer at once or later.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Container
from typing import Final

from antiphon.http.acceptor import BACKLOG, Acceptor, accept_all
from antiphon.http.forwarded import TrustedProxies
from antiphon.http.proxy_protocol import ProxyHeaderError, receive_header
from antiphon.http.remote import Remote, bare_address
from antiphon.http.request import Refusal, Request
from antiphon.http.server_budget import BodyBudget, InflateTurns
from antiphon.http.server_connection import ServerConnection
from antiphon.http.server_crowd import Crowd
from antiphon.http.server_exchange import Exchange
from antiphon.http.server_limits import Limits
from antiphon.http.server_sockets import client_address
from antiphon.http.tls import asks_certificates, why_closed

__all__ = ["Exchange", "Limits", "Request", "Server", "client_address"]

TICK: Final = 0.25
LAST_WORDS: Final = 0.1  # seconds for a refusal to leave before its connection is cut
FIRST_REQUEST_GRACE: Final = 1.0  # for clients that connected just before a drain


class Server:
    def __init__(
        self,
        handler: Callable[[Exchange], None],
        limits: Limits,
        render_fault: Callable[[int, str, Request | None, Remote], tuple[bytes, bytes]],
        log: Callable[[BaseException], None] | None = None,
        *,
        trusted: TrustedProxies | None = None,
        proxy_protocol: bool = False,
        note: Callable[[str], None] | None = None,
        wants_body: Callable[[Request], bool] | None = None,
        vital: Container[bytes] = (),
    ) -> None:
        """`trusted`: whose X-Forwarded-For is believed; `proxy_protocol`: every connection begins with its header;
        `note`: takes a sentence about a connection that was closed before its first request; `wants_body`: asked at the
        end of a head whose body is still to come, False: the handler is called without it; `vital`: paths that are
        answered though there are too many connections."""
        self.wants_body = wants_body
        self.vital = vital
        self.bodies = BodyBudget(limits.max_body_memory)
        self.handler = handler
        self.limits = limits
        self.trusted = trusted or TrustedProxies()
        self.keepalive = limits.keepalive
        self.log = log or self._report
        self.draining = False  # every answer ends its connection
        self._is_ending = False  # and nobody listens any more
        self.now = 0.0  # the loop's time at the last tick: exact enough for idle connections, and free
        self._render_fault = render_fault
        self._proxy_protocol = proxy_protocol
        self._note = note
        self._acceptors: list[Acceptor] = []
        self._loop: asyncio.AbstractEventLoop
        self.clock: Callable[[], float]
        self.soon: Callable[[Callable[[], None]], object]
        self._ssl: ssl.SSLContext | None = None
        self._listeners: list[tuple[asyncio.Server, socket.socket]] = []
        self.inflating: InflateTurns
        self._connections: set[ServerConnection] = set()
        self._crowd = Crowd(limits)
        self._empty = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def hand_to(
        self,
        handler: Callable[[Exchange], None],
        render_fault: Callable[[int, str, Request | None, Remote], tuple[bytes, bytes]],
    ) -> None:
        """Requests to come, on connections that are open too, go to another handler."""
        self.handler, self._render_fault = handler, render_fault
        for connection in self._connections:
            connection.forget_admission()

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def active(self) -> int:
        """Exchanges that are being answered."""
        return sum(connection.busy for connection in self._connections)

    async def start(self, sockets: list[socket.socket], ssl_context: ssl.SSLContext | None = None) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self.clock = loop.time
        self.soon = loop.call_soon
        self.inflating = InflateTurns(self.bodies, self.soon)
        self._ssl = ssl_context
        self._empty.set()
        accepts_itself = self._proxy_protocol or asks_certificates(ssl_context)
        for sock in sockets:
            if accepts_itself:
                self._acceptors.append(Acceptor(loop, sock, self._adopt, self._room, self._say))
                continue
            sock.setblocking(False)
            listener = await self._loop.create_server(
                self._accept,
                sock=sock,
                backlog=BACKLOG,
                ssl=ssl_context,
                ssl_handshake_timeout=self._handshake_timeout(),
            )
            self._listeners.append((listener, sock))

    def leave(self) -> None:
        """The drain will come soon. Every answer ends its connection; new ones are still taken."""
        self.draining = True

    async def drain(self, seconds: float) -> None:
        """Answer what is here, then end: nobody who has connected is reset, running answers get `seconds` to finish."""
        end = self._loop.time() + seconds
        self.draining = self._is_ending = True
        arrivals = [self._loop.create_task(self._adopt(sock)) for sock in self._close_listeners()]
        arrivals += [task for acceptor in self._acceptors for task in acceptor.opening]
        if arrivals:
            await asyncio.wait(arrivals, timeout=min(seconds, FIRST_REQUEST_GRACE))
        await asyncio.sleep(0)  # let the loop read what has already arrived
        await asyncio.sleep(0)
        for connection in list(self._connections):
            connection.drain(FIRST_REQUEST_GRACE)
        await self._emptied(end - self._loop.time())
        for connection in list(self._connections):
            connection.refuse_running()
        await self._emptied(LAST_WORDS)
        for connection in list(self._connections):
            connection.cut()
        for task in arrivals:
            task.cancel()
        await self._emptied(TICK)

    # For the connections

    def admit(self, connection: ServerConnection) -> Refusal | None:
        """Count a new connection in. A refusal is what to answer to its request, as there are too many."""
        self._connections.add(connection)
        self._empty.clear()
        if self._timer is None:
            self._tick()
        if self._is_ending:
            connection.drain(FIRST_REQUEST_GRACE)
        return self._crowd.admit(connection, self._connections, self._loop.time())

    def forget(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)
        self._crowd.forget(connection)
        if not self._connections:
            self._empty.set()

    def call(self, callback: Callable[[], None]) -> None:
        """Run a handler's callback; its faults are logged and go no further."""
        try:
            callback()
        except Exception as error:
            self.log(error)

    def render(self, refusal: Refusal, request: Request | None, remote: Remote) -> tuple[bytes, bytes]:
        """Header lines and body of a fault's answer."""
        try:
            headers, body = self._render_fault(refusal.status, refusal.reason, request, remote)
        except Exception as error:
            self.log(error)
            headers, body = b"content-type: text/plain\r\n", refusal.reason.encode()
        if refusal.status in (429, 503) and b"retry-after:" not in headers.lower():
            headers += b"retry-after: 1\r\n"
        return headers, body

    def _report(self, error: BaseException) -> None:
        self._loop.call_exception_handler({"message": "Unhandled error in an HTTP handler", "exception": error})

    def _tick(self) -> None:
        self.now = now = self._loop.time()
        self._timer = self._loop.call_later(TICK, self._tick) if self._connections else None
        for connection in [one for one in self._connections if one.deadline <= now or one.stall <= now]:
            connection.expire(now)

    # Listening

    def _accept(self) -> ServerConnection:
        return ServerConnection(self)

    def _handshake_timeout(self) -> float | None:
        return None if self._ssl is None else self.limits.header_timeout

    def _close_listeners(self) -> list[socket.socket]:
        """Stop listening; what the kernel has queued is accepted first, since closing would reset it."""
        accepted = []
        for listener, sock in self._listeners:
            accepted += accept_all(sock)
            listener.close()
        self._listeners.clear()
        for acceptor in self._acceptors:
            accepted += acceptor.close()
        return accepted

    async def _adopt(self, sock: socket.socket) -> None:
        """Serves a connection that was accepted: its PROXY header first, then TLS, then HTTP."""
        address = "an unknown address"
        try:
            address = bare_address(sock.getpeername())
            declared = await receive_header(sock, self.limits.header_timeout) if self._proxy_protocol else None
            await self._loop.connect_accepted_socket(
                lambda: ServerConnection(self, declared),
                sock,
                ssl=self._ssl,
                ssl_handshake_timeout=self._handshake_timeout(),
            )
        except (ProxyHeaderError, ssl.SSLError) as error:
            self._say(f"a connection from {address} was closed: {why_closed(error)}")
            sock.close()
        except OSError:  # gone meanwhile
            sock.close()
        except asyncio.CancelledError:
            sock.close()
            raise

    def _room(self) -> int:
        return self.limits.max_connections + self.limits.spare - len(self._connections)

    def _say(self, sentence: str) -> None:
        if self._note is not None:
            self._note(sentence)

    async def _emptied(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._empty.wait(), max(seconds, 0.0))
        except TimeoutError:
            pass
