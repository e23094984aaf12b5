"""Sums of entries by hour and by day, so that a year of usage is read from hundreds of rows and not from millions.

A row is named by grain ("hour" or "day"), dimension (what the sum is grouped by), scope ("" for all keys, or one key),
the start of the hour or day, and the name inside the dimension: the model, tag, team or upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from operator import add
from typing import Any, Final, NamedTuple

from antiphon.accounts.entry import SUMMARY, TURN, LedgerEntry

HOUR: Final = 3_600_000_000
DAY: Final = 24 * HOUR
MEASURES: Final = (
    *("turns", "errors", "blocked", "estimated", "input_tokens", "cached_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens", "price", "duration"),
)
DIMENSIONS: Final = ("all", "model", "tag", "team", "upstream")
BY_KEY: Final = ("model", "tag")  # dimensions that are also kept for each key, by day
MOST_NAMES: Final = 1000  # of one dimension and day: clients choose models and tags, and could choose without end
OTHER: Final = "(other)"
NO_KEY: Final = "(no key)"

Sums = tuple[int, ...]  # in the order of MEASURES
Named = tuple[int, str]  # a day and a dimension
Row = tuple[str, str, int, str]  # dimension, scope, start, name


class RollupKey(NamedTuple):
    grain: str
    dimension: str
    scope: str
    start: int
    name: str


def days(entries: Iterable[LedgerEntry]) -> list[int]:
    """The starts of the days that they fall on."""
    return sorted({floor(entry.time, DAY) for entry in entries})


def floor(time: int, size: int) -> int:
    return time - time % size


def sum_up(entries: Iterable[LedgerEntry], known: Mapping[Named, Set[str]]) -> list[tuple[RollupKey, Sums]]:
    """What the entries add to the rollups, sorted by key so that two writers lock rows in the same order.

    `known`: the names that each day has already. Beyond MOST_NAMES a new one counts as `(other)`.
    """
    hours, days = _first_sums(entries)
    names: dict[Named, set[str]] = {}
    sums: dict[RollupKey, list[int]] = {}
    for (dimension, scope, start, given), measures in hours.items():
        day = floor(start, DAY)
        name = _bounded(given, dimension, day, names, known)
        _add(sums, RollupKey("hour", dimension, scope, start, name), measures)
        _add(sums, RollupKey("day", dimension, scope, day, name), measures)
    for (dimension, scope, start, given), measures in days.items():
        name = _bounded(given, dimension, start, names, known)
        _add(sums, RollupKey("day", dimension, scope, start, name), measures)
    return [(key, tuple(sums[key])) for key in sorted(sums)]


def _first_sums(entries: Iterable[LedgerEntry]) -> tuple[dict[Row, list[int]], dict[Row, list[int]]]:
    """By hour what is kept by hour and day, and by day what is kept by day alone."""
    hours: dict[Row, list[int]] = {}
    days: dict[Row, list[int]] = {}
    for entry in entries:
        measures = _measures(entry)
        hour, day, key = floor(entry.time, HOUR), floor(entry.time, DAY), entry.key or NO_KEY
        _add(hours, ("all", "", hour, ""), measures)
        _add(hours, ("all", key, hour, ""), measures)
        for dimension, name in _names(entry):
            _add(hours, (dimension, "", hour, name), measures)
            if dimension in BY_KEY:
                _add(days, (dimension, key, day, name), measures)
    return hours, days


def _names(entry: LedgerEntry) -> list[tuple[str, str]]:
    """(dimension, name)"""
    named = (("model", entry.model or entry.model_asked), ("upstream", entry.upstream), ("team", entry.team))
    return [
        *((dimension, name) for dimension, name in named if name),
        *(("tag", tag) for tag in dict.fromkeys(entry.tags)),
    ]


def _bounded(name: str, dimension: str, day: int, names: dict[Named, set[str]], known: Mapping[Named, Set[str]]) -> str:
    if dimension == "all":
        return name
    have = names.get((day, dimension))
    if have is None:
        have = names[day, dimension] = set(known.get((day, dimension), ()))
    if name not in have:
        if len(have) >= MOST_NAMES:
            return OTHER
        have.add(name)
    return name


def _add(sums: dict[Any, list[int]], key: object, measures: Iterable[int]) -> None:
    have = sums.get(key)
    sums[key] = list(measures) if have is None else [*map(add, have, measures)]


def _measures(entry: LedgerEntry) -> Sums:
    is_turn = entry.kind == TURN
    return (
        entry.attempts if entry.kind == SUMMARY else int(is_turn),
        int(is_turn and entry.status >= 400),
        int(is_turn and entry.blocked is not None),
        int(is_turn and entry.usage == "estimated"),
        entry.input_tokens,
        entry.cached_tokens,
        entry.cache_write_tokens,
        entry.output_tokens,
        entry.reasoning_tokens,
        entry.price,
        entry.duration,
    )
