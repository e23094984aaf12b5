"""Calls as they are written: the text of a grammar-bound generation in, begun calls, fragments and ended calls out.

The text is one JSON object after another, the arguments of a call each; what stands between them does not matter. It
arrives in pieces that are cut anywhere. A fragment is the JSON as it came; a custom tool's is the text that its one
string spells. The first call is told as it comes, a further one when it is whole: a small model that has nothing more
to call calls the same again, or invents (`is_likely`), and there it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from antiphon.errors import AntiphonError

MOST_CALLS: Final = 4  # in one answer
CUSTOM_HEAD: Final = '{"input": "'  # how the grammar makes a custom tool's arguments begin
ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
UNREADABLE: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class CallBegins:
    index: int  # among the calls of this answer
    name: str
    custom: bool


@dataclass(frozen=True, slots=True)
class CallFragment:
    index: int
    text: str  # joined in order: the arguments, or a custom tool's input


@dataclass(frozen=True, slots=True)
class CallEnds:
    index: int
    written: str  # the whole call


CallEvent = CallBegins | CallFragment | CallEnds


class CallReader:
    """`over`: nothing more that matters can follow. `complete`: a call was read, and none that was told of is open;
    where it is False at the end, the generation was cut."""

    def __init__(
        self,
        name: str,
        *,
        custom: bool = False,
        most: int = MOST_CALLS,
        is_likely: Callable[[str], bool] = lambda call: True,
    ) -> None:
        self.over = False
        self._name = name
        self._custom = custom
        self._most = most
        self._is_likely = is_likely  # may this be meant as a further call?
        self._ended: list[str] = []  # calls, as they were written
        self._braces = Braces()
        self._spelling = CallSpelling()
        self._open = ""  # the call that is being written
        self._sent = 0  # characters of it that were told

    @property
    def complete(self) -> bool:
        return bool(self._ended)

    def feed(self, text: str) -> list[CallEvent]:
        """Raises AntiphonError for a call that is no JSON: llama.cpp goes on without a grammar that it cannot read."""
        events: list[CallEvent] = []
        for character in text:
            if self.over:
                return events
            if self._open or character == "{":
                self._open += character
                if self._braces.closes(character):
                    events += self._end()
        if self._open and not self._ended:
            events += self._tell()
        return events

    def _tell(self) -> Iterator[CallEvent]:
        """What is new of the open call."""
        index = len(self._ended)
        if not self._sent:
            yield CallBegins(index, self._name, self._custom)
        new = self._open[self._sent :]
        self._sent = len(self._open)
        said = self._spelling.feed(new) if self._custom else new
        if said:
            yield CallFragment(index, said)

    def _end(self) -> Iterator[CallEvent]:
        check(self._open)
        if self._ended and (self._open in self._ended or not self._is_likely(self._open)):
            self.over = True
            return
        yield from self._tell()
        yield CallEnds(len(self._ended), self._open)
        self._ended.append(self._open)
        self.over = len(self._ended) == self._most
        self._open, self._sent, self._spelling = "", 0, CallSpelling()


class Braces:
    """Finds the brace that closes an object."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def closes(self, character: str) -> bool:
        if self._escaped:
            self._escaped = False
        elif self._in_string:
            self._escaped = character == "\\"
            self._in_string = character != '"'
        elif character == '"':
            self._in_string = True
        elif character == "{":
            self._depth += 1
        elif character == "}":
            self._depth -= 1
            return self._depth == 0
        return False


class CallSpelling:
    """The text in `{"input": "…"}`."""

    def __init__(self) -> None:
        self._skip = len(CUSTOM_HEAD)
        self._escape = ""
        self._half = ""  # the first of two escapes that spell one character (RFC 8259 §7)
        self._closed = False

    def feed(self, text: str) -> str:
        return "".join(self._next(character) for character in text)

    def _next(self, character: str) -> str:
        if self._skip:
            self._skip -= 1
            return ""
        if self._escape:
            self._escape += character
            if self._escape[1] == "u" and len(self._escape) < 6:
                return ""
            escape, self._escape = self._escape, ""
            spelled = chr(int(escape[2:], 16)) if escape[1] == "u" else ESCAPES.get(escape[1], escape[1])
            return self._joined(spelled)
        if character == "\\" and not self._closed:
            self._escape = character
            return ""
        self._closed = self._closed or character == '"'
        return self._joined("" if self._closed else character)

    def _joined(self, spelled: str) -> str:
        half, self._half = self._half, ""
        if "\ud800" <= spelled <= "\udbff":
            self._half = spelled
            return UNREADABLE if half else ""
        if "\udc00" <= spelled <= "\udfff":
            return (half + spelled).encode("utf-16", "surrogatepass").decode("utf-16") if half else UNREADABLE
        return (UNREADABLE if half else "") + spelled


def check(call: str) -> None:
    try:
        msgspec.json.decode(call)
    except (msgspec.MsgspecError, RecursionError):
        raise AntiphonError(
            "The embedded engine did not keep to the format that was asked for.", code="engine_error"
        ) from None
