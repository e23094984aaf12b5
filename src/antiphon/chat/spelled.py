"""What the arguments of calls spell: a sentence can stand in them word by word, each in a field or call of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

SHORT: Final = 80  # characters of a value that may be part of a sentence; a longer one is judged as it stands
LEAST: Final = 2  # such values
MOST: Final = 600  # characters that are read together
LARGEST: Final = 20_000  # characters of one call's arguments that are looked at
DEEPEST: Final = 4


def spelled(arguments: Iterable[str]) -> str:
    """The short texts in the arguments of the calls of one message, in their order; nothing where they are few."""
    found: list[str] = []
    characters = 0
    for written in arguments:
        for value in _values(written):
            found.append(value)
            characters += len(value) + 1
            if characters > MOST:
                return " ".join(found)
    return " ".join(found) if len(found) >= LEAST else ""


def _values(written: str) -> Iterator[str]:
    if len(written) > LARGEST:
        return
    try:
        document = msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        if len(written) <= SHORT and written.strip():  # no JSON: a custom tool takes any text
            yield written
        return
    yield from _strings(document, 0)


def _strings(value: Any, depth: int) -> Iterator[str]:
    if type(value) is str:
        if len(value) <= SHORT and value.strip():
            yield value
    elif depth < DEEPEST and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner, depth + 1)
