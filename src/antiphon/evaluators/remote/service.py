"""What a vendor's service differs in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from antiphon.safety.verdict import Stage, Verdict

OVERLAP = 200  # characters that two windows share, so that nothing is cut in two unseen


class Unreadable(Exception):
    """An answer that does not say what it should."""


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """One request. `read` makes of its answer a verdict for each window that was asked about, or raises Unreadable."""

    path: str  # what follows the service's URL
    document: dict[str, Any]
    read: Callable[[Any], list[Verdict]]


class Service(Protocol):
    limit: int  # characters of a window: the longest text that one question can be about
    batch: int  # windows of one question
    auth: str  # the name of the header with the credential, and what stands before it

    def questions(self, stage: Stage, windows: list[str]) -> list[ServiceRequest]: ...


def windows(text: str, limit: int) -> list[str]:
    if len(text) <= limit:
        return [text]
    return [text[start : start + limit] for start in range(0, len(text) - OVERLAP, limit - OVERLAP)]


def member(document: Any, *path: str | int) -> Any:
    """document["a"][0]["b"], where it is there."""
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            raise Unreadable(f"there is no {'.'.join(map(str, path))} in the answer") from None
    return document


def truth(document: Any, *path: str | int) -> bool:
    value = member(document, *path)
    if not isinstance(value, bool):
        raise Unreadable(f"{'.'.join(map(str, path))} is neither true nor false")
    return value
