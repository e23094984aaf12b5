"""A worker's part in a reload: it prepares a new generation beside the one in use, and uses it when all are prepared.

prepare → (every worker is prepared) → commit, or abort. Turns that run end in the generation where they began.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, Final

from antiphon.generation import Generation, Worker
from antiphon.metrics.meter import TurnMeter
from antiphon.metrics.table import names_path, read_names
from antiphon.settings import Settings
from antiphon.wiring import build_generation

LOOK: Final = 0.5  # seconds between looks at the turns of a retired generation


class WorkerReload:
    def __init__(self, worker: Worker, meter: TurnMeter | None, number: int) -> None:
        """`number`: of the generation in use."""
        self.number = number
        self._worker = worker
        self._meter = meter
        self._next: tuple[int, Generation] | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    async def prepare(self, data: bytes) -> dict[str, Any]:
        """`data`: the number of the generation and its settings, by pickle: from our own supervisor, on a socket in a
        directory that is ours alone."""
        await self.abort(b"")
        number, settings = await asyncio.to_thread(_unpickle, data)  # large ones take a while
        try:
            generation = await build_generation(settings, self._worker.parts, self._worker.current)
        except Exception as error:
            self._worker.log.error("settings could not be prepared", error)
            return {"fault": f"{type(error).__name__}: {error}"}
        self._next = (number, generation)
        return {}

    async def commit(self, data: bytes) -> dict[str, Any]:
        if self._next is None:
            return {"fault": "nothing is prepared"}
        (self.number, generation), self._next = self._next, None
        if self._meter is not None:
            self._meter.learn(read_names(names_path(self._worker.parts.room)))
            self._meter.note_generation(self.number)
        old = self._worker.use(generation)
        task = asyncio.get_running_loop().create_task(self._retire(old))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
        return {}

    async def abort(self, data: bytes) -> dict[str, Any]:
        if self._next is not None:
            (_, generation), self._next = self._next, None
            await generation.close(self._worker.generations)
        return {}

    async def _retire(self, old: Generation) -> None:
        """Closes what only the old generation used, when its last turn has ended."""
        while True:
            if not old.app.turns.open_turns:
                break
            await asyncio.sleep(LOOK)
        self._worker.retired.remove(old)
        await old.close(self._worker.generations)


def _unpickle(data: bytes) -> tuple[int, Settings]:
    number, settings = pickle.loads(data)  # noqa: S301
    return number, settings
