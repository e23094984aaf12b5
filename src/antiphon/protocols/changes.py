"""What of a request did not travel as it was sent."""

from __future__ import annotations

from typing import Any

from antiphon.errors import RequestError
from antiphon.flow.ports import Change
from antiphon.protocols.parts import read_arguments


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
    sentence = f"{reason[:1].upper()}{reason[1:].removesuffix('.')}."
    return RequestError(f"Unsupported parameter: '{param}'. {sentence}", param=param, code="unsupported_parameter")


def call_arguments(arguments: object, param: str, changes: Changes) -> dict[str, Any]:
    """The arguments of an earlier call, for a protocol that takes objects only. [broken-arguments]

    A model may have written arguments that are no JSON object. The conversation must go on all the same: the text
    travels as it is under the name `arguments`, and the receipt says so. `strict` refuses it.
    """
    found = read_arguments(arguments)
    if found is None:
        changes.rewrite(param, "this upstream takes the arguments of a call as a JSON object only")
        return {"arguments": arguments}
    return found
