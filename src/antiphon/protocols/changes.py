"""What of a request did not travel as it was sent."""

from __future__ import annotations

from antiphon.errors import RequestError
from antiphon.flow.ports import Change


class Changes:
    """The changes of one request, for its receipt. Where the request is strict, a change is refused."""

    __slots__ = ("_strict", "made")

    def __init__(self, *, strict: bool) -> None:
        self.made: list[Change] = []
        self._strict = strict

    def drop(self, param: str, reason: str) -> None:
        self._make(param, "dropped", reason)

    def rewrite(self, param: str, reason: str) -> None:
        self._make(param, "rewritten", reason)

    def note(self, param: str, action: str, reason: str) -> None:
        """A change that the strictest client expects."""
        self.made.append(Change(param, action, reason))

    def _make(self, param: str, action: str, reason: str) -> None:
        if self._strict:
            raise refuse(param, reason)
        self.note(param, action, reason)


def refuse(param: str, reason: str) -> RequestError:
    return RequestError(f"Unsupported parameter: '{param}'. {reason}", param=param, code="unsupported_parameter")
