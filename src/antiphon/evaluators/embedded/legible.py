"""Whether there is anything in a text that the networks can read.

They were trained on sentences. Of keys struck at random and of rows of pictures they see only pieces they do not know,
and what they make of these is chance: sixty emoji were a jailbreak. Such a text is not judged, and that is said of it.
One word that is known is enough to be judged.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

FEWEST: Final = 8  # words or signs; fewer are judged, whatever they are
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_LETTER: Final = re.compile(r"[^\W_]")
_SIGN: Final = re.compile(r"[^\x00-\x7f\s]")


class Legible:
    def __init__(self, vocabulary: Container[str]) -> None:
        """`vocabulary`: words in lower case."""
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> bool:
        count = 0
        for word in _WORD.finditer(text):
            if word[0].lower() in self._vocabulary:
                return True
            count += 1
        if count >= FEWEST:
            return False
        if _LETTER.search(text):
            return True
        return sum(1 for _ in _SIGN.finditer(text)) < FEWEST
