"""What the bodies of requests may take in one worker: memory, and time of the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final

from antiphon.http.request import Refusal

SPENT: Final = "The server holds as many request bodies as it can. Please try again later."
STEP: Final = 1024 * 1024  # bytes unpacked in one turn of the loop; 2 to 5 ms


class BodyBudget:
    """One for all connections. A body counts while it is read, while it waits and until its answer is complete; a
    compressed one counts as it unpacks. `held` is also changed in place where each request passes: a call takes more
    time than the sum."""

    __slots__ = ("held", "limit", "unpacked")

    def __init__(self, limit: float = inf) -> None:
        self.limit = limit
        self.held = 0  # bytes
        self.unpacked = 0  # bytes, in this turn of the loop

    def check(self, size: int) -> None:
        """Is there room for so many bytes?"""
        if self.held + size > self.limit:
            raise Refusal(503, SPENT)

    def take(self, size: int) -> None:
        self.check(size)
        self.held += size


class InflateTurns:
    """Compressed bodies take turns, so that other connections are served in between."""

    def __init__(self, budget: BodyBudget, soon: Callable[[Callable[[], None]], object]) -> None:
        self._budget = budget
        self._soon = soon
        self._waiting: deque[Callable[[], None]] = deque()

    def may_go_on(self, resume: Callable[[], None]) -> bool:
        """False: `resume` is called when it is this connection's turn."""
        if self._budget.unpacked < STEP:
            return True
        self._waiting.append(resume)
        if len(self._waiting) == 1:
            self._soon(self._next)
        return False

    def _next(self) -> None:
        self._budget.unpacked = 0
        resume = self._waiting.popleft()
        if self._waiting:
            self._soon(self._next)
        resume()
