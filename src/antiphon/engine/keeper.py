"""Keeps a native engine running: brings the model, starts it, watches it, and starts it again when it dies or hangs."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from antiphon.engine import state
from antiphon.engine.diagnosis import EngineFault, check_memory, diagnose
from antiphon.engine.journal import Journal
from antiphon.engine.line import Line
from antiphon.engine.native import Orders
from antiphon.engine.native_client import NativeClient
from antiphon.engine.options import EngineOptions
from antiphon.supply.files import digest_of, packaged_model
from antiphon.supply.openmp import OpenMpFault, openmp_directory

START_LIMIT: Final = 600.0  # seconds to load a model: tens of gigabytes from a slow disk
REFETCH: Final = 300.0  # seconds before something that could not be fetched is tried again
STEADY: Final = 10.0  # seconds: an engine that lived this long is started again at once
PAUSES: Final = (0.0, 0.2, 0.5, 1.0)  # before a restart, by deaths in a row; with the start itself never over 2 s
TICK: Final = 0.25
BATCH: Final = 64  # tokens of a prompt at a time: what a running stream waits for, and a cancelled one


class Keeper:
    def __init__(
        self,
        options: EngineOptions,
        line: Line,
        journal: Journal,
        environ: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        self.client: NativeClient | None = None  # while one runs
        self.settled = asyncio.Event()  # it was ready once, or could not be had
        self.digest = ""  # of its model file, once known
        self._options = options
        self._line = line
        self._journal = journal
        self._environ = dict(environ)
        self._say = say
        self._model = ""
        self._child: asyncio.subprocess.Process | None = None
        self._starts = 0
        self._socket = ""

    async def run(self) -> None:
        """Until cancelled."""
        deaths = 0
        while True:
            try:
                client = await self._start()
            except EngineFault as fault:
                self._gone(str(fault))
                await asyncio.sleep(fault.again)
                continue
            born = asyncio.get_running_loop().time()
            self._ready(client)
            how = await self._watch(client)
            self._line.close()
            self.client = None
            state.write(self._options.state, state.State("starting", f"The engine {how} and is being restarted."))
            await client.close()
            self._sweep()
            deaths = 0 if asyncio.get_running_loop().time() - born > STEADY else min(deaths + 1, len(PAUSES) - 1)
            self._say(f"antiphon: the embedded engine {how}; it is started again")
            await asyncio.sleep(PAUSES[deaths])

    async def close(self) -> None:
        if self._child is not None and self._child.returncode is None:
            self._kill()
            await self._child.wait()

    def _sweep(self) -> None:
        Path(self._socket).unlink(missing_ok=True)

    def _ready(self, client: NativeClient) -> None:
        self.client = client
        state.write(self._options.state, state.State("ready"))
        self._line.open()
        self.settled.set()

    def _gone(self, reason: str) -> None:
        if state.read(self._options.state) != state.State("unavailable", reason):
            self._say(f"antiphon: no embedded engine: {reason}")
        state.write(self._options.state, state.State("unavailable", reason))
        self._line.fail(reason)
        self.settled.set()

    # Starting

    async def _start(self) -> NativeClient:
        options = self._options
        self._model = options.model or await self._packaged()
        environ = self._environ
        check_memory(self._model)
        directory = await self._openmp()
        if directory is not None:
            search = ":".join(filter(None, (directory, environ.get("LD_LIBRARY_PATH"))))
            environ = {**environ, "LD_LIBRARY_PATH": search}
        self._starts += 1
        key = secrets.token_hex(32)
        self._socket = socket = f"{options.room}/native-{os.getpid()}-{self._starts}.sock"
        orders = Orders(
            model=self._model,
            name=options.name,
            threads=options.threads,
            context=options.context,
            slots=options.slots,
            batch=BATCH,
            socket=socket,
            key=key,
        )
        self._child = child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "antiphon.engine.native"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environ,
            start_new_session=True,  # Ctrl-C in a terminal is for the supervisor
        )
        log = asyncio.get_running_loop().create_task(self._keep_log(child))
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(msgspec.json.encode(orders) + b"\n")
        try:
            async with asyncio.timeout(START_LIMIT):
                told = await child.stdout.readline()
        except TimeoutError:
            self._kill()
            told = b""
        if told.startswith(b'{"ready"'):
            self.digest = await self._digest()
            return NativeClient(socket, key)
        await child.wait()
        await log  # to its end, which may say why
        raise EngineFault(diagnose(told, child.returncode or 0, self._journal.tail, self._model))

    async def _packaged(self) -> str:
        path = packaged_model(self._environ)
        return str(path) if path is not None else await self._fetch("model")

    async def _openmp(self) -> str | None:
        """A directory for the loader to look into, where the machine itself has no libgomp."""
        place = Path(self._options.room, "lib")
        try:
            return openmp_directory(self._environ, place)
        except OpenMpFault:
            await self._fetch("openmp")
        try:
            return openmp_directory(self._environ, place)
        except OpenMpFault as fault:
            raise EngineFault(str(fault)) from None

    async def _fetch(self, what: str) -> str:
        """By `antiphon model fetch`, which shows its progress. -> the file"""
        state.write(self._options.state, state.State("fetching", "What the engine needs is being fetched."))
        command = (sys.executable, "-m", "antiphon", "model", "fetch", "--only", what, "--report")
        fetch = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=self._environ)
        try:
            told, _ = await fetch.communicate()
        except asyncio.CancelledError:
            if fetch.returncode is None:
                fetch.kill()
            raise
        lines = told.decode("utf-8", "replace").splitlines()
        if fetch.returncode or not lines:
            said = lines[-1] if lines else "What the engine needs could not be fetched: run `antiphon model fetch`."
            raise EngineFault(said, again=REFETCH)
        return lines[-1]

    async def _digest(self) -> str:
        """In a thread: a large file that was not read before takes its time."""
        try:
            return await asyncio.to_thread(digest_of, self._model, self._environ)
        except OSError as error:
            raise EngineFault(f"The model file {self._model} cannot be read: {error.strerror}.") from None

    async def _keep_log(self, child: asyncio.subprocess.Process) -> None:
        assert child.stderr is not None
        while data := await child.stderr.read(65536):
            self._journal.write(data)

    # Watching

    async def _watch(self, client: NativeClient) -> str:
        """Returns when the child is gone: how it went."""
        assert self._child is not None
        ended = asyncio.ensure_future(self._child.wait())
        hangs = False
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=TICK)
                if client.silence() > self._options.hang_after and not hangs:
                    hangs = True
                    self._kill()
        finally:
            ended.cancel()
        status = self._child.returncode or 0
        if hangs:
            return f"made no progress for {self._options.hang_after:g} s and was killed"
        return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"

    def _kill(self) -> None:
        """The whole session: it is the child's own."""
        assert self._child is not None
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
