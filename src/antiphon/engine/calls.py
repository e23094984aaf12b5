"""Calls as they are written: the text of a grammar-bound generation in, begun calls, fragments and ended calls out.

The text is one JSON object after another, the arguments of a call each; between them stands what the grammar puts
there. It arrives in pieces that are cut anywhere. A fragment is the JSON as it came, and a custom tool's is the text
that its one string spells. A call that repeats an earlier one is not told: a small model that has nothing more to call
calls the same again, and `over` asks to end the generation there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CUSTOM_HEAD: Final = '{"input": "'  # what the grammar makes a custom tool's arguments begin with
ESCAPE: Final = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class CallBegins:
    index: int  # among the calls of this answer
    name: str
    custom: bool


@dataclass(frozen=True, slots=True)
class Fragment:
    index: int
    text: str  # joined in order: the arguments, or a custom tool's input


@dataclass(frozen=True, slots=True)
class CallEnds:
    index: int


CallEvent = CallBegins | Fragment | CallEnds


class CallReader:
    """`complete`: at least one call, and none that was begun is left open. False at the end: it was cut."""

    def __init__(self, name: str, *, custom: bool = False) -> None:
        self.over = False  # nothing more that matters can follow
        self._name = name
        self._custom = custom
        self._told: list[str] = []  # the ended calls, as they came
        self._open = ""  # the call that is being written
        self._sent = 0  # characters of it that were told
        self._begun = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    @property
    def complete(self) -> bool:
        return bool(self._told) and not self._begun

    def feed(self, text: str) -> list[CallEvent]:
        events: list[CallEvent] = []
        for character in text:
            if self.over:
                break
            if self._depth or character == "{":
                self._open += character
                if self._closes(character):
                    events += self._end()
        if self._depth and not self.over:
            events += self._tell()
        return events

    def _closes(self, character: str) -> bool:
        """Is this the brace that ends the call?"""
        if self._escaped:
            self._escaped = False
        elif self._in_string:
            self._escaped = character == "\\"
            self._in_string = character != '"'
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            return self._depth == 0
        return False

    def _tell(self) -> Iterator[CallEvent]:
        """What is new of the open call, once it is sure not to be a repetition."""
        if not self._begun:
            if any(told.startswith(self._open) for told in self._told):
                return
            self._begun = True
            yield CallBegins(len(self._told), self._name, self._custom)
        new = self._fresh()
        if new:
            yield Fragment(len(self._told), new)

    def _end(self) -> Iterator[CallEvent]:
        if self._open in self._told:
            self.over = True
            self._open = ""
            return
        yield from self._tell()
        yield CallEnds(len(self._told))
        self._told.append(self._open)
        self._open, self._sent, self._begun = "", 0, False

    def _fresh(self) -> str:
        if not self._custom:
            new = self._open[self._sent :]
            self._sent = len(self._open)
            return new
        start = max(self._sent, len(CUSTOM_HEAD))
        spelled = self._open[start:]
        if not self._depth:  # the closing quote and brace are no part of the input
            spelled = spelled.removesuffix('"}')
        elif not self._in_string:
            spelled = spelled.removesuffix('"')
        whole, rest = whole_escapes(spelled)
        self._sent = start + len(spelled) - len(rest)
        return whole


def whole_escapes(spelled: str) -> tuple[str, str]:
    """The text that part of a JSON string spells, and the beginning of an escape that is still to be completed."""
    rest = ""
    cut = re.search(r"\\(?:u[0-9a-fA-F]{0,3})?$", spelled)
    if cut and (len(spelled[: cut.start()]) - len(spelled[: cut.start()].rstrip("\\"))) % 2 == 0:
        spelled, rest = spelled[: cut.start()], spelled[cut.start() :]
    text = ESCAPE.sub(lambda found: one_escape(found.group()), spelled)
    if text and "\ud800" <= text[-1] <= "\udbff":  # its other half is the next escape
        return text[:-1], spelled[-6:] + rest
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), rest


def one_escape(escape: str) -> str:
    if escape[1] == "u":
        return chr(int(escape[2:], 16))
    return ESCAPED.get(escape[1], escape[1])
