"""What the client's tests share: a sink that remembers, and upstreams over real sockets that send exact bytes."""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import uvloop

from antiphon.http.client import Call, ClientError, Failure, Origin, Pool, Timeouts

T = TypeVar("T")
P = ParamSpec("P")
CERTS = Path(__file__).parent / "certs_client"
CA = str(CERTS / "ca.pem")
DEADLINE = 5.0
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


def on_uvloop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The loop that the product runs on; each test gets its own."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        uvloop.run(test(*args, **kwargs))

    return run


async def within(awaitable: Awaitable[T], seconds: float = DEADLINE) -> T:
    return await asyncio.wait_for(awaitable, seconds)


class Recorder:
    """A sink. `done` is set by on_end and on_fail, `changed` by everything."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.pieces: list[bytes] = []
        self.events: list[str] = []
        self.error: ClientError | None = None
        self.head = asyncio.Event()
        self.data = asyncio.Event()
        self.done = asyncio.Event()

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self.events.append("head")
        self.status, self.headers = status, headers
        self.head.set()

    def on_data(self, data: bytes) -> None:
        self.events.append("data")
        self.pieces.append(data)
        self.data.set()

    def on_end(self) -> None:
        self.events.append("end")
        self.done.set()

    def on_fail(self, error: ClientError) -> None:
        self.events.append("fail")
        self.error = error
        self.done.set()

    async def ended(self) -> bytes:
        await within(self.done.wait())
        assert self.error is None, self.error
        return self.body

    async def failed(self) -> Failure:
        await within(self.done.wait())
        assert self.error is not None
        return self.error.failure


class Peer:
    """The upstream's side of one connection."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number  # 0 for the first connection of this upstream
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """One whole request, body by content-length; b"" where the client closed instead."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
        return head + await self.reader.readexactly(length)

    def send(self, data: bytes) -> None:
        if not self.writer.transport.is_closing():
            self.writer.write(data)

    async def gone(self) -> None:
        """Until the client has closed the connection."""
        try:
            while await self.reader.read(65536):
                pass
        except (ConnectionError, ssl.SSLError):
            pass

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


class Upstream:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.gone = asyncio.Event()  # a script has come to its end

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(Peer(self.connections, reader, writer)))
        self.connections += 1
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, peer: Peer) -> None:
        try:
            await self._script(peer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.gone.set()
            peer.writer.transport.abort()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks)


@asynccontextmanager
async def upstream(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[Origin, Upstream]]:
    state = Upstream(script)
    server = await asyncio.start_server(state.accept, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Origin("127.0.0.1", port, tls=tls is not None), state
    finally:
        server.close()
        await state.stop()
        await within(server.wait_closed())


def answering(*answers: bytes, close: bool = False) -> Script:
    """Answers each request of a connection with the next of these bytes (the last one again and again)."""

    async def script(peer: Peer) -> None:
        turn = 0
        while await peer.request():
            peer.send(answers[min(turn, len(answers) - 1)])
            turn += 1
            if close:
                await peer.writer.drain()
                return peer.close()

    return script


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / "server.pem", CERTS / "server.key")
    return context


def post(pool: Pool, sink: Recorder, body: bytes = b"{}") -> Call:
    return pool.send(b"POST", b"/v1/x", b"content-type: application/json\r\n", body, sink)


SHORT = Timeouts(connect=0.3, first_byte=0.3, idle=0.3, total=30.0)
