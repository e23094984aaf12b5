"""What of a request could not be said in Gemini's words."""

from __future__ import annotations

from antiphon.errors import RequestError
from antiphon.flow.ports import Change


class Notes:
    """Collects changes for the receipt. With `strict` the first one refuses the request."""

    __slots__ = ("changes", "strict")

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.changes: list[Change] = []

    def drop(self, param: str, reason: str) -> None:
        self._note(Change(param, "dropped", reason))

    def rewrite(self, param: str, reason: str) -> None:
        self._note(Change(param, "rewritten", reason))

    def _note(self, change: Change) -> None:
        if self.strict:
            raise refusal(change.param, change.reason)
        self.changes.append(change)


def refusal(param: str, reason: str) -> RequestError:
    return RequestError(f"'{param}' cannot be sent: {reason}.", param=param, code="unsupported_parameter")
