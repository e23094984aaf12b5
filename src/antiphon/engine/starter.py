"""Starts a native engine: brings what it needs, spawns it, and waits until its model is loaded."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from antiphon.engine import state
from antiphon.engine.diagnosis import EngineFault, check_memory, diagnose
from antiphon.engine.journal import Journal
from antiphon.engine.native import Orders
from antiphon.engine.native_client import NativeClient
from antiphon.engine.options import EngineOptions
from antiphon.supply.files import FileFault, digest_of, model_path, packaged_model
from antiphon.supply.openmp import OpenMpFault, openmp_directory

FIRST_LIMIT: Final = 600.0  # seconds to load a model: tens of gigabytes from a slow disk
REFETCH: Final = 60.0  # seconds before something that could not be fetched is tried again
BATCH: Final = 64  # tokens of a prompt at a time: what a running stream waits for, and a cancelled one
PYTHON: Final = (sys.executable, "-P", "-m")  # -P: nothing from the directory that the gateway was started in
# What of the environment the native engine gets: nothing that may be a secret.
KEPT: Final = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH"})
KEPT_KINDS: Final = ("OMP_", "GOMP_", "GGML_", "MALLOC_")  # not LLAMA_: it names repositories to fetch models from


class Running:
    """One native engine, loaded."""

    def __init__(
        self, child: asyncio.subprocess.Process, client: NativeClient, digest: str, context: int, vocabulary: int
    ) -> None:
        self.child = child
        self.client = client
        self.digest = digest  # of its model file
        self.context = context  # tokens of one conversation: what was asked for, or all that the model was made for
        self.vocabulary = vocabulary  # how many tokens there are

    def kill(self) -> None:
        kill(self.child)


class Starter:
    def __init__(self, options: EngineOptions, journal: Journal, environ: Mapping[str, str]) -> None:
        self._options = options
        self._journal = journal
        self._environ = dict(environ)
        self._starts = 0
        self._patience = FIRST_LIMIT

    async def start(self) -> Running:
        """Raises EngineFault."""
        options = self._options
        model = options.model or await self._packaged()
        check_memory(model)
        environ = await self._environment()
        self._starts += 1
        key = secrets.token_hex(32)
        socket = f"{options.room}/native-{os.getpid()}-{self._starts}.sock"
        orders = Orders(model, options.name, options.threads, options.context, options.slots, BATCH, socket, key)
        self._journal.mark(f"starting the engine with {model}")
        began = asyncio.get_running_loop().time()
        child = await asyncio.create_subprocess_exec(
            *(*PYTHON, "antiphon.engine.native"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environ,
            start_new_session=True,  # Ctrl-C in a terminal is for the supervisor
        )
        try:
            await self._load(child, orders)
            client = NativeClient(socket, key)
            context, vocabulary = await client.context(), await client.vocabulary()
            digest = await asyncio.to_thread(digest_of, model, self._environ)
        except OSError as error:
            kill(child)
            raise EngineFault(f"The model file {model} cannot be read: {error.strerror}.") from None
        except BaseException:
            kill(child)
            raise
        # The file is in memory now: the next time it takes about as long, or something is wrong.
        self._patience = max(options.hang_after, 5 * (asyncio.get_running_loop().time() - began))
        return Running(child, client, digest, min(context, options.context), vocabulary)

    def watched(self) -> str:
        """The model's file, whose change is worth another start."""
        try:
            return self._options.model or str(model_path(self._environ))
        except FileFault:
            return ""

    async def _load(self, child: asyncio.subprocess.Process, orders: Orders) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        log = asyncio.get_running_loop().create_task(self._keep_log(child))
        child.stdin.write(msgspec.json.encode(orders) + b"\n")
        try:
            async with asyncio.timeout(self._patience):
                told = await child.stdout.readline()
        except TimeoutError:
            raise EngineFault(f"The engine did not load {orders.model} within {self._patience:.0f} s.") from None
        if not told.startswith(b'{"ready"'):
            await child.wait()
            await log  # to its end, which may say why
            raise EngineFault(diagnose(told, child.returncode or 0, self._journal.tail, orders.model))

    async def _keep_log(self, child: asyncio.subprocess.Process) -> None:
        assert child.stderr is not None
        while data := await child.stderr.read(65536):
            self._journal.write(data)

    async def _environment(self) -> dict[str, str]:
        environ = {name: value for name, value in self._environ.items() if name in KEPT or name.startswith(KEPT_KINDS)}
        environ.setdefault("MALLOC_ARENA_MAX", "2")  # one heap for each of its HTTP threads would grow and stay
        directory = await self._openmp()
        if directory is not None:
            search = (directory, environ.get("LD_LIBRARY_PATH"))
            environ["LD_LIBRARY_PATH"] = ":".join(part for part in search if part)
        return environ

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
        """By `antiphon model fetch`, which shows its progress, and ends when its stdin does. -> the file"""
        state.write(self._options.state, state.State("fetching", "What the engine needs is being fetched."))
        fetch = await asyncio.create_subprocess_exec(
            *(*PYTHON, "antiphon", "model", "fetch", "--only", what, "--report"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._environ,
            start_new_session=True,
        )
        try:
            assert fetch.stdout is not None
            told = await fetch.stdout.read()
            await fetch.wait()
        except asyncio.CancelledError:
            kill(fetch)
            raise
        lines = told.decode("utf-8", "replace").splitlines()
        if fetch.returncode or not lines:
            said = lines[-1] if lines else "What the engine needs could not be fetched: run `antiphon model fetch`."
            raise EngineFault(said, again=REFETCH)
        return lines[-1]


def kill(child: asyncio.subprocess.Process) -> None:
    """With all that it has started: the session is its own."""
    if child.returncode is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
