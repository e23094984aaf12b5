"""The pulse of the engine's host, on the pipe between it and the supervisor: a host that hangs is not a dead one, so it
has to show that it lives.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Final

ALIVE: Final = b"."
SETTLED: Final = b"1"  # once: the engine is ready, or will not be soon
BEAT: Final = 1.0  # seconds
OVERSLEPT: Final = 5.0  # seconds between two looks: it was we who paused


async def beat(told: int, settled: asyncio.Event) -> None:
    """The host's part, until cancelled. A pipe that is full or has no reader is no reason to stop."""
    os.set_blocking(told, False)
    said = False
    while True:
        word = SETTLED if settled.is_set() and not said else ALIVE
        with suppress(OSError):
            os.write(told, word)
            said = said or word == SETTLED
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT):
                await (asyncio.sleep(2 * BEAT) if said else settled.wait())


class Pulse:
    """The supervisor's part: one process's, from its birth."""

    def __init__(self, told: int, patience: float, now: float) -> None:
        self.settled = False
        self._told = told
        self._patience = patience
        self._heard = self._looked = now
        os.set_blocking(told, False)

    def look(self, now: float) -> float | None:
        """For how long it was silent, if that is too long."""
        paused, self._looked = now - self._looked > OVERSLEPT, now
        if self._listen() or paused:
            self._heard = now
        silence = now - self._heard
        return silence if silence > self._patience else None

    def _listen(self) -> bool:
        try:
            said = os.read(self._told, 65536)
        except BlockingIOError:
            return False
        self.settled = self.settled or SETTLED in said
        return bool(said)
