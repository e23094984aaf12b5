"""What a worker asks the evaluator process, and what of it was answered before.

A text is known by a keyed hash: Python's own (SipHash) behind a secret that is drawn for each topic, so that nobody can
look for two texts that share one; by chance one in 10^15 does. A digest takes ten times as long.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from antiphon.chat.together import Frame, Join
from antiphon.safety.verdict import NOTHING, Stage, Verdict

LONGEST: Final = 40_000  # characters of a text that is remembered (20 us to hash); a longer one is sent again
NO_KEY: Final = 0


class Unknown(NamedTuple):
    """Of some texts those that must be asked about, with their keys, and the verdict on the others."""

    texts: list[str]
    keys: list[int]
    known: Verdict


class Known:
    """Verdicts on what was judged last, `most` of them at most: those of this half, and of the half before it."""

    __slots__ = ("_half", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._new: dict[int, Verdict] = {}
        self._old: dict[int, Verdict] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def find(self, key: int) -> Verdict | None:
        found = self._new.get(key)
        if found is None:
            found = self._old.pop(key, None)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: int, verdict: Verdict) -> None:
        if key == NO_KEY:
            return
        if len(self._new) >= self._half:
            self._old, self._new = self._new, {}
        self._new[key] = verdict


class Topic:
    """By whom texts are judged, and on which side. The same text under another topic is another question."""

    __slots__ = ("_secret", "parts", "stage")

    def __init__(self, stage: Stage, parts: list[str]) -> None:
        self.stage = stage
        self.parts = parts
        self._secret = secrets.token_urlsafe(24)

    def key(self, text: str) -> int:
        if type(text) is Join:
            return hash((self._secret, *text.parts))
        if type(text) is Frame:
            return hash((self._secret, text)) if len(text) <= LONGEST else NO_KEY
        return hash(self._secret + text) if len(text) <= LONGEST else NO_KEY

    def find(self, texts: Sequence[str], known: Known) -> Unknown:
        """Of `texts` frames stand behind all others, and joins at the end."""
        verdict = NOTHING
        unknown: list[str] = []
        keys: list[int] = []
        for text in texts:
            key = self.key(text)
            found = known.find(key)
            if found is None:
                unknown.append(text)
                keys.append(key)
            else:
                verdict |= found
        return Unknown(unknown, keys, verdict)
