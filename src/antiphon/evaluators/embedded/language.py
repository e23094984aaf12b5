"""Which parts of a text are in a language that is judged here.

Scripts are told apart by their code points, languages in Latin letters by trigrams (naive Bayes; the table was made by
training/languages.py). Doubt counts for English: code, names, numbers and short texts belong there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

ENGLISH: Final = "en"
CHINESE: Final = "zh"
_ES, _PT = "es", "pt"
HEADS: Final = ("zh", _PT, "de")

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_KANA: Final = re.compile("[\u3040-\u30ff\u31f0-\u31ff]")
_CHINESE: Final = re.compile(f"[{_HAN}]")
_WRITTEN_CHINESE: Final = re.compile(f"[{_HAN}][{_HAN}\\s\\d，。！？、：；“”‘’（）《》…,.!?~～]*")
# Letters of scripts that nothing here reads: Greek to Ethiopic, Kana, Hangul and what lies between.
_FOREIGN: Final = re.compile("[\u0370-\u1aff\u1b00-\u1cff\u2c00-\u2dff\u3040-\u318f\ua4d0-\ua71f\ua800-\ud7ff]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_CODE: Final = re.compile(r"[{}();=<>_\\\[\]|`$#/]")
_LINK: Final = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+|[@#]\w+")
# The words of English that carry no matter.
_PLAIN_WORDS: Final = (
    "the of and to is in that it for you with on this what how my are be was as not have your can at do i we they from "
    "his her if would should about there which their when who will me he she him them been has had or an by all no"
)
_PLAIN: Final = frozenset(_PLAIN_WORDS.split())
# Spanish and Portuguese share their trigrams, but not these words and letters.
_SPANISH: Final = re.compile(
    r"\b(?:y|el|los|las|una|del|con|pero|muy|voy|estoy|estás|yo|mi|su|sus|es|hay|hoy|noche|muchos?|muchas?|bueno|"
    r"eres|soy|tengo|tienes?|quiero|puedo|puedes|hacer|todos|ellos|ellas|nosotros|usted|ustedes|cómo|qué|son|fue|"
    r"más|también|siempre|mujer|mujeres|hombres?|hijo|ll\w+)\b|[ñ¿¡]|\w(?:ción|ciones|dad)\b",
    re.I,
)
_PORTUGUESE: Final = re.compile(
    r"\b(?:e|o|os|um|uma|do|da|dos|das|na|nas|em|com|mas|não|nao|você|vocês|vc|vcs|é|ao|pelo|pela|isso|isto|meu|minha|"
    r"seu|teu|sua|eu|muito|muita|vou|estou|sou|tem|tenho|quero|posso|ele|ela|eles|elas|mais|sempre|pra|pro|só|"
    r"são|foi|fazer|mulher|mulheres|homem|homens|hoje|noite|bom|boa|até|já|lá|aí|q|n|mano|cara|porra)\b|"
    r"[ãõçêô]|\w(?:ção|ções|dade|lh\w+|nh\w+|ei)\b",
    re.I,
)
_CHUNK: Final = 320  # characters that are given one language
_FEW_LETTERS: Final = 12
_FEW_WORDS: Final = 3  # "slave replica" says nothing of its language
_MARGIN: Final = 0.25  # log-likelihood per trigram by which another language must beat English
_DOUBT: Final = 3.0  # shared by the trigrams of a text: few of them must agree more clearly


@dataclass(frozen=True, slots=True)
class Parts:
    """A text by language; `unread` if some of it is in a language that nothing here reads."""

    texts: dict[str, str]
    unread: bool


class Gate:
    def __init__(self, languages: list[str], trigrams: dict[str, int], table: NDArray[np.float32]) -> None:
        self._languages = languages
        self._trigrams = trigrams
        self._table = table
        self._english = languages.index(ENGLISH)

    @classmethod
    def load(cls, path: Path) -> Gate:
        with np.load(path) as stored:
            names = str(stored["languages"]).split()
            trigrams = {key: index for index, key in enumerate(str(stored["trigrams"]).split("|"))}
            table = stored["table"].astype(np.float32) * float(stored["scale"])
        return cls(names, trigrams, table)

    def split(self, text: str) -> Parts:
        parts: dict[str, list[str]] = {}
        unread = False
        if not text.isascii():
            text, chinese, unread = _other_scripts(text)
            if chinese:
                parts[CHINESE] = [chinese]
            if (chinese or unread) and len(_LETTER.findall(text)) < _FEW_LETTERS:
                return Parts({name: " ".join(texts) for name, texts in parts.items()}, unread)
        for chunk in _chunks(text):
            name = self.tell(chunk)
            if name == ENGLISH or name in HEADS:
                parts.setdefault(name, []).append(chunk)
            else:
                unread = True
        return Parts({name: " ".join(texts) for name, texts in parts.items()}, unread)

    def tell(self, text: str) -> str:
        """The language of a text in Latin letters."""
        words = _WORD.findall(_LINK.sub(" ", text).lower())
        letters = sum(map(len, words))
        if letters < _FEW_LETTERS or len(_CODE.findall(text)) * 14 > len(text):
            return ENGLISH
        plain = sum(word in _PLAIN for word in words)
        if plain >= 3 and plain * 6 >= len(words):
            return ENGLISH
        known = [self._trigrams[t] for w in words for t in _trigrams(w) if t in self._trigrams]
        if len(known) < _FEW_LETTERS // 2:
            return ENGLISH
        fit = self._table[known].mean(axis=0)
        best = int(fit.argmax())
        if fit[best] - fit[self._english] <= _MARGIN + _DOUBT / len(known):
            return ENGLISH
        name = self._languages[best]
        if name in (_ES, _PT):
            return _iberian(name, text)
        return ENGLISH if len(words) < _FEW_WORDS and name not in HEADS and text.isascii() else name


def _iberian(name: str, text: str) -> str:
    """Spanish or Portuguese by the words that only one of them has; the trigrams' choice if there are as many."""
    spanish, portuguese = len(_SPANISH.findall(text)), len(_PORTUGUESE.findall(text))
    if spanish == portuguese:
        return name
    return _ES if spanish > portuguese else _PT


def _trigrams(word: str) -> Iterator[str]:
    padded = f" {word} "
    return (padded[i : i + 3] for i in range(len(padded) - 2))


def _chunks(text: str) -> Iterator[str]:
    """Pieces of about one paragraph, cut at white space."""
    while len(text) > _CHUNK:
        cut = text.rfind("\n", _CHUNK // 2, _CHUNK)
        cut = cut if cut > 0 else text.rfind(" ", _CHUNK // 2, _CHUNK)
        cut = cut if cut > 0 else _CHUNK
        yield text[:cut]
        text = text[cut:]
    yield text


def _other_scripts(text: str) -> tuple[str, str, bool]:
    """What remains in Latin letters, what is Chinese, and whether there is something that nothing here reads."""
    unread = len(_KANA.findall(text)) >= 3
    chinese = "" if unread else " ".join(_WRITTEN_CHINESE.findall(text))
    foreign = _FOREIGN.findall(text)
    unread = unread or sum(map(len, foreign)) >= 4
    if foreign:
        text = _FOREIGN.sub(" ", text)
    if _CHINESE.search(text):
        text = _WRITTEN_CHINESE.sub(" ", text)
    return text, chinese if len(_CHINESE.findall(chinese)) >= 2 else "", unread
