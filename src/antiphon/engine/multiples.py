"""Multiples of a number between two bounds. LLGuidance knows none below zero, and takes seconds for those of a large
number; of these the nearest ones are listed."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final

from antiphon.engine.decimals import Range, exact, range_of

Schema = dict[str, Any]
MOST_LISTED: Final = 100
LARGEST_STEP: Final = 1000  # written without its point: the automaton has a state for each remainder


def multiples(schema: Schema) -> Schema | None:
    """Of a number's or integer's schema with `multipleOf`. None: there is none."""
    step = exact(schema["multipleOf"])
    if step <= 0:
        raise ValueError("multipleOf is not above zero")
    if schema["type"] == "integer":
        step = whole(step)
    first, last = ends(range_of(schema), step)
    branches: list[Schema] = []
    if last >= 0 and first <= last:
        branches.append(from_zero(max(first, 0), last, step))
    if first < 0 and first <= last:
        below = min(last, -1)
        branches.append({"enum": [value(count * step) for count in range(below, max(first, below - MOST_LISTED), -1)]})
        if below == first:
            branches[-1] = {"enum": [value(first * step)]}
    if len(branches) > 1:
        return {"anyOf": branches}
    return branches[0] if branches else None


def whole(step: Decimal) -> Decimal:
    """The least whole multiple of a step: an integer that is a multiple of 1.5 is one of 3."""
    numerator, _ = step.as_integer_ratio()
    return Decimal(numerator)


def ends(bounds: Range, step: Decimal) -> tuple[int, int]:
    """The first and the last multiple, counted in steps."""
    first = int((bounds.least / step).to_integral_value(ROUND_CEILING))
    last = int((bounds.most / step).to_integral_value(ROUND_FLOOR))
    first += bounds.above and first * step == bounds.least
    last -= bounds.below and last * step == bounds.most
    return first, last


def from_zero(first: int, last: int, step: Decimal) -> Schema:
    if states(step) > LARGEST_STEP or last - first < MOST_LISTED:
        return {"enum": [value(count * step) for count in range(first, min(last, first + MOST_LISTED) + 1)]}
    kind = "integer" if step == step.to_integral_value() else "number"
    return {"type": kind, "multipleOf": value(step), "minimum": value(first * step), "maximum": value(last * step)}


def states(step: Decimal) -> int:
    """The step without its point."""
    exponent = step.as_tuple().exponent
    return int(step.scaleb(-exponent)) if isinstance(exponent, int) and exponent < 0 else int(step)


def value(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)
