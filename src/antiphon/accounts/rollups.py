"""Sums of entries by hour and by day, so that a year of usage is read from hundreds of rows and not from millions.

A row is named by grain ("hour" or "day"), dimension (what is told apart), scope ("" for all keys, or one key), the
start of the hour or day, and the name inside the dimension: the model, tag, team or upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from operator import add
from typing import Any, Final, NamedTuple

from antiphon.accounts.entry import TURN, LedgerEntry

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


class RollupKey(NamedTuple):
    grain: str
    dimension: str
    scope: str
    start: int
    name: str


class Group(NamedTuple):
    """Entries that count in the same rows."""

    hour: int
    key: str
    model: str | None
    upstream: str | None
    team: str | None
    tags: tuple[str, ...]

    @property
    def names(self) -> Iterator[tuple[str, str]]:
        """(dimension, name)"""
        for dimension, name in (("model", self.model), ("upstream", self.upstream), ("team", self.team)):
            if name:
                yield dimension, name
        for tag in dict.fromkeys(self.tags):
            yield "tag", tag


def days(entries: Iterable[LedgerEntry]) -> list[int]:
    """The starts of the days that they fall on."""
    return sorted({floor(entry.time, DAY) for entry in entries})


def floor(time: int, size: int) -> int:
    return time - time % size


def sum_up(entries: Iterable[LedgerEntry], known: Mapping[Named, Set[str]]) -> list[tuple[RollupKey, Sums]]:
    """What the entries add to the rollups, sorted by key so that two writers lock rows in the same order.

    `known`: the names that each day has already. Beyond MOST_NAMES a new one counts as `(other)`.
    """
    names: dict[Named, set[str]] = {}
    sums: dict[RollupKey, list[int]] = {}
    for group, measures in _groups(entries).items():
        for key in _rows(group, names, known):
            _add(sums, key, measures)
    return [(key, tuple(sums[key])) for key in sorted(sums)]


def _groups(entries: Iterable[LedgerEntry]) -> dict[Group, list[int]]:
    groups: dict[Group, list[int]] = {}
    for entry in entries:
        model = entry.model or entry.model_asked
        hour = entry.time - entry.time % HOUR
        _add(groups, Group(hour, entry.key or NO_KEY, model, entry.upstream, entry.team, entry.tags), _measures(entry))
    return groups


def _rows(group: Group, names: dict[Named, set[str]], known: Mapping[Named, Set[str]]) -> Iterator[RollupKey]:
    hour, key = group.hour, group.key
    day = floor(hour, DAY)
    for scope in ("", key):
        yield RollupKey("hour", "all", scope, hour, "")
        yield RollupKey("day", "all", scope, day, "")
    for dimension, given in group.names:
        have = names.get((day, dimension))
        if have is None:
            have = names[day, dimension] = set(known.get((day, dimension), ()))
        name = _bounded(given, have)
        yield RollupKey("hour", dimension, "", hour, name)
        yield RollupKey("day", dimension, "", day, name)
        if dimension in BY_KEY:
            yield RollupKey("day", dimension, key, day, name)


def _bounded(name: str, names: set[str]) -> str:
    if name not in names:
        if len(names) >= MOST_NAMES:
            return OTHER
        names.add(name)
    return name


def _add(sums: dict[Any, list[int]], key: object, measures: Iterable[int]) -> None:
    have = sums.get(key)
    sums[key] = list(measures) if have is None else [*map(add, have, measures)]


def _measures(entry: LedgerEntry) -> Sums:
    is_turn = entry.kind == TURN
    return (
        int(is_turn),
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
