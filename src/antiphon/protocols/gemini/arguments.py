"""Arguments of a call that Vertex streams in pieces: `partialArgs`, each with a JSONPath (RFC 9535) and a value."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from antiphon.chat.failure import malformed
from antiphon.document import Document

_STEP: Final = re.compile(
    r"""\.([^.\[\]]+) | \[(\d{1,5})\] | \['((?:[^'\\]|\\.)*)'\] | \["((?:[^"\\]|\\.)*)"\]""", re.VERBOSE
)
_ESCAPED: Final = re.compile(r"\\(.)")
_MOST_STEPS: Final = 64
_MOST_ITEMS: Final = 10_000
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue", "structValue", "listValue")


class Arguments:
    """The object that the pieces build."""

    __slots__ = ("_open", "value")

    def __init__(self) -> None:
        self.value: Document = {}
        self._open: str | None = None  # the path whose string goes on

    def add(self, piece: object) -> None:
        if not isinstance(piece, dict) or not isinstance(path := piece.get("jsonPath"), str):
            raise malformed()
        found = next((key for key in _VALUES if key in piece), None)
        if found is not None:
            value = None if found == "nullValue" else piece[found]
            self._set(read_path(path), value, goes_on=path == self._open)
        self._open = path if piece.get("willContinue") is True else None

    def _set(self, steps: list[str | int], value: Any, *, goes_on: bool) -> None:
        holder: Any = self.value
        for step, following in pairwise(steps):
            holder = _enter(holder, step, following)
        last = steps[-1]
        known = _get(holder, last)
        if goes_on and isinstance(known, str) and isinstance(value, str):
            value = known + value
        _put(holder, last, value)


def read_path(path: str) -> list[str | int]:
    """`$.rooms[0].name` -> ["rooms", 0, "name"]."""
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(steps) == _MOST_STEPS:
            raise malformed()
        at = match.end()
        if match[2] is not None:
            steps.append(int(match[2]))
        else:
            quoted = match[3] if match[3] is not None else match[4]
            steps.append(match[1] if quoted is None else _ESCAPED.sub(r"\1", quoted))
    if not path.startswith("$") or not steps:
        raise malformed()
    return steps


def _enter(holder: Any, step: str | int, following: str | int) -> Any:
    inner = _get(holder, step)
    if not isinstance(inner, dict | list):
        inner = [] if isinstance(following, int) else {}
        _put(holder, step, inner)
    return inner


def _get(holder: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return holder[step] if isinstance(holder, list) and step < len(holder) else None
    return holder.get(step) if isinstance(holder, dict) else None


def _put(holder: Any, step: str | int, value: Any) -> None:
    if isinstance(step, int):
        if not isinstance(holder, list) or step > min(len(holder), _MOST_ITEMS):
            raise malformed()
        holder[step : step + 1] = [value]
    elif isinstance(holder, dict):
        holder[step] = value
    else:
        raise malformed()
