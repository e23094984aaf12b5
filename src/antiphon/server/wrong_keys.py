"""Wrong keys are answered more and more slowly, for each client address by itself [wrong-keys-slowed].

The first few cost nothing: somebody mistypes, or a client has an old key. Then each answer waits twice as long as the
one before, up to LONGEST. An address with MOST_WAITING such answers under way is refused before its key is looked at.
Keys that are right are never slowed, unless their address is in that state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from antiphon.errors import RequestError

FREE: Final = 10  # wrong keys of one address that are answered at once
FORGET: Final = 60.0  # seconds after the last one
FIRST: Final = 0.05  # seconds
LONGEST: Final = 2.0
MOST_WAITING: Final = 64  # of one address
MOST_ADDRESSES: Final = 10_000  # that are remembered
WORDS: Final = "Too many incorrect API keys came from your address. Please try again later."


class WrongKeys:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts: dict[str, tuple[int, float]] = {}  # address -> wrong keys, when the last one came
        self.waiting: dict[str, int] = {}  # address -> answers that wait

    def check(self, address: str) -> None:
        """Raises RequestError: nothing of this address is looked at for now."""
        if self.waiting.get(address, 0) >= MOST_WAITING:
            raise RequestError(WORDS, status=429, code="rate_limit_exceeded", retry_after=int(LONGEST))

    def note(self, address: str) -> float:
        """A wrong key came. -> seconds that its answer waits"""
        now = self._clock()
        count, last = self._counts.pop(address, (0, now))
        count = 1 if now - last > FORGET else count + 1
        if len(self._counts) >= MOST_ADDRESSES:
            del self._counts[next(iter(self._counts))]  # the one that was quiet for longest
        self._counts[address] = (count, now)
        over = min(count - FREE, 16)
        return 0.0 if over <= 0 else min(LONGEST, FIRST * 2 ** (over - 1))

    def begin_wait(self, address: str) -> None:
        self.waiting[address] = self.waiting.get(address, 0) + 1

    def end_wait(self, address: str) -> None:
        self.waiting[address] -= 1
        if not self.waiting[address]:
            del self.waiting[address]
