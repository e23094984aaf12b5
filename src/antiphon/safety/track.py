"""The text of one streamed choice while it is judged: what has come, what was looked at, what may leave.

    track.add(words)          more text; its end is `track.size`
    track.due                 enough of it was never looked at
    look = track.look()       the text to judge: what is new, and what stood before it
    track.clear(look)         that was allowed: `track.cleared` moves on

A finding may lie across two looks ("ki" + "ll"). So the end of what was looked at stays back, and is looked at again
with what follows it: no finding of up to `tail` characters is ever cut in two. Only the end of the text, or its age,
lets the tail go (`whole`). Offsets count characters from the beginning of the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CHARACTERS: Final = 4  # of a token, about
CONTEXT: Final = 512  # characters before what is new that are looked at with it
TAIL: Final = 64
BREAK: Final = "\n"


@dataclass(frozen=True, slots=True)
class Look:
    text: str
    start: int
    end: int
    whole: bool  # nothing is to stay back


class Track:
    __slots__ = ("_base", "_kept", "_kind", "_new", "_tail", "_window", "asked", "cleared", "size")

    def __init__(self, tokens: int, reach: int = 0) -> None:
        """`tokens`: how many may be held back; `reach`: the longest finding that is known to be possible."""
        most = tokens * CHARACTERS
        self._tail = max(reach, min(TAIL, most // 2))
        self._window = max(most - self._tail, 1)
        self._kept = ""  # the end of the text, from offset `_base` on
        self._base = 0
        self._new: list[str] = []
        self._kind: str | None = None
        self.size = 0
        self.asked = 0  # how far it was looked at
        self.cleared = 0  # how far it may leave

    def add(self, words: str, kind: str = "") -> None:
        """`kind`: content and reasoning, or two calls, are not one text."""
        if self._kind != kind:
            if self._kind is not None:
                self._new.append(BREAK)
                self.size += 1
            self._kind = kind
        self._new.append(words)
        self.size += len(words)

    @property
    def due(self) -> bool:
        return self.size - self.asked >= self._window

    @property
    def unseen(self) -> bool:
        return self.size > self.asked

    def look(self, *, whole: bool = False) -> Look:
        self._kept += "".join(self._new)
        self._new.clear()
        start = max(self._base, self.asked - max(CONTEXT, self._tail))
        self._kept, self._base = self._kept[start - self._base :], start
        seen, self.asked = self.asked, self.size
        return Look(self._kept, seen, self.size, whole)

    def clear(self, look: Look) -> None:
        self.cleared = max(self.cleared, look.end if look.whole else look.end - self._tail)
