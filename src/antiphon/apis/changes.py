"""What of a request cannot be said to one upstream as the client said it."""

from __future__ import annotations

from typing import NamedTuple

from antiphon.errors import RequestError


class ApiChange(NamedTuple):
    """One parameter, by the API's own name, that did not travel as it was sent."""

    param: str
    action: str  # "dropped" or "rewritten"
    reason: str


class ApiChanges:
    """The changes of one request for one upstream. Where the request is strict, a change is refused."""

    __slots__ = ("_strict", "made")

    def __init__(self, *, strict: bool) -> None:
        self.made: list[ApiChange] = []
        self._strict = strict

    def drop(self, param: str, reason: str) -> None:
        self._make(param, "dropped", reason)

    def rewrite(self, param: str, reason: str) -> None:
        self._make(param, "rewritten", reason)

    def tell(self, param: str, reason: str, action: str = "dropped") -> None:
        """A change that the strictest client expects, such as the loss of a hint. It is told once."""
        change = ApiChange(param, action, reason)
        if change not in self.made:
            self.made.append(change)

    def _make(self, param: str, action: str, reason: str) -> None:
        if self._strict:
            raise unsupported(param, reason)
        self.made.append(ApiChange(param, action, reason))


def unsupported(param: str, reason: str) -> RequestError:
    return RequestError(f"{param}: {reason}", param=param, code="unsupported_parameter")
