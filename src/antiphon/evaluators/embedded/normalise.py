"""Undoes the disguises of a text: odd code points, hidden characters, look-alikes, l33t, s p a c e d letters.

What is returned is what the models read; it is never shown to anyone. Ordinary text comes back unchanged but for NFKC.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from antiphon.evaluators.embedded.segment import cut_into_words

# Marks that stack on Latin letters; those of scripts that need them (Arabic, Hebrew, Indic, Thai) stay.
_MARKS: Final = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_ODD_WORD: Final = re.compile(r"[\w'’-]*[^\W\x00-\x7f][\w'’-]*")
_LATIN: Final = re.compile(r"[a-zA-Z]")
_OTHER_ALPHABETS: Final = re.compile("[\u0370-\u058f]")

# Letters of other alphabets (and of phonetics) that look like Latin ones; after NFKC.
_LOOKS: Final = (
    "аa еe оo рp сc уy хx іi јj ѕs ԁd ԛq ԝw һh ӏl вb кk мm нh тt пn гr зe ьb ъb эe "
    "АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS ԌG ԜW ӀI ГR ЗE "
    "αa βb γy εe ζz ηn ιi κk νv οo ρp σo ςc τt υu χx ωw ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϲc "
    "ɑa ɡg ɩi ıi ɪi ʟl ɴn ʀr ʏy ᴀa ʙb ᴄc ᴅd ᴇe ɢg ʜh ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ƒf øo đd łl ħh ŧt ʋv ꜱs ꞯq "
    "օo ոn սu հh ցg ѡw ḷl"
)
_HOMOGLYPHS: Final = {ord(pair[0]): pair[1] for pair in _LOOKS.split()}
_SQUARED: Final = {base + i: chr(ord("a") + i) for base in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6) for i in range(26)}

_LEET: Final = [str.maketrans("013457@$!|+8", letters) for letters in ("oieastasiltb", "oleastasiltb")]
_LEET_WORD: Final = re.compile(
    r"(?<![\w@$.:/#&=?%-])(?=[^\s]{0,23}[a-zA-Z])(?=[^\s]{0,23}[0-9@$!|+])[a-zA-Z0-9@$!|+]{3,24}(?![\w/@&=%-])"
)
_HIDES: Final = re.compile(r"[013457@$!|+8][a-zA-Z]")
_SPACED: Final = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*·•|/]{1,3}[^\W\d_]){3,200}(?![^\W_])")
_GAP: Final = re.compile(r"\s{2,}")
_SEPARATOR: Final = re.compile(r"[\W_]+")


class Normaliser:
    """Knows the words of the models' vocabulary with their rank: a disguise counts only if a word hides behind it."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._costs = {word: math.log(rank + 2) for word, rank in ranks.items() if word.isascii() and word.isalpha()}

    def __call__(self, text: str) -> str:
        if not text.isascii():
            text = self._code_points(text)
        text = _HIDDEN.sub("", text)
        if _SPACED.search(text):
            text = _SPACED.sub(lambda match: self._joined(match[0]), text)
        return _LEET_WORD.sub(lambda match: self._plain(match[0]), text)

    def _code_points(self, text: str) -> str:
        text = _HIDDEN.sub("", unicodedata.normalize("NFKC", text.translate(_SQUARED)))
        text = _MARKS.sub("", text)
        if text.isascii():
            return text
        mostly_latin = len(_LATIN.findall(text)) * 2 > sum(map(str.isalpha, text))
        return _ODD_WORD.sub(lambda match: self._look_alikes(match[0], mostly_latin), text)

    def _look_alikes(self, word: str, mostly_latin: bool) -> str:
        """Latin, if the whole word can be read so; a word of another script in a text of that script stays."""
        if not mostly_latin and not _LATIN.search(word) and _OTHER_ALPHABETS.search(word):
            return word
        read = word.translate(_HOMOGLYPHS)
        return read if read.isascii() else word

    def _plain(self, word: str) -> str:
        """k1ll → kill; python3, b2b and 10am stay, since no longer word hides in them."""
        bare = word.rstrip("!|+")
        shortest = 4 if bare[:1].isdigit() else 3
        if not _HIDES.search(bare) or sum(map(str.isalpha, bare)) * 2 < len(bare):
            return word
        for table in _LEET:
            read = bare.lower().translate(table)
            if len(read) >= shortest and read in self._costs:
                return read + word[len(bare) :]
        return word

    def _joined(self, letters: str) -> str:
        """l e t t e r s; words are set apart by wider gaps, or found again in the run of letters."""
        pieces = _GAP.split(letters)
        if len(pieces) > 1:
            return " ".join(_SEPARATOR.sub("", piece) for piece in pieces)
        run = _SEPARATOR.sub("", letters)
        return cut_into_words(run.lower(), self._costs) if run.isascii() and not run.isdigit() else letters
