"""A server on its own uvloop thread, and a client that speaks raw bytes to it. Every wait has a deadline."""

from __future__ import annotations

import asyncio
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import uvloop

from antiphon.http.remote import Remote
from antiphon.http.server import Exchange, Limits, Request, Server

T = TypeVar("T")
DEADLINE = 5.0
TEXT = b"content-type: text/plain\r\n"


def get(path: bytes = b"/", *headers: bytes, method: bytes = b"GET", version: bytes = b"1.1") -> bytes:
    lines = [method + b" " + path + b" HTTP/" + version, b"Host: localhost", *headers, b"", b""]
    return b"\r\n".join(lines)


def post(body: bytes, *headers: bytes, path: bytes = b"/") -> bytes:
    return get(path, *headers, b"Content-Length: %d" % len(body), method=b"POST") + body


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def echo(exchange: Exchange) -> None:
    """Answers at once with method, path and body."""
    request = exchange.request
    exchange.respond(200, TEXT, b"%b %b %b" % (request.method, request.path, request.body))


def render_fault(status: int, reason: str, request: Request | None, remote: Remote) -> tuple[bytes, bytes]:
    path = request.path if request is not None else b"-"
    return TEXT, b"fault %d %b %b" % (status, path, reason.encode())


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[bytes, bytes]
    body: bytes
    complete: bool


class Client:
    """One connection. `answer` reads exactly one response; `rest` reads up to the end of the connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = b""
        sock.settimeout(DEADLINE)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def _more(self) -> bool:
        data = self.sock.recv(65536)
        self._buffer += data
        return bool(data)

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            if not self._more():
                raise ConnectionError(f"ended before {mark!r}: {self._buffer!r}")
        part, _, self._buffer = self._buffer.partition(mark)
        return part

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not self._more():
                break
        part, self._buffer = self._buffer[:size], self._buffer[size:]
        return part

    def answer(self, *, head: bool = False) -> Answer:
        lines = self._until(b"\r\n\r\n").split(b"\r\n")
        status = int(lines[0].split(b" ")[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
        if head or status in (100, 204, 304):
            return Answer(status, headers, b"", True)
        if b"content-length" in headers:
            size = int(headers[b"content-length"])
            body = self._exactly(size)
            return Answer(status, headers, body, len(body) == size)
        if headers.get(b"transfer-encoding") == b"chunked":
            return self._chunks(status, headers)
        return Answer(status, headers, self.rest(), True)

    def _chunks(self, status: int, headers: dict[bytes, bytes]) -> Answer:
        body = b""
        try:
            while size := int(self._until(b"\r\n"), 16):
                body += self._exactly(size)
                self._until(b"\r\n")
            self._until(b"\r\n")
        except ConnectionError:
            return Answer(status, headers, body, False)
        return Answer(status, headers, body, True)

    def rest(self) -> bytes:
        while self._more():
            pass
        part, self._buffer = self._buffer, b""
        return part

    def ended(self) -> bool:
        """Whether the server closes without a further byte."""
        try:
            return self.rest() == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.sock.close()


class Running:
    """A started server. Handlers run on its thread; `on_loop` runs something there and waits for it."""

    def __init__(
        self, handler: Callable[[Exchange], None], limits: Limits, context: ssl.SSLContext | None, **options: Any
    ) -> None:
        self.errors: list[BaseException] = []
        self.notes: queue.Queue[str] = queue.Queue()
        self.exchanges: queue.Queue[Exchange] = queue.Queue()
        self.server = Server(self._handle, limits, render_fault, self.errors.append, note=self.notes.put, **options)
        self.port = 0
        self._handler = handler
        self._context = context
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._main()), daemon=True)
        self._thread.start()
        assert self._ready.wait(DEADLINE)

    def _handle(self, exchange: Exchange) -> None:
        self._handler(exchange)
        self.exchanges.put(exchange)

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        await self.server.start([sock], self._context)
        self.port = sock.getsockname()[1]
        self._ready.set()
        await self._over.wait()
        await self.server.drain(0)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def on_loop(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(DEADLINE)

    def echo(self, exchange: Exchange) -> None:
        self.on_loop(lambda: echo(exchange))

    def begin(self, exchange: Exchange, *pieces: bytes) -> None:
        """Start a streamed answer and write these pieces of it."""

        def start() -> None:
            exchange.start(200, TEXT)
            for piece in pieces:
                exchange.write(piece)

        self.on_loop(start)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Ask again, on the server's loop, until it is so."""
        end = time.monotonic() + DEADLINE
        while not self.on_loop(condition):
            assert time.monotonic() < end

    def start_also(self, sock: socket.socket) -> None:
        asyncio.run_coroutine_threadsafe(self.server.start([sock]), self.loop).result(DEADLINE)

    def draining(self, seconds: float) -> Callable[[], None]:
        """Start a drain; the result waits for its end."""
        future = asyncio.run_coroutine_threadsafe(self.server.drain(seconds), self.loop)
        return lambda: future.result(DEADLINE)

    def next_note(self) -> str:
        return self.notes.get(timeout=DEADLINE)

    def next_exchange(self) -> Exchange:
        return self.exchanges.get(timeout=DEADLINE)

    def connect(self, *, receive_buffer: int | None = None) -> Client:
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(DEADLINE)
        try:
            sock.connect(("127.0.0.1", self.port))
        except OSError:
            sock.close()
            raise
        return Client(sock)

    @contextmanager
    def client(self, *, receive_buffer: int | None = None) -> Iterator[Client]:
        client = self.connect(receive_buffer=receive_buffer)
        try:
            yield client
        finally:
            client.close()


@contextmanager
def running(
    handler: Callable[[Exchange], None] = echo,
    limits: Limits | None = None,
    context: ssl.SSLContext | None = None,
    **options: Any,
) -> Iterator[Running]:
    run = Running(handler, limits or Limits(), context, **options)
    try:
        yield run
    finally:
        run.stop()


def later(exchange: Exchange) -> None:
    """Answers nothing; the test does."""
