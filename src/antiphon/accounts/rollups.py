"""Sums of entries by hour and by day, so that a year of usage is read from hundreds of rows and not from millions.

A row is named by grain ("hour" or "day"), dimension (what is told apart), scope ("" for all keys, or one key), the
start of the hour or day, and the name inside the dimension: the model, tag, team, key or upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple

from antiphon.accounts.entry import TURN, LedgerEntry

HOUR: Final = 3_600_000_000
DAY: Final = 24 * HOUR
GRAINS: Final = {"hour": HOUR, "day": DAY}
MEASURES: Final = (
    *("turns", "errors", "blocked", "estimated", "input_tokens", "cached_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens", "price", "duration"),
)
DIMENSIONS: Final = ("all", "key", "model", "tag", "team", "upstream")
MOST_NAMES: Final = 1000  # of one dimension and day: clients choose models and tags, and could choose without end
OTHER: Final = "(other)"
NO_KEY: Final = "(no key)"

Sums = tuple[int, ...]  # in the order of MEASURES


class RollupKey(NamedTuple):
    grain: str
    dimension: str
    scope: str
    start: int
    name: str


Named = tuple[int, str]  # a day and a dimension


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
    for entry in entries:
        measures = _measures(entry)
        day = floor(entry.time, DAY)
        for dimension, scope, name in _places(entry):
            if dimension != "all":
                name = _bounded(name, names.setdefault((day, dimension), set(known.get((day, dimension), ()))))
            for grain, size in GRAINS.items():
                key = RollupKey(grain, dimension, scope, floor(entry.time, size), name)
                have = sums.get(key)
                if have is None:
                    sums[key] = list(measures)
                else:
                    for index, value in enumerate(measures):
                        have[index] += value
    return [(key, tuple(sums[key])) for key in sorted(sums)]


def _bounded(name: str, names: set[str]) -> str:
    if name not in names:
        if len(names) >= MOST_NAMES:
            return OTHER
        names.add(name)
    return name


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


def _places(entry: LedgerEntry) -> Iterable[tuple[str, str, str]]:
    """(dimension, scope, name) of every row that an entry counts in."""
    key = entry.key or NO_KEY
    yield "all", "", ""
    yield "key", "", key
    yield "all", key, ""
    named = [("model", entry.model or entry.model_asked), ("upstream", entry.upstream), ("team", entry.team)]
    named += [("tag", tag) for tag in dict.fromkeys(entry.tags)]
    for dimension, name in named:
        if name:
            yield dimension, "", name
            yield dimension, key, name
