"""The host's side of the compiler's process, which is started when it is first needed and makes copies of itself: one
is there in 10 ms, where reading the vocabulary takes most of a second. Whatever becomes of a copy, the next is as new.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from antiphon.engine.launcher import KEPT, KEPT_KINDS, PYTHON, kill
from antiphon.engine.schema.compiler import LENGTH, CompilerAnswer, CompilerOrders
from antiphon.engine.schema.narrow import SchemaBounds
from antiphon.errors import AntiphonError

START_LIMIT: Final = 30.0  # seconds
LAST: Final = 10  # nice(2): after whatever else there is to do


class CompilerCopy:
    """Reads one schema after another, until it is ended or ends by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._pid = 0

    @property
    def is_there(self) -> bool:
        return not self._reader.at_eof()

    async def ready(self) -> bool:
        answer = await self._answer()
        self._pid = answer.pid if answer else 0
        return answer is not None

    async def ask(self, frame: bytes) -> CompilerAnswer | None:
        """None: it died of it."""
        try:
            self._writer.write(LENGTH.pack(len(frame)) + frame)
            await self._writer.drain()
        except ConnectionError:
            return None
        return await self._answer()

    def yield_to_others(self) -> None:
        try:
            os.setpriority(os.PRIO_PROCESS, self._pid, LAST)
        except OSError:
            pass  # it has just ended

    def end(self) -> None:
        if self._pid and self.is_there:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._writer.close()

    async def _answer(self) -> CompilerAnswer | None:
        try:
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            return msgspec.json.decode(await self._reader.readexactly(length), type=CompilerAnswer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


class CompilerPool:
    def __init__(self, model: Callable[[], str], bounds: SchemaBounds, environ: Mapping[str, str]) -> None:
        """`model`: its file, which may not be there yet."""
        self._model = model
        self._bounds = bounds
        self._environ = {name: value for name, value in environ.items() if name in KEPT or name.startswith(KEPT_KINDS)}
        self._compiler: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None

    async def make(self) -> CompilerCopy:
        """Raises AntiphonError."""
        if self._compiler is None or self._compiler.returncode is not None or self._control is None:
            self._control = await self._start()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            copy = CompilerCopy(*await asyncio.open_unix_connection(sock=ours))
            async with asyncio.timeout(START_LIMIT):
                if await copy.ready():
                    return copy
        except (OSError, TimeoutError):
            ours.close()
        await self.close()
        raise AntiphonError("The embedded engine cannot read schemas: its compiler did not start.", code="engine_error")

    async def close(self) -> None:
        """With all copies."""
        if self._control is not None:
            self._control.close()
            self._control = None
        compiler, self._compiler = self._compiler, None
        if compiler is not None:
            kill(compiler)
            await compiler.wait()

    async def _start(self) -> socket.socket:
        await self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._compiler = await asyncio.create_subprocess_exec(
                *(
                    *PYTHON,
                    "antiphon.engine.schema.compiler",
                    msgspec.json.encode(CompilerOrders(self._model(), self._bounds)).decode(),
                ),
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,  # it would tell parts of people's schemas
                env=self._environ,
                start_new_session=True,
            )
        return ours
