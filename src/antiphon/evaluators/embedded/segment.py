"""Runs of letters cut into words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LONGEST_WORD: Final = 14  # letters


def cut_into_words(run: str, costs: Mapping[str, float]) -> str:
    """The cheapest way to read a run of letters as words. `costs`: frequent words are cheap, unknown ones are dear."""
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(run) + 1):
        starts = range(max(0, end - LONGEST_WORD), end)
        best.append(min((best[start][0] + _cost(run[start:end], costs), start) for start in starts))
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][1]
        words.append(run[start:end])
        end = start
    return " ".join(reversed(words))


def _cost(word: str, costs: Mapping[str, float]) -> float:
    return costs.get(word, 12.0 + 6.0 * len(word))
