"""How deep and how large the JSON of a request may be. It is measured before it is parsed, without parsing it.

A parser stops the whole worker while it works. Its time does not depend on the bytes of a body alone: a string of
20 MiB takes 12 ms, as many empty arrays take 3 s, numbers like 5e-324 take 30 s (msgspec 0.20). So the values of a body
are counted, each by what it costs. The counting itself is linear, and can be done a piece at a time.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final, NamedTuple

from antiphon.errors import RequestError

PIECE: Final = 64 * 1024  # bytes that are counted at once, 1 ms at most (4 ms where they are all brackets)
LARGE: Final = 4 * PIECE
FREE: Final = 16 * 1024  # bytes that need no counting, whatever they are: the slowest ones take 20 ms to parse

# What a value costs, in integers: decoded, encoded and freed again, an integer takes 50 ns.
STRING: Final = 3
CONTAINER: Final = 16
DECIMAL: Final = 10
EXTREME: Final = 250  # a number near the ends of what a double can hold
ESCAPES: Final = 8  # so many in a string cost as much as an integer; \u ones are as quick as other text
DEAREST: Final = EXTREME + DECIMAL

OPENED: Final = b"[{"
CLOSED: Final = b"]}"
STEPS: Final = {**dict.fromkeys(OPENED, 1), **dict.fromkeys(CLOSED, -1)}
NOT_BRACKETS: Final = bytes(set(range(256)) - set(OPENED + CLOSED))
NOT_STRUCTURE: Final = bytes(set(NOT_BRACKETS) - set(b'"\\'))
EXTREMES: Final = re.compile(rb"[eE][+-]?[0-9]{3}")
LONG_ZEROS: Final = re.compile(rb"0{40,}")
ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")


class JsonBounds(NamedTuple):
    depth: int = 200
    values: int = 500_000  # counted as above


def is_light(body: bytes, bounds: JsonBounds) -> bool:
    """It is surely within the bounds. Quick: what is LARGE is not looked at."""
    if len(body) > LARGE:
        return False
    opened = _count(body, b"{") + _count(body, b"[")
    if (opened + _count(body, b",")) * DEAREST > bounds.values:
        return False
    return opened <= bounds.depth or _is_shallow(body, bounds.depth)


def check_depth(body: bytes, bounds: JsonBounds) -> None:
    """Of a body that was not counted, because it is small. Raises RequestError."""
    size = len(body)
    if size > FREE or size + size - len(body.replace(b"{", b"")) - len(body.replace(b"[", b"")) <= bounds.depth:
        return  # hot: two calls of `_count` are written out
    if not _is_shallow(body, bounds.depth):
        Scan(bounds).feed(body)


def _count(body: bytes, byte: bytes) -> int:
    """As `bytes.count`, which takes 0.5 ns per byte; this takes a tenth of that where the byte is rare."""
    return len(body) - len(body.replace(byte, b""))


def _is_shallow(body: bytes, depth: int) -> bool:
    """False: it is deep, or a string has brackets or escapes in it, so that they cannot be told apart so easily."""
    structure = body.translate(None, NOT_STRUCTURE).replace(b'""', b"")
    if b'"' in structure or b"\\" in structure:
        return False
    return max(accumulate(map(STEPS.__getitem__, structure)), default=0) <= depth


class Scan:
    """Counts a body a piece at a time. What is not JSON may be counted wrongly after its first fault: the parser stops
    there."""

    __slots__ = ("_bounds", "_depth", "_escape", "_escapes", "_in_string", "_values")

    def __init__(self, bounds: JsonBounds) -> None:
        self._bounds = bounds
        self._depth = 0
        self._values = 0
        self._escapes = 0
        self._in_string = 0  # 1: the next piece begins inside a string
        self._escape = b""  # a backslash at the end of the last piece

    def feed(self, piece: bytes) -> None:
        """Raises RequestError as soon as a bound is exceeded."""
        outside = self._without_strings(piece)
        if outside:
            self._count(outside)
        if self._values + self._escapes // ESCAPES > self._bounds.values:
            raise too_many(self._bounds)

    def _count(self, outside: bytes) -> None:
        opened = outside.count(b"[") + outside.count(b"{")
        if self._depth + opened > self._bounds.depth:
            brackets = outside.translate(None, NOT_BRACKETS)
            if max(accumulate(map(STEPS.__getitem__, brackets), initial=self._depth)) > self._bounds.depth:
                raise too_deep(self._bounds)
        self._depth += opened - outside.count(b"]") - outside.count(b"}")
        self._values += outside.count(b",") + opened * CONTAINER + _number_cost(outside)

    def _without_strings(self, piece: bytes) -> bytes:
        """What stands outside of strings; the strings themselves are counted."""
        if self._escape or b"\\" in piece:
            whole = self._escape + piece
            piece = whole.replace(b"\\\\", b"")
            self._escape = b""
            if piece.endswith(b"\\"):
                piece, self._escape = piece[:-1], b"\\"
            piece = piece.replace(b'\\"', b"")
            self._escapes += (len(whole) - len(piece)) // 2 + piece.count(b"\\") - piece.count(b"\\u")
        parts = piece.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._values += (len(parts) - self._in_string) // 2 * STRING  # each is counted where it begins
        self._in_string ^= len(parts) + 1 & 1
        return outside


def _number_cost(outside: bytes) -> int:
    """What numbers cost beyond what integers do."""
    exponents = outside.count(b"e") + outside.count(b"E") - outside.count(b"ue") - outside.count(b"se")  # true, false
    cost = (outside.count(b".") + exponents) * DECIMAL
    if exponents > 0:
        cost += len(EXTREMES.findall(outside)) * EXTREME
    digits = outside.translate(ZEROS)
    if b"0" * 40 in digits:
        cost += sum(map(len, LONG_ZEROS.findall(digits)))
    return cost


def too_deep(bounds: JsonBounds) -> RequestError:
    message = f"The JSON body of your request is nested too deeply. At most {bounds.depth} levels are allowed."
    return RequestError(message, code="json_too_deep")


def too_many(bounds: JsonBounds) -> RequestError:
    message = "The JSON body of your request has too many values. "
    message += f"At most {bounds.values} integers are allowed; other values count for more."
    return RequestError(message, code="json_too_many_values")
