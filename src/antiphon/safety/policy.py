"""Rules over verdicts: what a client is told of a finding, and what is blocked for it [severity-ladder].

A policy is resolved once, when settings are read: presets, sides and categories become one Side each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from antiphon.safety.verdict import (
    CATEGORIES,
    CLEAN,
    FAILED,
    FAILURES,
    TOO_LONG,
    TOO_SLOW,
    UNSUPPORTED_LANGUAGE,
    Severity,
    Stage,
    Verdict,
)

Results = dict[str, Any]  # `content_filter_results`

CHARACTERS_PER_TOKEN: Final = 4  # of a window's size: in English, about
WORDS: Final = tuple(severity.name.lower() for severity in Severity)
JAILBREAK: Final = "jailbreak"
PROTECTED_CODE: Final = "protected_material_code"
PROTECTED_TEXT: Final = "protected_material_text"
LISTS: Final = "custom_blocklists"  # Azure's name for it
DETECTIONS: Final[Mapping[Stage, tuple[str, ...]]] = MappingProxyType(
    {Stage.PROMPT: (JAILBREAK,), Stage.ANSWER: (PROTECTED_CODE, PROTECTED_TEXT)}
)
# What is told of an error: code and message.
ERRORS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        FAILED: (FAILED, "The contents are not filtered"),  # Azure's words
        TOO_LONG: (FAILED, "The contents are too long to be filtered"),
        TOO_SLOW: (FAILED, "The contents are not filtered: they are long, and there was no time"),
        UNSUPPORTED_LANGUAGE: (UNSUPPORTED_LANGUAGE, "The contents are in a language that is not evaluated"),
    }
)


class Mode(Enum):
    FILTER = "filter"
    ANNOTATE = "annotate"
    OFF = "off"


class Annotations(Enum):
    """What a stream is told outside of skytells, where every delta has its own."""

    NONE = "none"
    CHANGES = "changes"  # the first chunk, the finish chunk, and deltas whose finding differs from the last one told
    EVERY = "every"  # every delta

    def __bool__(self) -> bool:
        return self is not Annotations.NONE


@dataclass(frozen=True, slots=True)
class Grade:
    """What becomes of one category. `threshold` None: it is off."""

    threshold: Severity | None = Severity.MEDIUM
    mode: Mode = Mode.FILTER

    @property
    def blocks(self) -> bool:
        """There is a severity for which it blocks."""
        return self.mode is Mode.FILTER and self.threshold is not None

    def filters(self, severity: Severity) -> bool:
        return (
            self.mode is Mode.FILTER
            and self.threshold is not None
            and severity is not Severity.SAFE
            and severity >= self.threshold
        )


@dataclass(frozen=True, slots=True)
class Decision:
    results: Results
    blocked: bool
    unjudged: str | None = None  # the failure to judge that it is blocked for, where nothing else blocks it


@dataclass(frozen=True, slots=True)
class Side:
    """The rules for prompts, or for answers."""

    stage: Stage
    grades: tuple[Grade, ...] = (Grade(),) * len(CATEGORIES)  # in the order of CATEGORIES
    detections: Mapping[str, Mode] = field(default_factory=dict)  # absent: annotate
    lists: Mapping[str, Mode] = field(default_factory=dict)  # by the list's name; absent: filter
    closed: bool = False  # what could not be judged is blocked
    refuses_long: bool | None = None  # what is too long to be judged is blocked; None: where a finding can block
    filters: bool = field(init=False, compare=False)  # a finding can block
    blocks: bool = field(init=False, compare=False)  # a finding or a failure can block
    clean: Decision = field(init=False, compare=False)  # where nothing was found: nearly always

    def __post_init__(self) -> None:
        modes = [*(self.detections.get(name) for name in DETECTIONS[self.stage]), *self.lists.values()]
        filters = Mode.FILTER in modes or any(grade.blocks for grade in self.grades)
        object.__setattr__(self, "filters", filters)
        object.__setattr__(self, "blocks", filters or self.closed or bool(self.refuses_long))
        object.__setattr__(self, "clean", self._decide(CLEAN))

    def tightened(self) -> Side:
        """Blocks at least medium severity, as a client may ask for [moderation-parameter]. It cannot loosen."""
        grades = [Grade(min(grade.threshold or Severity.MEDIUM, Severity.MEDIUM)) for grade in self.grades]
        return replace(self, grades=tuple(grades))

    def decide(self, verdict: Verdict) -> Decision:
        """What is told of a finding, and whether it blocks. Do not edit the results: they may be told twice."""
        return self.clean if verdict is CLEAN or verdict.is_clean else self._decide(verdict)

    def _decide(self, verdict: Verdict) -> Decision:
        results: Results = {}
        blocked = False
        for name, grade, severity in zip(CATEGORIES, self.grades, verdict.severities or (), strict=False):
            if grade.threshold is not None:
                filtered = grade.filters(severity)
                results[name] = {"filtered": filtered, "severity": WORDS[severity]}
                blocked |= filtered
        for name in DETECTIONS[self.stage]:
            mode = self.detections.get(name, Mode.ANNOTATE)
            if mode is not Mode.OFF:
                results[name] = self._detection(name, verdict, mode)
                blocked |= results[name]["filtered"]
        if verdict.lists:
            results[LISTS] = self._lists(verdict.lists)
            blocked |= results[LISTS]["filtered"]
        error = verdict.error
        if error is None and verdict.severities is None and any(grade.threshold is not None for grade in self.grades):
            error = FAILED  # whoever judges has no word on them: "safe" would be made up
        if error is not None:
            code, message = ERRORS[error]
            results["error"] = {"code": code, "message": message}
        unjudged = verdict.error if not blocked and self._refuses(verdict.error) else None
        return Decision(results, blocked or unjudged is not None, unjudged)

    def _refuses(self, error: str | None) -> bool:
        """Whether what could not be judged for this error is blocked. A sender chooses the length of a text: who can be
        blocked must not escape by it."""
        if error in (TOO_LONG, TOO_SLOW):
            return self.closed or (self.filters if self.refuses_long is None else self.refuses_long)
        return self.closed and error in FAILURES

    def _detection(self, name: str, verdict: Verdict, mode: Mode) -> Results:
        detected = {
            JAILBREAK: verdict.jailbreak,
            PROTECTED_CODE: verdict.protected_code,
            PROTECTED_TEXT: verdict.protected_text,
        }[name]
        found: Results = {"detected": bool(detected), "filtered": bool(detected) and mode is Mode.FILTER}
        if name == PROTECTED_CODE and detected and verdict.citation is not None:
            found["citation"] = {"URL": verdict.citation.url, "license": verdict.citation.license}
        return found

    def _lists(self, names: tuple[str, ...]) -> Results:
        details = [{"id": name, "filtered": self.lists.get(name, Mode.FILTER) is Mode.FILTER} for name in names]
        return {"filtered": any(detail["filtered"] for detail in details), "details": details}


@dataclass(frozen=True, slots=True)
class HoldPolicy:
    """How a stream is held back: the size of a window, and how often time asks for a look at it."""

    tokens: int = 64
    ms: int = 500
    adaptive: bool = False  # text leaves early while nothing hints at a harmful sentence

    @property
    def characters(self) -> int:
        """The longest window."""
        return self.tokens * CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """One of those that the settings make; two are the same only if they are one."""

    prompt: Side
    answer: Side
    annotations: Annotations = Annotations.CHANGES
    races: bool = False  # the upstream is asked before the prompt's verdict is there
    asynchronous: bool = False  # text leaves at once, its verdict later
    hold: HoldPolicy = HoldPolicy()
    block_status: int = 400  # of a blocked prompt
    judge_tools: bool = False  # what tools and schemas say of themselves is judged as part of the prompt
    max_text: int | None = None  # characters of a prompt that are judged; of a longer one nothing is
