"""A small client for Redis and Valkey: one connection, commands in order, replies as futures. See docs/limits.md.

Commands of one turn of the loop leave in one write. A connection that breaks fails what waits for a reply; the next
command connects anew. It speaks RESP3, so that pushed messages come on the same connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qs, unquote, urlsplit

PORT = 6379
LARGEST_REPLY = 1 << 20
DEEPEST = 8
MOST_WAITING = 4096  # commands without a reply
SCHEMES = ("redis", "rediss", "valkey", "valkeys", "unix")


@dataclass(frozen=True, slots=True)
class RespAddress:
    """Where the server is, and who we are there. Never shown: it may hold a password."""

    host: str = "localhost"
    port: int = PORT
    path: str | None = None  # of a unix socket
    tls: bool = False
    user: str | None = None
    password: str | None = None
    database: int = 0

    def __repr__(self) -> str:
        return f"Place({self.path or f'{self.host}:{self.port}'})"


def parse_url(url: str) -> RespAddress:
    """`redis://[[user]:password@]host[:port][/database]`, `rediss://…` with TLS, `unix:///path[?db=n]`.

    ValueError: what is wrong, in words that follow the setting's name and quote nothing of the URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("must be a URL, such as redis://localhost:6379/0") from None
    if parts.scheme not in SCHEMES:
        raise ValueError("must begin with redis://, rediss:// or unix://")
    query = parse_qs(parts.query)
    database = query.get("db", [""])[0] or ("" if parts.scheme == "unix" else parts.path.strip("/"))
    if database and not (database.isascii() and database.isdigit() and len(database) < 6):
        raise ValueError("must name its database by a number, such as redis://localhost:6379/0")
    user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
    if parts.scheme == "unix":
        if not parts.path.startswith("/"):
            raise ValueError("must name an absolute path: unix:///run/valkey.sock")
        return RespAddress(path=unquote(parts.path), user=user or None, password=password, database=int(database or 0))
    if not parts.hostname:
        raise ValueError("must name a host, such as redis://localhost:6379/0")
    tls = parts.scheme in ("rediss", "valkeys")
    return RespAddress(parts.hostname, port or PORT, None, tls, user or None, password, int(database or 0))


class ReplyError(Exception):
    """The server refused a command. Its words begin with a code: NOSCRIPT, WRONGPASS, OOM, …"""


class _Short(Exception):
    """The rest of a reply has not come yet."""


