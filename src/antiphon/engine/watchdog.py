"""Keeps a native engine running: watches it, and starts it again when it dies or hangs."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Final

from antiphon.engine import state
from antiphon.engine.diagnosis import EngineFault
from antiphon.engine.launcher import Launcher, RunningEngine
from antiphon.engine.options import EngineOptions
from antiphon.engine.slot_queue import SlotQueue

STEADY: Final = 10.0  # seconds: an engine that lived this long is started again at once
PAUSES: Final = (0.0, 0.1, 0.3, 0.5)  # before a restart, by deaths in a row; with the start itself never over 2 s
TICK: Final = 0.25
OVERSLEPT: Final = 1.0  # seconds beyond a tick: it was we who paused
REWRITE: Final = 240  # ticks after which the state is written again: a cleaner of temporary files may have taken it


class Watchdog:
    def __init__(
        self, options: EngineOptions, slots: SlotQueue, launcher: Launcher, say: Callable[[str], None]
    ) -> None:
        self.running: RunningEngine | None = None
        self.settled = asyncio.Event()  # it was ready once, or could not be had
        self._options = options
        self._slots = slots
        self._launcher = launcher
        self._say = say
        self._deaths = 0  # in a row, of engines that were ready
        self._misses = 0  # in a row, starts that failed
        self._child: RunningEngine | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                running = await self._launcher.start()
            except EngineFault as fault:
                await self._failed(fault)
                continue
            born = asyncio.get_running_loop().time()
            self._ready(running)
            how = await self._watch(running)
            self._deaths = 0 if asyncio.get_running_loop().time() - born > STEADY else self._deaths + 1
            self._down(f"The engine {how} and is being restarted.")
            self._say(f"antiphon: the embedded engine {how}; it is started again")
            await running.client.close()
            await asyncio.sleep(PAUSES[min(self._deaths, len(PAUSES) - 1)])

    async def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            await self._child.child.wait()

    # What others are told

    def _tell(self, found: state.EngineState) -> None:
        state.write(self._options.state, found)

    def _ready(self, running: RunningEngine) -> None:
        if self.settled.is_set():
            self._say("antiphon: the embedded engine is ready again")
        if running.context < self._options.context and not self.settled.is_set():
            self._say(f"antiphon: the model was made for {running.context} tokens: [engine] context is taken as that")
        self.running = self._child = running
        self._misses = 0
        self._tell(state.EngineState("ready"))
        self._slots.open()
        self.settled.set()

    def _down(self, reason: str) -> None:
        self.running = None
        self._slots.close(reason)
        self._tell(state.EngineState("starting", reason))

    async def _failed(self, fault: EngineFault) -> None:
        """An engine that ran before is tried a few times more, while the queue waits; then all are told why."""
        self._misses += 1
        if self._child is not None and self._misses <= len(PAUSES):
            await asyncio.sleep(PAUSES[self._misses - 1])
            return
        reason = str(fault)
        if state.read(self._options.state) != state.EngineState("unavailable", reason):
            self._say(f"antiphon: no embedded engine: {reason}")
        self._tell(state.EngineState("unavailable", reason))
        self._slots.fail(reason)
        self.settled.set()
        before = _stamp(self._launcher.watched())
        for _ in range(int(fault.again)):  # or until the file is changed, or put there
            await asyncio.sleep(1.0)
            if _stamp(self._launcher.watched()) != before:
                return

    # Watching

    async def _watch(self, running: RunningEngine) -> str:
        """Returns when the child is gone: how it went."""
        loop = asyncio.get_running_loop()
        ended = asyncio.ensure_future(running.child.wait())
        hangs, ticks = False, 0
        try:
            while not ended.done():
                before = loop.time()
                await asyncio.wait({ended}, timeout=TICK)
                ticks += 1
                if loop.time() - before > TICK + OVERSLEPT:
                    running.client.reset_clock()  # what it said meanwhile is still to be read
                elif running.client.silence() > self._options.hang_after and not hangs:
                    hangs = True
                    running.kill()
                if ticks % REWRITE == 0:
                    self._tell(state.EngineState("ready"))
        finally:
            ended.cancel()
        if hangs:
            return f"made no progress for {self._options.hang_after:g} s and was killed"
        status = running.child.returncode or 0
        return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Whether a file has changed, come or gone."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
