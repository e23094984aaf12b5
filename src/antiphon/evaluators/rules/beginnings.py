"""Does a text end with the beginning of a listed word? Asked at every piece of a stream, so it has to be cheap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from antiphon.evaluators.rules.folding import joins

LONGEST: Final = 150  # characters of a word; an early look is shown little more


class Beginnings:
    """`words`: normalised. A word that is there as a whole counts too."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = sorted(set(words))
        self._first = frozenset(word[0] for word in self._words)
        self.longest = max(map(len, self._words))

    def __call__(self, text: str) -> bool:
        """`text`: normalised."""
        for start in range(max(0, len(text) - self.longest), len(text)):
            if text[start] in self._first and self._begins(text[start:]) and self._stands(text, start):
                return True
        return False

    def _begins(self, end: str) -> bool:
        at = bisect_left(self._words, end)
        return at < len(self._words) and self._words[at].startswith(end)

    @staticmethod
    def _stands(text: str, start: int) -> bool:
        """Whether a word can begin there: "ass" does not in "class"."""
        return not start or not (joins(text[start - 1]) and joins(text[start]))
