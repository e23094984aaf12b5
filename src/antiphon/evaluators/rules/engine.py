"""Hyperscan, as far as we use it: many expressions searched for at once, in one pass over the text.

Its databases are not for several threads at a time: each has one scratch space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import hyperscan

# Without UCP: with it, Hyperscan knows no \b. So \w, \d and \b mean ASCII; \p{L} is there for other letters.
FLAGS: Final = hyperscan.HS_FLAG_UTF8
ENDLESS: Final = 1 << 40  # bytes; longer than any match that has an end
AT_MOST: Final = re.compile(r"only produce matches of length (\d+) bytes")

# Number of the expression, where the match begins (0 unless asked for), where it ends, in bytes. True: enough.
Found = Callable[[int, int, int], bool]


class ExpressionFault(Exception):
    """Hyperscan does not take this expression; the message is its own."""


@dataclass(frozen=True, slots=True)
class Expression:
    source: str
    begins: bool = False  # whether it must be known where a match begins, which costs some speed

    @property
    def flags(self) -> int:
        return FLAGS | (hyperscan.HS_FLAG_SOM_LEFTMOST if self.begins else 0)


class Scanner:
    """Expressions, compiled together."""

    def __init__(self, database: hyperscan.Database, scratch: hyperscan.Scratch | None = None) -> None:
        self._database = database
        self._scratch = scratch  # None: the database's own

    @classmethod
    def of_words(cls, words: Sequence[bytes]) -> Scanner:
        return cls(_compiled(words, [0] * len(words), literal=True))

    @classmethod
    def of_expressions(cls, expressions: Sequence[Expression]) -> Scanner:
        return cls(_compiled([one.source.encode() for one in expressions], [one.flags for one in expressions]))

    def twin(self) -> Scanner:
        """The same with a scratch space of its own: the two may be used by two threads."""
        return Scanner(self._database, hyperscan.Scratch(self._database))

    @property
    def size(self) -> int:
        return int(self._database.size())

    def scan(self, text: bytes, found: Found) -> None:
        """`text` must be UTF-8: on anything else Hyperscan's behaviour is undefined."""

        def event(number: int, begin: int, end: int, flags: int, context: object) -> bool | None:
            return found(number, begin, end) or None

        try:
            self._database.scan(text, match_event_handler=event, scratch=self._scratch)
        except hyperscan.ScanTerminated:
            pass


def width(expression: Expression) -> int | None:
    """How many bytes a match has at most; None: there is no limit. ExpressionFault: it cannot be compiled.

    Asked for matches of absurd length only, Hyperscan refuses and names the greatest length that is possible.
    """
    ext = (hyperscan.HS_EXT_FLAG_MIN_LENGTH, 0, 0, ENDLESS, 0, 0)  # of these the length alone is in force
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=[expression.source.encode()], ids=[0], flags=[expression.flags], ext=[ext])
    except hyperscan.error as error:
        if told := AT_MOST.search(str(error)):
            return int(told[1])
        raise ExpressionFault(str(error).rstrip(".")) from None
    return None


def _compiled(sources: Sequence[bytes], flags: Sequence[int], literal: bool = False) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=sources, ids=list(range(len(sources))), flags=flags, literal=literal)
    except hyperscan.error as error:
        raise ExpressionFault(str(error).rstrip(".")) from None
    return database
