"""How large a schema may be: each of these costs the engine's only thread time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

MOST_BYTES: Final = 1_000_000
MOST_DEPTH: Final = 64
MOST_ENUM: Final = 20_000  # values in all; 0.11 s to compile
MOST_PATTERN: Final = 1000  # characters
MOST_REPEATS: Final = 5000  # characters of one pattern, its counts written out: (a{1000}){1000} took 1.2 s a token
PIECE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d{1,9})(?:,(?P<most>\d{0,9}))?\}|.", re.DOTALL)


def size_fault(schema: Any) -> str:
    """Empty where the size is fair."""
    if len(msgspec.json.encode(schema)) > MOST_BYTES:
        return f"schema is too large. Expected at most {MOST_BYTES} bytes."
    enums = 0
    level: list[Any] = [schema]
    for _ in range(MOST_DEPTH):
        for value in level:
            if type(value) is dict:
                enums += len(value["enum"]) if type(value.get("enum")) is list else 0
                for pattern in patterns(value):
                    if len(pattern) > MOST_PATTERN or repeats(pattern) > MOST_REPEATS:
                        return f"pattern is too complex: '{pattern[:64]}'."
        level = [inner for value in level for inner in inside(value)]
    if level:
        return f"schema is nested too deeply. Expected at most {MOST_DEPTH} levels."
    if enums > MOST_ENUM:
        return f"schema has too many enum values. Expected at most {MOST_ENUM}, but got {enums}."
    return ""


def patterns(schema: dict[str, Any]) -> Iterator[str]:
    if type(schema.get("pattern")) is str:
        yield schema["pattern"]
    if type(schema.get("patternProperties")) is dict:
        yield from schema["patternProperties"]


def repeats(pattern: str) -> int:
    """How long the pattern is with its counts written out: those side by side add up, those within others multiply."""
    sizes = [0]  # of the groups that are open
    last = 0  # of what a count would repeat
    for found in PIECE.finditer(pattern):
        piece = found.group()
        if piece == "(":
            sizes.append(0)
            last = 0
        elif piece == ")":
            last = sizes.pop() if len(sizes) > 1 else 0
            sizes[-1] += last
        elif found["least"]:
            most = max(1, int(found["least"]), int(found["most"] or 0))
            sizes[-1] += last * (most - 1)
            last *= most
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def inside(value: Any) -> list[Any]:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else []
