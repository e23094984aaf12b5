"""Which stretches of a text in Latin letters are in which language.

Trigrams (naive Bayes; the table was made by training/languages.py) say for each word how much better it fits another
language than English; the cheapest way through these scores, in which each change of language costs something, cuts the
text into stretches (Viterbi). A stretch is in another language only with proof: function words or letters of its own.
Everything else counts as English: numbers, ids, code, names, invented words. So whatever stands around English words,
they are judged as English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from math import inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from antiphon.evaluators.embedded.function_words import ENGLISH_ALONE, FUNCTION_WORDS, PLAIN, PROOF

ENGLISH: Final = "en"
_ES, _PT = "es", "pt"

WORD: Final = re.compile(r"[^\W\d_]+")
# A word for itself: what is joined to digits is an id.
_FREE_WORD: Final = re.compile(r"(?<![^\W_])[^\W\d_]+(?![^\W_])")
LINK: Final = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+|[@#]\w+")
_SIGN: Final = re.compile(r"\w")
_CODE: Final = re.compile(r"[{}();=<>_\\\[\]|`$#/]")
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
_REMEMBERED: Final = 8192  # words
_BLOCK: Final = 16  # words that are asked together which language they could be in
_MOST: Final = 3  # languages beside English that one text is tried with
_FEW_LETTERS: Final = 12
_FEW_WORDS: Final = 3  # "slave replica" says nothing of its language
_MARGIN: Final = 0.25  # log-likelihood for each trigram by which another language must beat English
_ENTER: Final = 3.0  # by which another language must beat it besides, in a text that begins with it
_CHANGE: Final = 5.5  # what a change of language costs: more than one word can count
_FUNCTION: Final = 1.5  # what a function word counts besides its letters
_LARGEST: Final = 5.0  # what one word counts at most
_PROOF: Final = 8  # one word of so many must be proof

Scores = NDArray[np.float32]


class Stretch(NamedTuple):
    language: str
    text: str


class Word(NamedTuple):
    start: int
    text: str  # in lower case


class Latin:
    """`heads`: languages that are judged besides English."""

    def __init__(
        self, languages: list[str], trigrams: dict[str, int], table: NDArray[np.float32], heads: Sequence[str]
    ) -> None:
        self._languages = languages
        self._trigrams = trigrams
        self._scores = table - table[:, [languages.index(ENGLISH)]] - _MARGIN
        self._heads = frozenset(heads)
        self._scored = lru_cache(_REMEMBERED)(self._score)  # from two threads, which it stands

    def stretches(self, text: str) -> list[Stretch]:
        """In order; together they are the text. Nothing but English: one."""
        blanked = LINK.sub(lambda match: " " * len(match[0]), text)
        words = [Word(match.start(), match[0].lower()) for match in _FREE_WORD.finditer(blanked)]
        candidates = self._candidates(words)
        if not candidates:
            return [Stretch(ENGLISH, text)]
        path = self._path(words, candidates)
        return list(self._cut(text, words, path))

    def _score(self, word: str) -> Scores:
        """For each language how much better a word fits that than English."""
        rows = [self._trigrams[t] for t in trigrams(word) if t in self._trigrams]
        score: Scores = self._scores[rows].sum(axis=0).clip(-_LARGEST, _LARGEST)
        return score + np.array([_known(word, language) for language in self._languages], dtype=np.float32)

    def _candidates(self, words: Sequence[Word]) -> list[str]:
        """Languages that a part of the text may be in, the likeliest first."""
        votes: Counter[str] = Counter()
        for start in range(0, len(words), _BLOCK):
            block = words[start : start + _BLOCK]
            if sum(word.text in ENGLISH_ALONE for word in block) * 6 >= len(block):
                continue
            total = np.add.reduce([self._scored(word.text) for word in block])
            best = int(total.argmax())
            if total[best] > _ENTER:
                votes[self._languages[best]] += 1
        if _ES in votes and _PT in votes:  # one of them, which is decided by its words
            weaker = min(_ES, _PT, key=lambda name: votes[name])
            votes[_PT if weaker == _ES else _ES] += votes.pop(weaker)
        return [name for name, _ in votes.most_common(_MOST)]

    def _path(self, words: Sequence[Word], candidates: Sequence[str]) -> list[str]:
        """The language of each word. English before the first change and after it are two states: to begin in another
        language costs `_ENTER`, and must not be cheaper after one English-looking word."""
        states = (ENGLISH, ENGLISH, *candidates)
        chosen = [self._languages.index(name) for name in candidates]
        columns = np.array([self._scored(word.text) for word in words])[:, chosen].tolist()
        best = [0.0, -inf] + [-_ENTER] * len(candidates)
        came: list[list[int]] = []
        for row in columns:
            top = max(range(len(best)), key=best.__getitem__)
            into = best[top] - _CHANGE - (_ENTER if top == 0 else 0.0)
            step: list[int] = []
            new: list[float] = []
            for state, score in enumerate((0.0, 0.0, *row)):
                stays = state == 0 or best[state] >= into
                step.append(state if stays else top)
                new.append((best[state] if stays else into) + score)
            came.append(step)
            best = new
        state = max(range(len(best)), key=best.__getitem__)
        path: list[str] = []
        for step in reversed(came):
            path.append(states[state])
            state = step[state]
        return path[::-1]

    def _cut(self, text: str, words: Sequence[Word], path: Sequence[str]) -> Iterator[Stretch]:
        groups = [[index for index, _ in group] for _, group in groupby(enumerate(path), key=lambda pair: pair[1])]
        starts = [0] + [words[group[0]].start for group in groups[1:]] + [len(text)]
        for group, start, end in zip(groups, starts, starts[1:], strict=False):
            piece = text[start:end]
            yield Stretch(self._proven(path[group[0]], [words[index].text for index in group], piece), piece)

    def _proven(self, language: str, words: Sequence[str], text: str) -> str:
        """The language of a stretch; English without proof of another."""
        letters = sum(map(len, words))
        if language == ENGLISH or letters < _FEW_LETTERS or len(_CODE.findall(text)) * 14 > len(text):
            return ENGLISH
        if letters * 2 < len(_SIGN.findall(LINK.sub(" ", text))):  # mostly ids and numbers
            return ENGLISH
        if len(words) < _FEW_WORDS and language not in self._heads and text.isascii():
            return ENGLISH
        proof = [word for word in words if word in PROOF[language] or not word.isascii()]
        if len(proof) * _PROOF < len(words) or (len(words) >= _PROOF and len(set(proof)) < 2):
            return ENGLISH
        return _iberian(language, text) if language in (_ES, _PT) else language


def _known(word: str, language: str) -> float:
    """What a word tells besides its letters."""
    if language == ENGLISH:
        return 0.0
    if word in FUNCTION_WORDS[language]:
        return 0.0 if word in PLAIN else _FUNCTION
    return -_FUNCTION if word in PLAIN else 0.0


def _iberian(name: str, text: str) -> str:
    """Spanish or Portuguese by the words that only one of them has; the trigrams' choice if there are as many."""
    spanish, portuguese = len(_SPANISH.findall(text)), len(_PORTUGUESE.findall(text))
    if spanish == portuguese:
        return name
    return _ES if spanish > portuguese else _PT


def trigrams(word: str) -> Iterator[str]:
    padded = f" {word} "
    return (padded[i : i + 3] for i in range(len(padded) - 2))
