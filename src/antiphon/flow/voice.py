"""One choice of a guarded stream: its text under judgement, and the chunks that wait for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from antiphon.flow.ports import Document
from antiphon.safety.policy import Results
from antiphon.safety.track import Track
from antiphon.safety.verdict import NOTHING, Verdict

CONTENT_FILTER: Final = "content_filter"


@dataclass(frozen=True, slots=True)
class Form:
    """How an endpoint's choices spell what they say."""

    words: Callable[[Document], Iterable[tuple[str, str]]]  # of a streamed choice: to which of its texts, and what
    silence: Callable[[int], Document]  # a streamed choice that says nothing
    text: Callable[[Document], str]  # of a whole choice: all that it says
    blank: Callable[[Document], None]  # a whole choice: takes away what it says
    prompt: Callable[[Document], list[str] | None]  # of a request: what is asked; None: it cannot be read


Passing = Document | bytes  # a chunk, or one that is written already as if nothing were found in it


class Held(NamedTuple):
    """What waits. `end`: how far the choice's text must be cleared for it; `since`: when it came."""

    chunk: Passing
    end: int
    since: float


class Voice:
    __slots__ = (
        "blocked",
        "ended",
        "filtered",
        "finished",
        "held",
        "index",
        "looked",
        "looking",
        "results",
        "timer",
        "track",
        "worst",
    )

    def __init__(self, index: int, track: Track, results: Results) -> None:
        self.index = index
        self.track = track
        self.results = results  # of the last look
        self.worst: Verdict = NOTHING
        self.held: deque[Held] = deque()
        self.looking = False
        self.looked = 0.0  # when it was last looked at
        self.finished = False  # its finish reason has come from the upstream
        self.ended = False  # … and has left
        self.blocked = False  # nothing more leaves
        self.filtered = False  # … because of what it said
        self.timer: asyncio.TimerHandle | None = None

    @property
    def silent(self) -> bool:
        """Nothing more is to come."""
        return self.blocked or (self.finished and not (self.held or self.looking or self.track.unseen))

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def block(self) -> None:
        self.blocked = True
        self.held.clear()
        self.stop()
