"""One choice of a stream at the gate: its state, its texts, the chunks that wait, and what its client was told.

A choice is in one of these states; MOVES is the whole table.

    OPEN        the upstream may add to it
    FINISHING   the upstream has finished it; its finish waits for the last verdict
    ENDED       its finish has left
    BLOCKED     a verdict has ended it; nothing more leaves
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from antiphon.document import Document
from antiphon.safety.policy import Results
from antiphon.safety.verdict import NOTHING
from antiphon.safety.window import TextWindow

MOST_TEXTS: Final = 64  # of a choice that have windows of their own; further ones share one
OTHER_TEXTS: Final = "other"

Passing = Document | bytes  # a chunk, or the frame of one


class GateState(Enum):
    OPEN = "open"
    FINISHING = "finishing"
    ENDED = "ended"
    BLOCKED = "blocked"


class GateEvent(Enum):
    FINISH_CAME = "the upstream has finished the choice"
    FINISH_LEFT = "its finish chunk has left"
    BLOCK = "a verdict blocks it"


# What is not in the table changes nothing.
MOVES: Final[Mapping[tuple[GateState, GateEvent], GateState]] = MappingProxyType(
    {
        (GateState.OPEN, GateEvent.FINISH_CAME): GateState.FINISHING,
        (GateState.FINISHING, GateEvent.FINISH_LEFT): GateState.ENDED,
        (GateState.OPEN, GateEvent.BLOCK): GateState.BLOCKED,
        (GateState.FINISHING, GateEvent.BLOCK): GateState.BLOCKED,
        (GateState.ENDED, GateEvent.BLOCK): GateState.BLOCKED,  # ASYNC only: the verdict came after the end
    }
)


class Held(NamedTuple):
    """A chunk that waits. `needs`: for each of its texts where it begins and ends there; `end`: its choice's size."""

    chunk: Passing
    needs: Sequence[tuple[TextWindow, int, int]]
    end: int
    finishes: bool
    weight: int = 0  # bytes


class Look(NamedTuple):
    """A question to the judge: one verdict over all `texts`. They are the characters start..end of the choice."""

    choice: GateChoice
    texts: list[str]
    start: int
    end: int


class EarlyLook(NamedTuple):
    """A question to the first stage: may the end of `text` be the beginning of something harmful?"""

    choice: GateChoice
    text: str
    window: TextWindow
    end: int  # of the window


class GateChoice:
    """One choice of the stream. Positions count its characters, in all texts, in the order in which they came."""

    __slots__ = (
        "asked",
        "current",
        "early",
        "held",
        "index",
        "is_quiet",
        "judged",
        "looked",
        "looks",
        "room",
        "since",
        "size",
        "state",
        "told",
        "unseen",
        "untold",
        "weight",
        "windows",
        "worst",
    )

    def __init__(self, index: int, room: int) -> None:
        self.index = index
        self.room = room  # new characters that the next look has room for; when so many came, it is due
        self.state = GateState.OPEN
        self.windows: dict[str, TextWindow] = {}
        self.unseen: deque[tuple[TextWindow, str]] = deque()  # not looked at yet, in the order in which it came
        self.held: deque[Held] = deque()
        self.weight = 0  # bytes of the chunks that wait
        self.size = 0  # position of the end of what came
        self.asked = 0  # … of what was looked at
        self.judged = 0  # … of what has a verdict
        self.looks = False  # a look is under way
        self.early = False  # an early look is under way
        self.looked = 0.0  # when the last look was
        self.since = 0.0  # when the first unseen character came
        self.worst = NOTHING  # verdict of all looks
        self.current = NOTHING  # … of the last look
        self.untold = NOTHING  # … of the looks since the client was last told
        self.told: Results | None = None  # the last results that the client was told
        self.is_quiet = False  # the next text delta is told with nothing but the usual

    def move(self, event: GateEvent) -> None:
        self.state = MOVES.get((self.state, event), self.state)

    def add(self, field: str, words: str, now: float) -> TextWindow:
        """More of one text came."""
        window = self.windows.get(field)
        if window is None:
            window = self._new_window(field)
        if words:
            if not self.unseen:
                self.since = now
            self.unseen.append((window, words))
            self.size = window.last = self.size + len(words)
            window.size += len(words)
            window.settled = False
        return window

    def _new_window(self, field: str) -> TextWindow:
        if len(self.windows) >= MOST_TEXTS:
            field = OTHER_TEXTS
        window = self.windows.get(field)
        if window is None:
            window = self.windows[field] = TextWindow()
            window.last = self.size
        return window

    @property
    def is_settled(self) -> bool:
        """Nothing of it waits for anything."""
        return self.state is GateState.BLOCKED or (not self.held and self.judged == self.size)

    @property
    def is_silent(self) -> bool:
        """Nothing more is to come of it."""
        return self.state is GateState.BLOCKED or (self.state is GateState.ENDED and self.is_settled)
