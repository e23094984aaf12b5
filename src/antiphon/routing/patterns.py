"""Model names with `*`: which pattern matches a name. `*` stands for any characters, also for none; nothing else is
special.

Patterns are taken apart once. A lookup costs a few slices for each length of a beginning and of an ending, however many
patterns there are; only patterns that share both are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

STAR: Final = "*"


@dataclass(frozen=True, slots=True)
class Pattern:
    text: str
    prefix: str
    middles: tuple[str, ...]  # what must stand between, in this order
    suffix: str
    order: int  # its place in the settings

    def matches_middle(self, name: str) -> bool:
        """Of a name that has the prefix and the suffix. The first place of each part is as good as any later one."""
        start, end = len(self.prefix), len(name) - len(self.suffix)
        for part in self.middles:
            found = name.find(part, start, end)
            if found < 0:
                return False
            start = found + len(part)
        return start <= end


def is_pattern(name: str) -> bool:
    return STAR in name


def read_pattern(text: str, order: int) -> Pattern:
    prefix, *middles, suffix = text.split(STAR)
    return Pattern(text, prefix, tuple(filter(None, middles)), suffix, order)


def starred(pattern: str, name: str) -> str | None:
    """What the one `*` of a pattern stands for in a name. None: the name does not fit."""
    prefix, _, suffix = pattern.partition(STAR)
    fits = len(name) >= len(prefix) + len(suffix) and name.startswith(prefix) and name.endswith(suffix)
    return name[len(prefix) : len(name) - len(suffix)] if fits else None


class ModelPatterns:
    """The longest beginning wins, then the order of the settings. A pattern of stars alone comes after all others."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._groups: dict[str, _Endings] = {}
        self._any: str | None = None
        for order, text in enumerate(texts):
            if text.strip(STAR):
                pattern = read_pattern(text, order)
                self._groups.setdefault(pattern.prefix, _Endings()).add(pattern)
            elif self._any is None:
                self._any = text
        self._lengths = sorted({len(prefix) for prefix in self._groups}, reverse=True)

    def find(self, name: str) -> str | None:
        """The pattern's text."""
        for length in self._lengths:
            group = self._groups.get(name[:length]) if length <= len(name) else None
            found = group.find(name) if group is not None else None
            if found is not None:
                return found.text
        return self._any


class _Endings:
    """Patterns that begin alike, by how they end."""

    def __init__(self) -> None:
        self._patterns: dict[str, list[Pattern]] = {}
        self._lengths: set[int] = set()

    def add(self, pattern: Pattern) -> None:
        self._patterns.setdefault(pattern.suffix, []).append(pattern)
        self._lengths.add(len(pattern.suffix))

    def find(self, name: str) -> Pattern | None:
        first: Pattern | None = None
        for length in self._lengths:
            for pattern in self._patterns.get(name[len(name) - length :], ()) if length <= len(name) else ():
                if first is not None and first.order < pattern.order:
                    break  # they stand in order
                if pattern.matches_middle(name):
                    first = pattern
                    break
        return first
