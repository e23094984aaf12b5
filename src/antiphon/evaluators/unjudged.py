"""Says in the error log how many texts went unjudged: soon after the first, then once a minute at most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

SOON: Final = 1.0  # seconds after the first text; the others of a burst are counted with it
QUIET: Final = 60.0  # seconds between two lines


class Unjudged:
    def __init__(self, log: Callable[[str], None], state: Callable[[], str]) -> None:
        self._log = log
        self._state = state
        self._loop = asyncio.get_running_loop()
        self._texts = 0
        self._said = -QUIET
        self._timer: asyncio.TimerHandle | None = None

    def add(self, texts: int) -> None:
        self._texts += texts
        if self._timer is None:
            due = max(SOON, self._said + QUIET - self._loop.time())
            self._timer = self._loop.call_later(due, self.say)

    def say(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._texts:
            self._log(f"texts that were not judged: {self._texts}; evaluators: {self._state()}")
            self._texts = 0
            self._said = self._loop.time()
