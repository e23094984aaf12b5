"""Words of a list, searched for whatever their letters' case or form: text and words are normalised alike.

A word is found between word boundaries: "ass" not in "class". In scripts without spaces it is found anywhere.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from antiphon.evaluators.rules.engine import Scanner

# The first and last letters of scripts written without spaces: Thai to Myanmar, Khmer, Kana, Han.
UNSPACED: Final = (
    (0x0E00, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
COMPOSED: Final = 4  # characters at most that normalising makes one of: alpha, breathing, accent and iota subscript


class Words:
    def __init__(self, words: Sequence[str]) -> None:
        self._words = [normal(word.strip()) for word in words]
        self._lengths = [len(word.encode()) for word in self._words]
        self._scanner = Scanner.of_words([word.encode() for word in self._words])

    @property
    def size(self) -> int:
        return self._scanner.size

    def longest(self) -> int:
        """In characters of the text as it came, with one on either side, which decide whether a word ends there."""
        return 2 + max(len(word) * (1 if word.isascii() else COMPOSED) for word in self._words)

    def found(self, text: bytes) -> bool:
        """`text`: normalised, in UTF-8."""
        hit = False

        def meet(number: int, _: int, end: int) -> bool:
            nonlocal hit
            hit = self._stands_alone(text, self._words[number], end - self._lengths[number], end)
            return hit

        self._scanner.scan(text, meet)
        return hit

    @staticmethod
    def _stands_alone(text: bytes, word: str, begin: int, end: int) -> bool:
        # A character has four bytes at most; what is cut in two there is dropped by the decoder.
        before = text[max(0, begin - 4) : begin].decode(errors="ignore")[-1:]
        after = text[end : end + 4].decode(errors="ignore")[:1]
        return not (joins(before) and joins(word[0])) and not (joins(word[-1]) and joins(after))


def normal(text: str) -> str:
    """NFKC, case folded, and NFKC again since folding can take a text out of that form."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def joins(letter: str) -> bool:
    """Whether a letter makes one word with such a letter beside it. Marks do: they belong to the letter before them."""
    if not letter or any(first <= ord(letter) <= last for first, last in UNSPACED):
        return False
    return letter == "_" or unicodedata.category(letter)[0] in "LNM"