def read_reply(data: bytes | bytearray, at: int, depth: int = 0) -> tuple[object, int, bool]:
    """-> (value, where it ends, whether it was pushed). _Short: there is more to come. ValueError: that is no RESP."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise _Short
    kind, line, at = data[at], bytes(data[at + 1 : end]), end + 2
    if kind == 0x3A:  # :
        return int(line), at, False
    if kind in b"+(,#":
        return line.decode("utf-8", "replace"), at, False
    if kind == 0x2D:  # -
        return ReplyError(line.decode("utf-8", "replace")), at, False
    if kind == 0x5F:  # _
        return None, at, False
    if kind in b"$=!":
        return _read_text(data, at, int(line), is_error=kind == 0x21)
    if kind in b"*~>%|":
        return _read_many(data, at, int(line) * (2 if kind in b"%|" else 1), depth, pushed=kind == 0x3E)
    raise ValueError("the server does not speak RESP")


def _read_text(data: bytes | bytearray, at: int, size: int, *, is_error: bool) -> tuple[object, int, bool]:
    if size < 0:
        return None, at, False
    if size > LARGEST_REPLY:
        raise ValueError("a reply is too large")
    if len(data) < at + size + 2:
        raise _Short
    text = bytes(data[at : at + size])
    return (ReplyError(text.decode("utf-8", "replace")) if is_error else text), at + size + 2, False


def _read_many(data: bytes | bytearray, at: int, count: int, depth: int, *, pushed: bool) -> tuple[object, int, bool]:
    if count < 0:
        return None, at, False
    if depth > DEEPEST or count > LARGEST_REPLY:
        raise ValueError("a reply is too deep or too large")
    items = []
    for _ in range(count):
        item, at, _ = read_reply(data, at, depth + 1)
        items.append(item)
    return items, at, pushed


def write_command(parts: tuple[str | bytes | int, ...]) -> bytes:
    texts = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join([b"*%d\r\n" % len(texts), *(b"$%d\r\n%b\r\n" % (len(text), text) for text in texts)])


class _Connection(asyncio.Protocol):
    def __init__(self, on_push: Callable[[list[object]], None]) -> None:
        self._on_push = on_push
        self._data = bytearray()
        self._waiting: deque[asyncio.Future[object]] = deque()
        self._outgoing: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class

    def call(self, *parts: str | bytes | int) -> asyncio.Future[object]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        if self.is_lost or len(self._waiting) >= MOST_WAITING:
            future.set_exception(
                ConnectionError("the connection is lost" if self.is_lost else "too many commands wait")
            )
            return future
        if not self._outgoing:
            loop.call_soon(self._send)
        self._outgoing.append(write_command(parts))
        self._waiting.append(future)
        return future

    def _send(self) -> None:
        data, self._outgoing = b"".join(self._outgoing), []
        if self._transport is not None and not self.is_lost:
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._data += data
        at = 0
        try:
            while at < len(self._data):
                value, at, pushed = read_reply(self._data, at)
                self._take(value, pushed)
        except _Short:
            if len(self._data) - at > LARGEST_REPLY:
                self.close()
        except (ValueError, IndexError):
            self.close()
        del self._data[:at]

    def _take(self, value: object, pushed: bool) -> None:
        if pushed and isinstance(value, list) and value[:1] != [b"subscribe"]:
            self._on_push(value)
            return
        if not self._waiting:
            raise ValueError("a reply to no command")
        future = self._waiting.popleft()
        if future.done():  # nobody waits any more
            return
        if isinstance(value, ReplyError):
            future.set_exception(value)
        else:
            future.set_result(value)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(ConnectionError("the connection was lost"))

    def close(self) -> None:
        self.is_lost = True
        if self._transport is not None:
            self._transport.abort()


class RespClient:
    """Connects when it is first needed, and anew when the connection was lost."""

    def __init__(self, place: RespAddress, on_push: Callable[[list[object]], None], *, timeout: float = 1.0) -> None:
        """`on_push` is given the messages of the channel. `timeout`: seconds for a reply, and for connecting."""
        self._place = place
        self._on_push = on_push
        self._timeout = timeout
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()
        self._tls = ssl.create_default_context() if place.tls else None
        self.channel: str | None = None

    async def call(self, *parts: str | bytes | int) -> object:
        """ConnectionError: the server cannot be reached, or does not answer. ReplyError: it refuses."""
        try:
            async with asyncio.timeout(self._timeout):
                connection = self._connection
                if connection is None or connection.is_lost:
                    connection = await self._connect()
                return await connection.call(*parts)
        except TimeoutError:
            self.close()  # what was asked may still be answered; the answer must not be taken for the next one's
            raise ConnectionError("no answer in time") from None
        except (OSError, ssl.SSLError) as error:
            raise ConnectionError(type(error).__name__) from None

    async def run_script(self, digest: str, script: bytes, key: str, *arguments: str | int) -> object:
        try:
            return await self.call("EVALSHA", digest, 1, key, *arguments)
        except ReplyError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
        return await self.call("EVAL", script, 1, key, *arguments)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _connect(self) -> _Connection:
        async with self._connecting:
            if self._connection is not None and not self._connection.is_lost:
                return self._connection
            connection = await self._open()
            try:
                await self._greet(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            return connection

    async def _open(self) -> _Connection:
        loop, place = asyncio.get_running_loop(), self._place
        if place.path is not None:
            _, connection = await loop.create_unix_connection(lambda: _Connection(self._on_push), place.path)
            return connection
        name = place.host if self._tls else None
        _, connection = await loop.create_connection(
            lambda: _Connection(self._on_push), place.host, place.port, ssl=self._tls, server_hostname=name
        )
        return connection

    async def _greet(self, connection: _Connection) -> None:
        place = self._place
        proof = () if place.password is None else ("AUTH", place.user or "default", place.password)
        await connection.call("HELLO", 3, *proof)
        if place.database:
            await connection.call("SELECT", place.database)
        if self.channel is not None:
            await connection.call("SUBSCRIBE", self.channel)
