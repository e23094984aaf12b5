"""Patterns without open runs of digits or letters (`\\d+`, `[a-z]*`), in which a small model does not find an end."""

from __future__ import annotations

import re
from typing import Final

from antiphon.engine.sizes import PIECE

MOST_DIGITS: Final = 9
DIGITS: Final = re.compile(r"\\d|[0-9]|\[[0-9-]+\]")
# A class that says what is in it, and no white space: what is left open beside that may be meant for prose.
WORDS: Final = re.compile(r"\\w|\[(?:\\[^sSDWpP]|[^\^\s\\\[\]])(?:\\[^sSDWpP]|[^\s\\\[\]])*\]")
LEAST: Final = {"*": 0, "+": 1}


def shortened(pattern: str, most: int) -> str:
    """What it matches, the pattern matches too. `most`: the characters of a run that are not only digits."""
    pieces: list[str] = []
    before = ""
    for found in PIECE.finditer(pattern):
        piece = found.group()
        cap = MOST_DIGITS if DIGITS.fullmatch(before) else most if WORDS.fullmatch(before) else None
        least = int(found["least"]) if found["least"] and found["most"] == "" else LEAST.get(piece)
        if cap is not None and least is not None:
            pieces.append(f"{{{least},{max(least, cap)}}}")
        else:
            pieces.append(piece)
        before = piece
    return "".join(pieces)
