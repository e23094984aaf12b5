"""Which parts of a text are in a language that is judged here.

Scripts are told apart by their code points, languages in Latin letters by `latin`. Doubt counts for English. Whatever
else a text holds, the part that can be judged is judged; `unread` is said of a text in which a good part cannot be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from antiphon.evaluators.embedded.latin import ENGLISH, Latin

CHINESE: Final = "zh"
HEADS: Final = ("zh", "pt", "de")

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_KANA: Final = re.compile("[\u3040-\u30ff\u31f0-\u31ff]")
_CHINESE: Final = re.compile(f"[{_HAN}]")
_WRITTEN_CHINESE: Final = re.compile(f"[{_HAN}][{_HAN}\\s\\d，。！？、：；“”‘’（）《》…,.!?~～]*")
_SENTENCE: Final = re.compile(r"[^。！？!?\n]+[。！？!?\n]*")
# Letters of scripts that nothing here reads: Greek to Ethiopic, Kana, Hangul and what lies between.
_FOREIGN: Final = re.compile("[\u0370-\u1aff\u1b00-\u1cff\u2c00-\u2dff\u3040-\u318f\ua4d0-\ua71f\ua800-\ud7ff]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_FEW_KANA: Final = 3
_FEW_FOREIGN: Final = 4  # letters of other scripts that say nothing: a name, a sign
_MUCH: Final = 60  # letters that are much by themselves: a sentence
_SHARE: Final = 4  # or one letter of so many


@dataclass(frozen=True, slots=True)
class Parts:
    """A text by language; `unread` if a good part of it is in a language that nothing here reads."""

    texts: dict[str, str]
    unread: bool


class LanguageGate:
    def __init__(self, latin: Latin) -> None:
        self._latin = latin

    @classmethod
    def load(cls, path: Path) -> LanguageGate:
        with np.load(path) as stored:
            names = str(stored["languages"]).split()
            trigrams = {key: index for index, key in enumerate(str(stored["trigrams"]).split("|"))}
            table = stored["table"].astype(np.float32) * float(stored["scale"])
        return cls(Latin(names, trigrams, table, HEADS))

    def split(self, text: str) -> Parts:
        parts: dict[str, list[str]] = {}
        unread = 0  # letters
        other = False  # there are other scripts
        if not text.isascii():
            text, chinese, unread = _other_scripts(text)
            other = bool(chinese or unread)
            if chinese:
                parts[CHINESE] = [chinese]
        if other and not _LETTER.search(text):
            return _parts(parts, unread)
        for name, piece in self._latin.stretches(text):
            if name == ENGLISH or name in HEADS:
                parts.setdefault(name, []).append(piece)
            else:
                unread += len(_LETTER.findall(piece))
        return _parts(parts, unread)


def _parts(found: dict[str, list[str]], unread: int) -> Parts:
    texts = {name: " ".join(pieces) for name, pieces in found.items()}
    if not unread or unread >= _MUCH:
        return Parts(texts, bool(unread))
    read = sum(len(_LETTER.findall(text)) for text in texts.values())
    return Parts(texts, unread * _SHARE >= unread + read)


def _other_scripts(text: str) -> tuple[str, str, int]:
    """What remains in Latin letters, what is Chinese, and how many letters there are that nothing here reads."""
    unread = 0
    if _KANA.search(text):
        sentences = _SENTENCE.findall(text)
        japanese = [sentence for sentence in sentences if _is_japanese(sentence)]
        unread = sum(len(_CHINESE.findall(sentence)) for sentence in japanese)
        written = "\n".join(sentence for sentence in sentences if not _is_japanese(sentence))
    else:
        written = text
    chinese = " ".join(_WRITTEN_CHINESE.findall(written))
    foreign = sum(map(len, _FOREIGN.findall(text)))
    if foreign:
        text = _FOREIGN.sub(" ", text)
    if _CHINESE.search(text):
        text = _WRITTEN_CHINESE.sub(" ", text)
    unread += foreign
    return text, chinese if len(_CHINESE.findall(chinese)) >= 2 else "", unread if unread >= _FEW_FOREIGN else 0


def _is_japanese(sentence: str) -> bool:
    kana = len(_KANA.findall(sentence))
    return kana >= _FEW_KANA and kana * 5 >= len(_CHINESE.findall(sentence))
