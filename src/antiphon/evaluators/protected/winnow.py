"""Winnowing: of every `window` successive grams (runs of `gram` lexemes) the one with the smallest hash is kept.

Which one that is depends on the window alone, so a copied run keeps what its original kept (Schleimer, Wilkerson and
Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003). A run of gram + window - 1 lexemes
shares one fingerprint with its original; one of gram + 2 * window - 1 lexemes shares two, and two is what we ask for.
In code they must not be neighbours: two grams that share all but one lexeme are hardly more than one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from antiphon.evaluators.protected.lexemes import IndexKind, lexemes

PRIME: Final = (1 << 61) - 1
BASE: Final = 0x1B873593CC9E2D51 % PRIME  # arbitrary; it is part of the index format
KEY_MASK: Final = (1 << 40) - 1  # low bits: the kept hashes are small ones, their high bits say little


@dataclass(frozen=True, slots=True)
class Sieve:
    """How finely a text is sifted."""

    kind: IndexKind
    gram: int
    window: int

    @property
    def apart(self) -> int:
        """How many lexemes two fingerprints must be apart to count as two."""
        return 2 if self.kind is IndexKind.CODE else 1

    @property
    def surely_found(self) -> int:
        """The length in lexemes from which on every copied run shares two fingerprints with its original."""
        return self.gram + 2 * self.window - 2 + self.apart


CODE: Final = Sieve(IndexKind.CODE, gram=24, window=20)  # 64 lexemes
TEXT: Final = Sieve(IndexKind.TEXT, gram=8, window=5)  # 17 words


class Fingerprint(NamedTuple):
    position: int  # of the gram, counted in lexemes from the beginning of the text
    key: int


class Winnower:
    """Lexemes in, fingerprints out; constant work for each lexeme."""

    def __init__(self, sieve: Sieve) -> None:
        self._gram = sieve.gram
        self._window = sieve.window
        self._leaving = pow(BASE, sieve.gram, PRIME)
        self._values = deque([0] * sieve.gram, maxlen=sieve.gram)
        self._hash = 0
        self._seen = 0
        self._hashes: deque[int] = deque(maxlen=sieve.window)
        self._least = PRIME
        self._age = sieve.window  # how many grams ago the least one came; `window`: it has left, or there is none

    def feed(self, words: Iterable[str]) -> list[Fingerprint]:
        kept = []
        for word in words:
            self._roll(crc32(word.encode("utf-8", "surrogatepass")))
            if self._seen < self._gram:
                continue
            self._hashes.append(self._hash)
            if len(self._hashes) == self._window and self._moves():
                kept.append(Fingerprint(self._seen - self._gram - self._age, self._least & KEY_MASK))
        return kept

    def _roll(self, value: int) -> None:
        self._hash = (self._hash * BASE + value - self._values[0] * self._leaving) % PRIME
        self._values.append(value)
        self._seen += 1

    def _moves(self) -> bool:
        """Takes the newest gram into account. True: another gram is the least one now; of equals the latest."""
        self._age += 1
        if self._age >= self._window:
            self._least = min(self._hashes)
            self._age = next(age for age, value in enumerate(reversed(self._hashes)) if value == self._least)
            return True
        if self._hash <= self._least:
            self._least, self._age = self._hash, 0
            return True
        return False


def fingerprints(sieve: Sieve, text: str) -> list[Fingerprint]:
    return Winnower(sieve).feed(lexemes(sieve.kind, text))
