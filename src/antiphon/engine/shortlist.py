"""What shared words tell: which few tools of many a request may be meant for, and whether a call comes from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Any, Final

WORD: Final = re.compile(r"[^\W\d_]{4,}|\d+")
SPOKEN: Final = re.compile(r"[^\W\d_]{3,}|\d+")
STEM: Final = 5  # letters: search, searching and searches are one word
DIGITS: Final = "0"  # any number
WANTS_NUMBER: Final = frozenset({"numbe", "integ", "amoun", "calcu", "math"})


def shortlist(request: str, texts: Sequence[str], most: int) -> list[int]:
    """The positions of the `most` likeliest texts, in their order. Rare words count for more."""
    if len(texts) <= most:
        return list(range(len(texts)))
    wanted = words(request)
    told = [words(text) for text in texts]
    frequency = Counter(word for each in told for word in each)
    scores = [sum(log(1 + len(texts) / frequency[word]) for word in wanted & each) for each in told]
    best = sorted(range(len(texts)), key=lambda index: -scores[index])[:most]
    return sorted(best)


def words(text: str) -> frozenset[str]:
    stems = {DIGITS if word[0].isdigit() else word[:STEM] for word in WORD.findall(text.lower().replace("_", " "))}
    return frozenset(stems | ({DIGITS} if stems & WANTS_NUMBER else set()))


def spoken(value: Any) -> frozenset[str]:
    """The words and numbers in a JSON value; of an object those of its values."""
    if isinstance(value, dict):
        return frozenset().union(*map(spoken, value.values()))
    if isinstance(value, list):
        return frozenset().union(*map(spoken, value))
    return frozenset(SPOKEN.findall(str(value).lower()))
