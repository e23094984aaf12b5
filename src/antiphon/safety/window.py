"""One text of a streamed choice while it is judged: what has come, what was looked at, what may leave.

    window.size += …           more text came; `window.last` says where in its choice, `settled` is over
    window.look(words, most)   the text to judge for these new words, with what stood before them
    window.hold_back(...)      the look was clean: `window.released` moves on, but its end stays back
    window.settle()            the look was clean, and nothing more is expected: all of it may leave

A finding may lie across two looks ("ki" + "ll"), and a harmful sentence may begin harmlessly. So the end of what was
looked at stays back and is looked at again with what follows: at least `tail` characters, and the whole sentence that
is not finished yet, up to `most` characters. Offsets count characters from the beginning of the text.
"""

from __future__ import annotations

import re
from typing import Final

CONTEXT: Final = 512  # characters before the new ones that are judged with them
SENTENCE_END: Final = re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]|\n+")


class TextWindow:
    __slots__ = ("_context", "early_asked", "last", "last_risk", "released", "risk", "seen", "settled", "size")

    def __init__(self) -> None:
        self.size = 0  # characters that came
        self.seen = 0  # … that were looked at
        self.released = 0  # … that may leave
        self.settled = False  # all that came may leave
        self.early_asked = 0  # … that an early look was asked about
        self.last_risk = 0  # where the last early look that saw a risk ended
        self.risk = 0  # … if no look has read that far yet; until one has, no early look releases
        self.last = 0  # where in the choice this text ended when it last grew
        self._context = ""  # the end of what was looked at

    def look(self, words: str, most: int) -> str:
        """The text to judge. `words`: the next ones that were not looked at. `most`: characters that stay back."""
        judged = self._context + words
        self.seen += len(words)
        self._context = judged[-max(CONTEXT, most) :]
        return judged

    def newest(self, unseen: str, most: int) -> str:
        """The end of the text, with the words that were not looked at."""
        return (self._context + unseen)[-most:]

    def hold_back(self, tail: int, most: int) -> None:
        """After a clean look: releases what is followed by `tail` characters and ends a sentence.

        A sentence longer than `most` characters is released in part.
        """
        end = self.seen - tail
        if end <= self.released:
            return
        held = self._context[len(self._context) - (self.seen - self.released) :]
        sentence = 0
        for match in SENTENCE_END.finditer(held, 0, end - self.released):
            sentence = match.end()
        self.released = max(self.released + sentence, self.seen - most)

    def settle(self) -> None:
        self.released = self.seen
        self.settled = True

    @property
    def held_back(self) -> int:
        """Characters that were looked at and may not leave yet."""
        return max(self.seen - self.released, 0)
