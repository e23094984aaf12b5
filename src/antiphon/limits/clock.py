"""Time, as limits need it: minutes by a clock that never jumps, budgets by the calendar of one time zone.

The monotonic clock is the same in all processes of a machine. The wall clock may jump: a row never goes back to an
earlier day, so a jump back gives nothing twice (row.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

EVERY = 50_000_000  # nanoseconds between looks at the calendar


class Clock:
    __slots__ = ("_due", "_end", "_monotonic", "_start", "_wall", "_zone", "day", "month")

    def __init__(
        self,
        zone: tzinfo = UTC,
        monotonic: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`monotonic` gives nanoseconds, `wall` seconds since 1970."""
        self._zone = zone
        self._monotonic = monotonic
        self._wall = wall
        self._start = self._end = 0.0
        self.day = self.month = 0  # ordinals of the calendar, as of the last `read`
        self._due = 0
        self._look(monotonic())

    def read(self) -> int:
        """-> microseconds. Sets `day` and `month`."""
        now = self._monotonic()
        if now >= self._due:
            self._look(now)
        return now // 1000

    def _look(self, now: int) -> None:
        self._due = now + EVERY
        if self._start <= self._wall() < self._end:
            return
        today = datetime.fromtimestamp(self._wall(), self._zone).date()
        self.day = today.toordinal()
        self.month = today.year * 12 + today.month
        self._start = datetime(today.year, today.month, today.day, tzinfo=self._zone).timestamp()
        next_day = today + timedelta(days=1)
        self._end = datetime(next_day.year, next_day.month, next_day.day, tzinfo=self._zone).timestamp()
