"""What an evaluator finds in a text, and how findings are merged: worst wins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import reduce
from typing import Final


class Stage(Enum):
    """On which side of the model a text stands."""

    PROMPT = "prompt"
    ANSWER = "answer"


class Severity(IntEnum):
    SAFE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


CATEGORIES: Final = ("hate", "self_harm", "sexual", "violence")  # the order of `severities` and `scores`
UNSUPPORTED_LANGUAGE: Final = "unsupported_language"
FAILED: Final = "content_filter_error"
# Two failures by the length of a text, which its sender chooses: it is never judged, or was not in time.
TOO_LONG: Final = "too_long"
TOO_SLOW: Final = "too_slow"
FAILURES: Final = frozenset({FAILED, TOO_LONG, TOO_SLOW})

SAFE: Final = (Severity.SAFE,) * len(CATEGORIES)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a piece of protected code comes from."""

    url: str
    license: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One evaluator's finding, or several merged. None: this evaluator does not judge that."""

    severities: tuple[Severity, ...] | None = None  # in the order of CATEGORIES
    scores: tuple[float, ...] | None = None  # 0..1 each, the same order
    jailbreak: bool | None = None
    jailbreak_score: float | None = None
    protected_text: bool | None = None
    protected_code: bool | None = None
    citation: Citation | None = None
    lists: tuple[str, ...] = ()  # names of the rule lists that matched
    error: str | None = None  # one of FAILURES, or UNSUPPORTED_LANGUAGE

    def __or__(self, other: Verdict) -> Verdict:
        """In one frame: a conversation has as many verdicts as messages."""
        if other is NOTHING:
            return self
        if self is NOTHING:
            return other
        one, two = self.severities, other.severities
        scores, more = self.scores, other.scores
        score, larger = self.jailbreak_score, other.jailbreak_score
        return Verdict(
            severities=one if two is None else two if one is None else tuple(map(max, one, two)),
            scores=scores if more is None else more if scores is None else tuple(map(max, scores, more)),
            jailbreak=other.jailbreak if self.jailbreak is None else self.jailbreak or bool(other.jailbreak),
            jailbreak_score=score if larger is None else larger if score is None else max(score, larger),
            protected_text=other.protected_text
            if self.protected_text is None
            else self.protected_text or bool(other.protected_text),
            protected_code=other.protected_code
            if self.protected_code is None
            else self.protected_code or bool(other.protected_code),
            citation=self.citation or other.citation,
            lists=tuple(dict.fromkeys(self.lists + other.lists)) if self.lists or other.lists else (),
            error=self.error
            if other.error is None or other.error == self.error
            else _worse_error(self.error, other.error),
        )

    @property
    def is_clean(self) -> bool:
        """Nothing was found, and the categories were judged."""
        return self.severities == SAFE and not (
            self.error or self.jailbreak or self.lists or self.protected_code or self.protected_text
        )


NOTHING: Final = Verdict()
CLEAN: Final = Verdict(severities=SAFE)
FAILURE: Final = Verdict(error=FAILED)
OVER_LENGTH: Final = Verdict(error=TOO_LONG)
LATE: Final = Verdict(error=TOO_SLOW)

_BY_BADNESS: Final = (TOO_LONG, TOO_SLOW, FAILED, UNSUPPORTED_LANGUAGE)


def worst(verdicts: list[Verdict]) -> Verdict:
    return reduce(Verdict.__or__, verdicts, NOTHING)


def _worse_error(one: str | None, other: str | None) -> str | None:
    """A failure is worse than a language that nobody reads."""
    if one is None or other is None:
        return one or other
    return next((error for error in _BY_BADNESS if error in (one, other)), one)
