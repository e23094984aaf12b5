"""From logits to what people read: a severity by three cut points, and a score from 0 to 1 that says the same.

The score is .2 at the cut to low, .5 at the cut to medium (what the default policy filters) and .8 at the cut to high,
linear between, and runs out exponentially on both sides, so it rises wherever the logit rises.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from antiphon.safety.verdict import CATEGORIES, Severity, Stage

_LOW, _MEDIUM, _HIGH = 0.2, 0.5, 0.8
FEW: Final = 6  # windows that are no crowd yet: about 4,000 characters
_TAIL: Final = 1.5  # how many logits a tail takes to fall to 1/e


@dataclass(frozen=True, slots=True)
class Cuts:
    """Logits at which low, medium and high begin."""

    low: float
    medium: float
    high: float

    def score(self, logit: float) -> float:
        if logit < self.low:
            return _LOW * math.exp(max(logit - self.low, -700.0) / _TAIL)
        if logit < self.medium:
            return _LOW + (_MEDIUM - _LOW) * (logit - self.low) / (self.medium - self.low)
        if logit < self.high:
            return _MEDIUM + (_HIGH - _MEDIUM) * (logit - self.medium) / (self.high - self.medium)
        return 1.0 - (1.0 - _HIGH) * math.exp((self.high - logit) / _TAIL)

    def severity(self, logit: float) -> Severity:
        return Severity((logit >= self.low) + (logit >= self.medium) + (logit >= self.high))


@dataclass(frozen=True, slots=True)
class Brief:
    """A text of few tokens says too little: its cuts lie higher, and *low* begins only shortly before medium."""

    tokens: int  # up to which that is so; at twice as many the cuts are where they are for all texts
    gap: float  # logits between low and medium
    rise: float  # logits by which medium and high lie higher

    def __call__(self, cuts: Cuts, tokens: int) -> Cuts:
        share = min(max(2.0 - tokens / self.tokens, 0.0), 1.0)
        if not share:
            return cuts
        medium = cuts.medium + share * self.rise
        low = cuts.low + share * max(cuts.medium + self.rise - self.gap - cuts.low, 0.0)
        return Cuts(low, medium, cuts.high + share * self.rise)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was chosen on development sets (training/calibrate.py)."""

    cuts: Mapping[Stage, Sequence[Cuts]]  # for each label of the networks
    heads: Mapping[str, Mapping[str, Any]]  # of hate, for each language: bias, n-gram lengths, cuts
    self_harm: Mapping[str, Mapping[str, Any]]  # the same of self-harm, for the languages that have such a head
    sure: Sequence[float]  # logits of the small network under which a window is benign, for each label
    crowd: float  # by how much the bar rises with the logarithm of the number of windows, from FEW on
    most: float  # and by how much at most: a clear threat must not vanish in a long text
    jailbreak_crowd: float  # the same for jailbreaks, without a limit: long lists of names are easily taken for orders
    brief: Brief

    @classmethod
    def load(cls, path: Path) -> Calibration:
        stored = json.loads(path.read_text(encoding="utf-8"))
        cuts = {stage: [Cuts(*row) for row in stored["cuts"][stage.value]] for stage in Stage}
        return cls(
            cuts,
            stored["heads"],
            stored["self_harm"],
            stored["sure"],
            stored["crowd"],
            stored["most"],
            stored["jailbreak_crowd"],
            Brief(**stored["brief"]),
        )

    def at(self, stage: Stage, tokens: int) -> list[Cuts]:
        """The cuts for a text of so many tokens. Of brief ones only hate is suspected without cause."""
        hate, *others = self.cuts[stage]
        return [self.brief(hate, tokens), *others]

    def bar(self, windows: int) -> list[float]:
        """For each label: what so many windows would reach by chance."""
        harm = min(self.crowd * math.log(max(windows / FEW, 1.0)), self.most)
        return [harm] * len(CATEGORIES) + [self.jailbreak_crowd * math.log(windows)]

    def hate_cuts(self, language: str) -> Cuts:
        return Cuts(*self.heads[language]["cuts"])

    def self_harm_cuts(self, language: str) -> Cuts:
        return Cuts(*self.self_harm[language]["cuts"])
