"""Words of a list, searched for whatever their letters' case or form: text and words are normalised alike. The space in
a phrase stands for any white space.

A word is found between word boundaries: "ass" not in "class". In scripts without spaces it is found anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from antiphon.evaluators.rules.beginnings import Beginnings
from antiphon.evaluators.rules.engine import Scanner
from antiphon.evaluators.rules.folding import joins, normal

COMPOSED: Final = 4  # characters at most that normalising makes one of: alpha, breathing, accent and iota subscript
# What nobody sees has no limit, and a stream cannot wait for ever: so much of it within a word is looked beyond.
HIDDEN: Final = 1  # for each character
GAP: Final = 8  # for each space: the end of a line, and the next one's indentation


class Words:
    def __init__(self, words: Sequence[str]) -> None:
        self._words = [normal(word).strip() for word in words]
        self._lengths = [len(word.encode()) for word in self._words]
        self._scanner = Scanner.of_words([word.encode() for word in self._words])
        self._beginnings = Beginnings(self._words)
        self._early_scanner = self._scanner.twin()

    @property
    def size(self) -> int:
        return self._scanner.size

    def longest(self) -> int:
        """In characters of the text as it came, with one on either side, which decide whether a word ends there."""
        return 2 + max(map(_span, self._words))

    def found(self, text: bytes) -> bool:
        """`text`: normalised, in UTF-8."""
        return self._search(self._scanner, text)

    @property
    def longest_word(self) -> int:
        return self._beginnings.longest

    def early(self, text: str) -> bool:
        """Whether a word stands in a text, or begins at its end. `text`: normalised. Beside `found`, in any thread."""
        return self._beginnings(text) or self._search(self._early_scanner, text.encode(errors="replace"))

    def _search(self, scanner: Scanner, text: bytes) -> bool:
        hit = False

        def meet(number: int, _: int, end: int) -> bool:
            nonlocal hit
            hit = self._stands_alone(text, self._words[number], end - self._lengths[number], end)
            return hit

        scanner.scan(text, meet)
        return hit

    @staticmethod
    def _stands_alone(text: bytes, word: str, begin: int, end: int) -> bool:
        # A character has four bytes at most; what is cut in two there is dropped by the decoder.
        before = text[max(0, begin - 4) : begin].decode(errors="ignore")[-1:]
        after = text[end : end + 4].decode(errors="ignore")[:1]
        return not (joins(before) and joins(word[0])) and not (joins(word[-1]) and joins(after))


def _span(word: str) -> int:
    return len(word) * ((1 if word.isascii() else COMPOSED) + HIDDEN) + word.count(" ") * GAP
