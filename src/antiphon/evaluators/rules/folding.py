"""How words and texts are made alike before they are compared: case, form, white space, what nobody sees.

Look-alikes of other alphabets and digits for letters stay what they are: a list says what it means.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# The first and last letters of scripts written without spaces: Thai to Myanmar, Khmer, Kana, Han.
UNSPACED: Final = (
    (0x0E00, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
# Controls, format characters (Unicode's Cf, without Arabic signs that are seen), variation selectors, fillers.
HIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
# Marks that stack on any letter; those of scripts that need them (Arabic, Hebrew, Indic, Thai) stay. Of an accent that
# makes a letter of its own, as in é, nothing is left of the mark by then.
MARKS: Final = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
SPACE: Final = re.compile(r"\s{2,}|[^\S ]")  # not a single space, which most of a text's are


def normal(text: str) -> str:
    """NFKC, case folded, and NFKC again since folding can take a text out of that form; white space is one space."""
    text = HIDDEN.sub("", text)
    if text.isascii():
        return SPACE.sub(" ", text.lower())
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # Hidden ones once more: folding makes some of others, the filler of half-width Hangul for one.
    return SPACE.sub(" ", MARKS.sub("", HIDDEN.sub("", text)))


def joins(letter: str) -> bool:
    """Whether a letter makes one word with such a letter beside it. Marks do: they belong to the letter before them."""
    if not letter or any(first <= ord(letter) <= last for first, last in UNSPACED):
        return False
    return letter == "_" or unicodedata.category(letter)[0] in "LNM"
