"""How long a share waits for an evaluator process. Pure: times are arguments.

It waits up to `queue` seconds, and then has its own time limit. A burst may wait longer: as long as verdicts keep
coming, and the lanes were empty not long ago (`BURST` times `queue`), what waits will be judged. When the lanes have
not been empty for so long, more is asked than can be judged; then nobody waits longer than `queue`, because a longer
wait would be everybody's and would not get one text more judged. (CoDel's idea of a good and a bad queue, RFC 8289.)
"""

from __future__ import annotations

from typing import Final

from antiphon.evaluators.share import Share

BURST: Final = 15
LEAST_OVERLOAD: Final = 1.0  # seconds that something waits before that is called overload
CALM_AFTER: Final = 10.0  # seconds since a text went unjudged for want of time


class WaitEstimate:
    def __init__(self, queue: float) -> None:
        self.queue = queue
        self._waiting = 0  # shares in lanes
        self._since: float | None = None  # when the lanes were last empty; None: they are
        self._moved = 0.0  # when the last verdict came
        self._failed = -CALM_AFTER  # when there was last no time for a share

    def enter(self, now: float) -> None:
        self._waiting += 1
        if self._since is None:
            self._since = now

    def leave(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._since = None

    def moved(self, now: float) -> None:
        self._moved = now

    def failed(self, now: float) -> None:
        self._failed = now

    def most(self, now: float) -> float:
        """Seconds that a share may wait in all, where verdicts keep coming."""
        is_burst = self._since is None or now - self._since < BURST * self.queue
        return BURST * self.queue if is_burst else self.queue

    def is_over(self, share: Share, most: float, now: float) -> bool:
        if now - share.asked > most + share.limit:
            return True
        return now - max(share.asked, self._moved) > self.queue + share.limit

    def is_overloaded(self, now: float) -> bool:
        """Something waits for longer than it should, or did not get its turn."""
        waits = self._since is not None and now - self._since > max(self.queue, LEAST_OVERLOAD)
        return waits or now - self._failed < CALM_AFTER
