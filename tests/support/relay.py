"""An upstream that takes bodies of any size and answers with exact bytes; it remembers digests, not bodies."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Got:
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    digest: str = ""
    size: int = 0
    body: bytes = b""  # its beginning
    is_cut: bool = False


@dataclass
class Play:
    """How to answer one request."""

    body: bytes = b"{}"
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] | None = None  # in the place of the body: chunks
    cut: bool = False  # the end does not come
    early: bool = False  # answers before it has read the body
    hold: asyncio.Event | None = None  # does not read the body before
    between: asyncio.Event | None = None  # waits after the first piece
    repeat: int = 1  # the body so many times


KEPT = 1024 * 1024


class RelayUpstream:
    def __init__(self, *plays: Play | Callable[[Got], Play]) -> None:
        """One for each request; the last one for all that follow."""
        self.plays = list(plays) or [Play()]
        self.got: list[Got] = []
        self.sent = 0  # bytes of answers
        self.url = ""
        self._server: asyncio.Server | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[RelayUpstream]:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, target, _ = first.split(" ")
        got = Got(method, target, headers)
        self.got.append(got)
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        if not isinstance(play, Play):
            await self._read(reader, got)
            return await self._answer(writer, play(got), got)
        if play.hold is not None:
            await play.hold.wait()
        if not play.early:
            await self._read(reader, got)
        try:
            return await self._answer(writer, play, got)
        except ConnectionError:
            got.is_cut = True
            raise

    async def _read(self, reader: asyncio.StreamReader, got: Got) -> None:
        digest = hashlib.sha256()

        def take(data: bytes) -> None:
            digest.update(data)
            got.size += len(data)
            got.body += data[: max(0, KEPT - len(got.body))]

        try:
            if got.headers.get("transfer-encoding") == "chunked":
                while size := int(await reader.readline(), 16):
                    take(await reader.readexactly(size))
                    await reader.readexactly(2)
                await reader.readexactly(2)
            left = int(got.headers.get("content-length", 0))
            while left:
                data = await reader.read(min(left, 1 << 16))
                if not data:
                    raise asyncio.IncompleteReadError(b"", left)
                take(data)
                left -= len(data)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            got.is_cut = True
            raise ConnectionError from None
        got.digest = digest.hexdigest()

    async def _answer(self, writer: asyncio.StreamWriter, play: Play, got: Got) -> bool:
        lines = {"content-type": play.kind, **play.headers}
        if play.pieces is None:
            lines["content-length"] = str(len(play.body) * play.repeat)
        else:
            lines["transfer-encoding"] = "chunked"
        head = f"HTTP/1.1 {play.status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(head.encode() + b"\r\n")
        pieces = [play.body] * play.repeat if play.pieces is None else play.pieces
        for index, piece in enumerate(pieces):
            if play.cut and play.pieces is None and index == len(pieces) - 1:
                piece = piece[: len(piece) // 2]
            writer.write(piece if play.pieces is None else b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            self.sent += len(piece)
            if index == 0 and play.between is not None:
                await play.between.wait()
        if not play.cut and play.pieces is not None:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not play.cut and not play.early


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def form(*parts: tuple[str, bytes] | tuple[str, bytes, str], boundary: str = "b0undary") -> bytes:
    """Fields, and files where a third word names one."""
    out = b""
    for part in parts:
        name = f'; filename="{part[2]}"\r\ncontent-type: application/octet-stream' if len(part) == 3 else ""
        out += f'--{boundary}\r\ncontent-disposition: form-data; name="{part[0]}"{name}\r\n\r\n'.encode()
        out += part[1] + b"\r\n"
    return out + f"--{boundary}--\r\n".encode()


FORM = {"content-type": "multipart/form-data; boundary=b0undary"}


def settings(
    *urls: str, server: str = "", upstream: str = "", targets: str = "", more: str = "", access_log: str = "off"
) -> str:
    """Upstreams u0, u1, …; the route `m` leads to them in this order, `named` to u0's model `a-longer-target`."""
    rows = "".join(
        f'[[upstream]]\nname = "u{i}"\nprotocol = "openai"\nurl = "{url}"\ncredential = "env:UP"\n{upstream}\n'
        for i, url in enumerate(urls)
    )
    order = targets or ", ".join(f'{{ upstream = "u{i}", priority = {i} }}' for i in range(len(urls)))
    routes = f'[[route]]\nmodel = "m"\ntargets = [{order}]\n'
    routes += '[[route]]\nmodel = "named"\ntargets = [{ upstream = "u0", model = "a-longer-target" }]\n'
    head = f'[server]\nlisten = "127.0.0.1:0"\naccess_log = "{access_log}"\nerror_log = "off"\n'
    return f"{head}{server}\n{rows}{routes}{more}"
