"""WordPiece as BERT reads it (uncased): text to ids. Kept here because a dictionary does it in a quarter of the memory
of a tokenizer library, and words that were seen before cost one lookup.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

# A word is letters, digits and marks; each other visible character and each ideograph stands alone.
_IDEOGRAPHS: Final = (
    "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
)
_PIECES: Final = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+|[^\w\s]|_")
_ASCII_PIECES: Final = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")  # the same for ASCII in lower case
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_CACHED_WORDS: Final = 20_000
_LONGEST_WORD: Final = 100

CLS: Final = 101
SEP: Final = 102
UNKNOWN: Final = 100


class WordPiece:
    def __init__(self, ids: dict[str, int]) -> None:
        self.ids = ids
        self._word = lru_cache(_CACHED_WORDS)(self._split)

    @classmethod
    def load(cls, path: Path) -> WordPiece:
        words = path.read_text(encoding="utf-8").split("\n")
        return cls({word: index for index, word in enumerate(words) if word})

    def encode(self, text: str) -> list[int]:
        """Without the marks of start and end."""
        text = text.lower()
        pieces = _ASCII_PIECES.findall(text) if text.isascii() else _PIECES.findall(_bare(text))
        return list(chain.from_iterable(map(self._word, pieces)))

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest known beginning, then the longest known continuation, and so on; all known, or unknown."""
        if len(word) > _LONGEST_WORD:
            return (UNKNOWN,)
        ids: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                found = self.ids.get(prefix + word[start:end])
                if found is not None:
                    break
            else:
                return (UNKNOWN,)
            ids.append(found)
            start, prefix = end, "##"
        return tuple(ids)


def _bare(text: str) -> str:
    """Without accents."""
    return _NOT_ASCII.sub(
        lambda match: "".join(c for c in match[0] if unicodedata.category(c) != "Mn"),
        unicodedata.normalize("NFD", text),
    )
