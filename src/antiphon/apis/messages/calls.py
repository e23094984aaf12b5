"""Calls of a streamed answer, in a line: one is open, and what belongs to others waits until it is whole."""

from __future__ import annotations

import msgspec

from antiphon.document import Document
from antiphon.errors import UpstreamError

CallPart = tuple[Document | None, str]
"""What can be said: a call that begins, if one does, and more of its arguments."""


class CallLine:
    """Fed with the pieces of calls (`tool_calls` of chat deltas)."""

    def __init__(self) -> None:
        self._open: int | None = None  # number of the call that is being said
        self._written: list[str] = []  # its arguments
        self._waiting: dict[int, tuple[Document, list[str]]] = {}  # the first piece, and all arguments
        self._closed: set[int] = set()

    @property
    def has_begun(self) -> bool:
        return self._open is not None or bool(self._closed)

    @property
    def is_whole(self) -> bool:
        """The open call's arguments are a JSON object."""
        if not self._written or not self._written[-1].endswith("}"):
            return False
        try:
            return isinstance(msgspec.json.decode("".join(self._written)), dict)
        except (ValueError, RecursionError):
            return False

    def take(self, piece: Document) -> list[CallPart]:
        """Raises UpstreamError: there is more of a call that was whole."""
        number = piece["index"]
        words = (piece.get("function") or piece.get("custom") or {}).get("arguments") or ""
        if number in self._closed:
            if words.strip():
                raise UpstreamError("The upstream sent a malformed answer.", code="upstream_malformed")
            return []
        if number == self._open:
            self._add(words)
            return [(None, words), *self._next()]
        _, held = self._waiting.setdefault(number, (piece, []))
        held.append(words)
        return self._next()

    def close(self) -> None:
        """Something else is said: no more of the open call is expected."""
        if self._open is not None:
            self._closed.add(self._open)
        self._open = None
        self._written = []

    def rest(self) -> list[CallPart]:
        """All that still waits. The answer has ended."""
        return [self._begin(number) for number in list(self._waiting)]

    def _next(self) -> list[CallPart]:
        parts: list[CallPart] = []
        while self._waiting and (self._open is None or self.is_whole):
            parts.append(self._begin(next(iter(self._waiting))))
        return parts

    def _begin(self, number: int) -> CallPart:
        self.close()
        call, held = self._waiting.pop(number)
        self._open = number
        words = "".join(held)
        self._add(words)
        return call, words

    def _add(self, words: str) -> None:
        if words.strip():
            self._written.append(words.rstrip())
