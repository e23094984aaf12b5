"""The scripted upstream's server: listens, keeps what it receives, and plays a Script for each request."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast
from urllib.parse import quote

from antiphon.upstreams.scripted.answers import Answers, find_language
from antiphon.upstreams.scripted.language import Credential
from antiphon.upstreams.scripted.received import BadRequestError, Received, ScriptedRequestReader
from antiphon.upstreams.scripted.reply import Reply
from antiphon.upstreams.scripted.script import Ending, Script, ScriptWait, Send, cut, error

Scripted = Script | Reply  # exact bytes, or what to say in the upstream's language
Answerer = Callable[[Received], Scripted]
Play = Callable[[Received], Script]

LINGER_OFF = struct.pack("ii", 1, 0)  # close sends RST at once


class ScriptedUpstream:
    """`scripts`: a function from request to Script or Reply, a list (one per request, in order), or None to answer
    sensibly. `speaks`: the vendor whose paths, shapes and rules it follows. `credential`: what it wants to be shown;
    without one, nothing."""

    def __init__(
        self,
        scripts: Answerer | list[Script] | list[Reply] | list[Scripted] | None = None,
        *,
        speaks: str = "openai",
        credential: Credential | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.url = ""
        self._answers = Answers(find_language(speaks), credential)
        self._scripts = in_order(scripts) if isinstance(scripts, list) else scripts
        self._keeps = scripts is not None  # a worker's own fake must not grow with each request
        self._server: asyncio.Server | None = None
        self._unix: str | None = None
        self._connections: set[ScriptedConnection] = set()
        self._arrived = asyncio.Event()

    async def start(self, unix: str | None = None) -> str:
        """Listens on a unix socket or a free loopback port; returns the URL to give a client of its language."""
        base = self._answers.language.base
        loop = asyncio.get_running_loop()
        if unix is not None:
            self._server = await loop.create_unix_server(self._connect, unix)
            self._unix = unix
            self.url = f"http+unix://{quote(unix, safe='')}{base}"
        else:
            self._server = await loop.create_server(self._connect, "127.0.0.1", 0)
            port = self._server.sockets[0].getsockname()[1]
            self.url = f"http://127.0.0.1:{port}{base}"
        return self.url

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        playing = [connection.abort() for connection in list(self._connections)]
        await asyncio.gather(*(task for task in playing if task is not None), return_exceptions=True)
        await self._server.wait_closed()
        self._server = None
        if self._unix is not None:
            with suppress(FileNotFoundError):  # newer Pythons remove it themselves
                os.unlink(self._unix)

    async def received(self, count: int = 1) -> list[Received]:
        """Waits until so many requests have come; for scripts only."""
        while len(self.requests) < count:
            self._arrived.clear()
            await self._arrived.wait()
        return self.requests

    def _connect(self) -> ScriptedConnection:
        return ScriptedConnection(self._receive, self._connections, keeps=self._keeps)

    def _receive(self, request: Received) -> Script:
        if self._keeps:
            self.requests.append(request)
            self._arrived.set()
        script = self._answers(request) if self._scripts is None else self._scripts(request)
        return self._answers(request, (script,)) if isinstance(script, Reply) else script


def in_order(scripts: Sequence[Scripted]) -> Answerer:
    rest = iter(scripts)

    def answerer(_: Received) -> Scripted:
        return next(rest, None) or error(500, {"error": {"message": "no script is left for this request"}})

    return answerer


class ScriptedConnection(asyncio.Protocol):
    """One connection: requests are answered one after the other."""

    def __init__(self, answerer: Play, connections: set[ScriptedConnection], *, keeps: bool) -> None:
        self._answerer = answerer
        self._keeps = keeps
        self._connections = connections
        self._reader = ScriptedRequestReader()
        self._requests: list[Received] = []
        self._playing: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without being a subclass
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        if self._playing is None:
            self._next()

    def _next(self) -> None:
        try:
            request = self._reader.next()
        except BadRequestError as fault:
            self._play(error(400, {"error": {"message": str(fault)}}) + cut(), None)
            return
        if request is not None:
            if not self._keeps:
                self._requests.clear()
            self._requests.append(request)
            self._play(self._answerer(request), request)
        elif self._reader.take_expectation():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _play(self, script: Script, request: Received | None) -> None:
        self._playing = asyncio.create_task(self._run(script, request))

    async def _run(self, script: Script, request: Received | None) -> None:
        for step in script.steps:
            if isinstance(step, Send):
                self._transport.write(step.data)
                await self._writable.wait()
            elif isinstance(step, ScriptWait):
                await (asyncio.sleep(step.until) if isinstance(step.until, float | int) else step.until.wait())
            else:
                await self._end(step)
                return
        self._playing = None
        if request is not None:
            request.answered.set()
            if request.headers.get("connection", "").lower() == "close":
                self._transport.close()
                return
        self._next()

    async def _end(self, ending: Ending) -> None:
        if ending is Ending.HANG:
            await asyncio.Event().wait()  # connection_lost or stop cancels
        elif ending is Ending.RESET:
            raw_socket = self._transport.get_extra_info("socket")
            if raw_socket is not None and raw_socket.family != socket.AF_UNIX:
                raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_OFF)
            self._transport.abort()
        else:
            self._transport.close()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        if self._playing is not None:
            self._playing.cancel()
        for request in self._requests:
            request.closed.set()

    def abort(self) -> asyncio.Task[None] | None:
        self._transport.abort()
        if self._playing is not None:
            self._playing.cancel()
        return self._playing
