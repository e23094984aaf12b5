"""The rules, who they apply to, what a turn costs, and what is said when one is reached. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

from antiphon.errors import AntiphonError, OverloadError, RequestError
from antiphon.routing.patterns import ModelPatterns, is_pattern

MINUTE: Final = 60_000_000  # microseconds
NOBODY: Final = ""  # the key of a request without one

# How a measure is named in errors, as OpenAI names it: (words, error type).
WORDS: Final = {
    "requests_per_minute": ("requests per min (RPM)", "requests"),
    "input_tokens_per_minute": ("input tokens per min (ITPM)", "tokens"),
    "output_tokens_per_minute": ("output tokens per min (OTPM)", "tokens"),
    "tokens_per_minute": ("tokens per min (TPM)", "tokens"),
    "concurrent": ("concurrent requests", "requests"),
    "day": ("the budget of this day", "insufficient_quota"),
    "month": ("the budget of this month", "insufficient_quota"),
    "total": ("the budget", "insufficient_quota"),
}
MEASURES: Final = tuple(WORDS)
BUDGETS: Final = ("day", "month", "total")


class Cost(NamedTuple):
    """What a turn takes, or may take at most. `money` in micro-units of the currency."""

    input: int = 0
    output: int = 0
    money: int = 0


NOTHING: Final = Cost()
Amounts = tuple[int, int, int]  # as a Cost; costs 0.3 us less to make


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """Who asks. Made once for each key, and anew when the key changes: rows are remembered by its identity."""

    key: str = NOBODY
    team: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()  # the key's own
    name: str = NOBODY  # by which limits may select it besides


@dataclass(frozen=True, slots=True)
class Limit:
    """One rule. A measure that is None has no limit. Every selector that is given must match."""

    name: str
    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None
    day: int | None = None  # budgets, in micro-units
    month: int | None = None
    total: int | None = None
    keys: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()  # names or patterns
    per: tuple[str, ...] = ()  # of "key", "team", "model": each has the limit for itself; none: all share it

    def applies(self, caller: Caller, model: str) -> bool:
        if self.keys and caller.key not in self.keys and caller.name not in self.keys:
            return False
        if caller.team is None and (self.teams or "team" in self.per):
            return False
        if self.teams and caller.team not in self.teams:
            return False
        if any(caller.labels.get(name) != value for name, value in self.labels.items()):
            return False
        return (
            not self.models
            or model in self.models
            or ModelPatterns(filter(is_pattern, self.models)).find(model) is not None
        )

    def subject(self, caller: Caller, model: str) -> str:
        """Whose row it is. Callers with the same subject share the limit."""
        parts = {"key": caller.key, "team": caller.team or "", "model": model}
        return "\0".join([self.name, *(f"{kind}={parts[kind]}" for kind in sorted(self.per))])

    @property
    def has_budget(self) -> bool:
        return self.day is not None or self.month is not None or self.total is not None


class Refused(NamedTuple):
    """Why a turn was not admitted. `error()` says it to the client."""

    measure: str  # of MEASURES, or "busy", "lease", "full", "outage"
    limit: Limit | None = None
    most: int = 0
    used: int = 0  # with what is held
    asked: int = 0
    wait: int | None = None  # microseconds until it may be admitted; None: waiting does not help

    @property
    def may_wait(self) -> bool:
        """It may be admitted yet, in a moment: see Limiter.admit_later."""
        return self.measure in ("busy", "lease")

    @property
    def retry_after(self) -> int | None:
        return None if self.wait is None else max(1, ceil(self.wait / 1_000_000))

    def error(self, model: str) -> AntiphonError:
        if self.limit is None or self.measure not in WORDS:
            words = "The limits of this request cannot be checked right now. Please try again later."
            return OverloadError(words, retry_after=self.retry_after)
        words, type = WORDS[self.measure]
        if self.measure in BUDGETS:
            message = f"You exceeded {words} of limit '{self.limit.name}'. Please check your plan and billing details."
            return RequestError(message, status=429, type=type, code=type)
        where = f"for {model} in limit '{self.limit.name}' on {words}"
        if self.wait is None:
            message = f"Request too large {where}: Limit {self.most}, Requested {self.asked}."
        else:
            message = f"Rate limit reached {where}: Limit {self.most}, Used {self.used}, Requested {self.asked}. "
            message += f"Please try again in {self.retry_after}s."
        return RequestError(message, status=429, type=type, code="rate_limit_exceeded", retry_after=self.retry_after)
