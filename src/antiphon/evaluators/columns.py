"""How many columns a text takes on a terminal (Unicode UAX #11): East Asian wide letters take two, marks take none."""

from __future__ import annotations

import unicodedata
from typing import Final

JAMO: Final = range(0x1160, 0x1200)  # vowels and finals of Hangul: drawn into the letter before them
MARKS: Final = frozenset({"Mn", "Me", "Cf"})


def columns(letter: str) -> int:
    if unicodedata.category(letter) in MARKS or ord(letter) in JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Padded or cut to so many columns; what was cut ends with an ellipsis."""
    used = end = 0  # of what surely fits, with room for the ellipsis
    whole = 0
    for letter in text:
        whole += columns(letter)
        if whole > width:
            return text[:end] + "…" + " " * (width - 1 - used)
        if whole < width:
            used, end = whole, end + 1
    return text + " " * (width - whole)
