"""What an encoding changes: named for the receipt or, with `strict`, refused."""

from __future__ import annotations

from antiphon.errors import RequestError
from antiphon.flow.ports import Change

DROPPED = "dropped"
REWRITTEN = "rewritten"


class Notes:
    __slots__ = ("_strict", "changes")

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.changes: list[Change] = []

    def drop(self, param: str, reason: str) -> None:
        self._lose(param, DROPPED, reason)

    def rewrite(self, param: str, reason: str) -> None:
        self._lose(param, REWRITTEN, reason)

    def tell(self, param: str, action: str, reason: str) -> None:
        """A change that loses nothing the client asked for: `strict` takes it too."""
        self.changes.append(Change(param, action, reason))

    def _lose(self, param: str, action: str, reason: str) -> None:
        if self._strict:
            raise unsupported(param, reason)
        self.changes.append(Change(param, action, reason))


def unsupported(param: str, reason: str) -> RequestError:
    message = f"Unsupported parameter: '{param}' is not supported with this model: {reason}."
    return RequestError(message, param=param, code="unsupported_parameter")
