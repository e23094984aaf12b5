"""A list of rules as somebody wrote it: words and patterns, each with the place where it stands.

In a file one rule stands on a line: a word or a phrase, or /a pattern/ between slashes. Lines that are empty or begin
with # say nothing; a word that begins with # is written \\#.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antiphon.evaluators.rules.folding import normal

MOST_WORDS: Final = 100_000  # of one list
MOST_PATTERNS: Final = 1_000
LONGEST_WORD: Final = 200  # characters
LONGEST_PATTERN: Final = 2_000
LARGEST_FILE: Final = 8_000_000  # bytes

Check = Callable[[str], bool]  # what else must hold for the text that a pattern matched


class RuleFault(Exception):
    """A list cannot be used. The message names the list, the places and what is wrong there; `faults`, each alone."""

    def __init__(self, name: str, faults: Sequence[str]) -> None:
        super().__init__(f"rule list '{name}': " + "; ".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Rule:
    source: str
    place: str
    check: Check | None = None
    at_end: bool = False  # the check looks at the end of a match only, so it need not be known where that begins


@dataclass(frozen=True, slots=True)
class RuleList:
    name: str
    words: tuple[Rule, ...] = ()
    patterns: tuple[Rule, ...] = ()

    @classmethod
    def of(
        cls, name: str, words: Sequence[str] = (), patterns: Sequence[str] = (), file: Path | None = None
    ) -> RuleList:
        """What the settings say, and what a file says besides. RuleFault: it says nothing, or too much."""
        written = cls(
            name,
            tuple(Rule(word, f"word {number}") for number, word in enumerate(words, 1)),
            tuple(Rule(pattern, f"pattern {number}") for number, pattern in enumerate(patterns, 1)),
        )
        return checked(written | read(name, file) if file else written)

    def __or__(self, other: RuleList) -> RuleList:
        return RuleList(self.name, self.words + other.words, self.patterns + other.patterns)


def read(name: str, path: Path) -> RuleList:
    words, patterns = [], []
    for number, line in enumerate(_lines(name, path), 1):
        line, place = line.strip(), f"{path}, line {number}"
        if len(line) > 2 and line.startswith("/") and line.endswith("/"):
            patterns.append(Rule(line[1:-1], place))
        elif line and not line.startswith("#"):
            words.append(Rule(line[1:] if line.startswith("\\#") else line, place))
    return RuleList(name, tuple(words), tuple(patterns))


def checked(rules: RuleList) -> RuleList:
    if not rules.words and not rules.patterns:
        raise RuleFault(rules.name, ["there is no rule in it"])
    faults = [
        *_crowd("words", len(rules.words), MOST_WORDS),
        *_crowd("patterns", len(rules.patterns), MOST_PATTERNS),
        *(fault for rule in rules.words for fault in _size(rule, LONGEST_WORD) or _hidden(rule)),
        *(fault for rule in rules.patterns for fault in _size(rule, LONGEST_PATTERN)),
    ]
    if faults:
        raise refused(rules.name, faults)
    return rules


def refused(name: str, faults: Sequence[str]) -> RuleFault:
    """The first faults are enough to see what is wrong; of a binary file every line would be one."""
    more = [f"and {len(faults) - 10} more"] if len(faults) > 10 else []
    return RuleFault(name, [*faults[:10], *more])


def _crowd(noun: str, count: int, most: int) -> list[str]:
    return [f"{count} {noun}, at most {most} are taken"] if count > most else []


def _size(rule: Rule, longest: int) -> list[str]:
    if not rule.source.strip():
        return [f"{rule.place}: it is empty"]
    if "\0" in rule.source or _unwritable(rule.source):
        return [f"{rule.place}: it has a character that no text has"]
    length = len(rule.source)
    return [f"{rule.place}: {length} characters, at most {longest} are taken"] if length > longest else []


def _hidden(rule: Rule) -> list[str]:
    return [] if normal(rule.source).strip() else [f"{rule.place}: nothing of it can be seen"]


def _unwritable(source: str) -> bool:
    """Half a surrogate pair cannot be written in UTF-8."""
    return any("\ud800" <= letter <= "\udfff" for letter in source)


def _lines(name: str, path: Path) -> list[str]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise RuleFault(name, [f"{path} has more than {LARGEST_FILE} bytes"])
        return path.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise RuleFault(name, [f"{path} cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise RuleFault(name, [f"{path} is not in UTF-8"]) from None
