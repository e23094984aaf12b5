"""Numbers between two bounds, as terminals of a grammar (Lark, as LLGuidance reads it).

LLGuidance's own ranges leave the digits after the point unbounded, where a small model goes on for ever, take 0 for a
number above 0, and with `multipleOf` they have no minus sign. These have at most 15 digits before the point, beyond
which a JSON number is not exact for every reader, and 6 after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final

WHOLE: Final = 15
FINE: Final = 6
LARGEST: Final = Decimal(10**WHOLE - 1)
FINEST: Final = Decimal(1).scaleb(-FINE)
ANY_FINE: Final = rf"(\.[0-9]{{1,{FINE}}})?"


@dataclass(frozen=True, slots=True)
class Range:
    least: Decimal
    most: Decimal
    above: bool = False  # `least` itself is not in it
    below: bool = False  # … `most`

    @property
    def empty(self) -> bool:
        return self.least > self.most or (self.least == self.most and (self.above or self.below))


def range_of(schema: dict[str, Any]) -> Range:
    """Of a number's schema; what it leaves open is bounded. Raises TypeError for a bound that is no number."""
    lower = [(exact(schema[key]), key[0] == "e") for key in ("minimum", "exclusiveMinimum") if key in schema]
    upper = [(exact(schema[key]), key[0] != "e") for key in ("maximum", "exclusiveMaximum") if key in schema]
    least, above = max(lower, default=(-LARGEST, False))
    most, below = min(upper, default=(LARGEST, True))
    return Range(least, most, above, not below)


def exact(value: Any) -> Decimal:
    if type(value) not in (int, float):
        raise TypeError("a bound that is no number")
    return Decimal(repr(value)) + 0  # -0.0 is 0, here and below


def some_of(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Some numbers for a schema that none of our digits fits: its own bounds, and what lies between or beyond them."""
    lower = [exact(schema[key]) for key in ("minimum", "exclusiveMinimum") if key in schema]
    upper = [exact(schema[key]) for key in ("maximum", "exclusiveMaximum") if key in schema]
    least = max(lower) if lower else 2 * min(upper)
    most = min(upper) if upper else 2 * least
    is_whole = schema["type"] == "integer"
    step = 1 if is_whole else 0
    tried = (least, least + step, (least + most) / 2, most - step, most)
    listed = [int(value) if value == int(value) else float(value) for value in tried if not is_whole or value % 1 == 0]
    fitting = [value for value in dict.fromkeys(listed) if fits(Decimal(repr(value)), schema)]
    return {"enum": [value if abs(value) < 2**63 else float(value) for value in fitting]} if fitting else None


def fits(value: Decimal, schema: dict[str, Any]) -> bool:
    least, most = (exact(schema[key]) if key in schema else value for key in ("minimum", "maximum"))
    above = "exclusiveMinimum" not in schema or value > exact(schema["exclusiveMinimum"])
    below = "exclusiveMaximum" not in schema or value < exact(schema["exclusiveMaximum"])
    return least <= value <= most and above and below


def terminals(bounds: Range, name: str) -> list[str]:
    """Lines of a grammar that define the terminal `name`, of fitted bounds with something between them."""
    lines = []
    kinds = []
    if bounds.most > 0 or (bounds.most == 0 and not bounds.below):
        positive = Range(max(bounds.least, Decimal(0)), bounds.most, bounds.above and bounds.least >= 0, bounds.below)
        if not positive.empty:
            kinds.append(f"{name}P")
            lines.append(f"{name}P: {between(positive)}")
    if bounds.least < 0:
        nearest = max(-bounds.most, Decimal(0))
        negative = Range(nearest, -bounds.least, bounds.below if bounds.most < 0 else True, bounds.above)
        kinds.append(f'"-" {name}N')
        lines.append(f"{name}N: {between(negative)}")
    return [f"{name}: {' | '.join(kinds)}", *lines]


def fitted(bounds: Range) -> Range:
    """The bounds in our digits: never wider."""
    beyond = LARGEST + 1
    least = min(max(bounds.least, -LARGEST), beyond).quantize(FINEST, ROUND_CEILING) + 0
    most = max(min(bounds.most, LARGEST), -beyond).quantize(FINEST, ROUND_FLOOR) + 0
    return Range(least, most, bounds.above and least == bounds.least, bounds.below and most == bounds.most)


def between(bounds: Range) -> str:
    """Of bounds that are not negative."""
    terms = [f"/{at_most(*split(bounds.most))}/"]
    if bounds.least > 0:
        terms.append(f"/{at_least(*split(bounds.least))}/")
    if bounds.above:
        terms.append(f"~/{spellings(*split(bounds.least))}/")
    if bounds.below:
        terms.append(f"~/{spellings(*split(bounds.most))}/")
    return " & ".join(terms)


def split(value: Decimal) -> tuple[str, str]:
    whole, _, fine = f"{value:f}".partition(".")
    return whole, fine.rstrip("0")


def spellings(whole: str, fine: str) -> str:
    return rf"{whole}\.{fine}0*" if fine else rf"{whole}(\.0*)?"


def at_most(whole: str, fine: str) -> str:
    less = f"({one_of(wholes_below(whole))}){ANY_FINE}|" if whole != "0" else ""
    tail = rf"(\.({one_of(fines_to(fine))}))?" if fine else rf"(\.0{{1,{FINE}}})?"
    return f"{less}{whole}{tail}"


def at_least(whole: str, fine: str) -> str:
    more = f"({one_of(wholes_above(whole))}){ANY_FINE}"
    tail = rf"\.({one_of(fines_from(fine))})" if fine else ANY_FINE
    return f"{more}|{whole}{tail}"


def one_of(branches: Iterator[str]) -> str:
    return "|".join(branches)


def wholes_below(whole: str) -> Iterator[str]:
    if len(whole) > 1:
        yield f"0|[1-9][0-9]{{0,{len(whole) - 2}}}"
    for at, digit in enumerate(whole):
        first = 1 if at == 0 and len(whole) > 1 else 0
        if int(digit) > first:
            yield f"{whole[:at]}[{first}-{int(digit) - 1}][0-9]{{{len(whole) - 1 - at}}}"


def wholes_above(whole: str) -> Iterator[str]:
    for at, digit in enumerate(whole):
        if digit != "9":
            yield f"{whole[:at]}[{int(digit) + 1}-9][0-9]{{{len(whole) - 1 - at}}}"
    if len(whole) < WHOLE:
        yield f"[1-9][0-9]{{{len(whole)},{WHOLE - 1}}}"


def fines_to(fine: str) -> Iterator[str]:
    for at, digit in enumerate(fine):
        if digit != "0":
            yield f"{fine[:at]}[0-{int(digit) - 1}][0-9]{{0,{FINE - 1 - at}}}"
        yield fine[: at + 1]
    yield f"{fine}0{{0,{FINE - len(fine)}}}"


def fines_from(fine: str) -> Iterator[str]:
    for at, digit in enumerate(fine):
        if digit != "9":
            yield f"{fine[:at]}[{int(digit) + 1}-9][0-9]{{0,{FINE - 1 - at}}}"
    yield f"{fine}[0-9]{{0,{FINE - len(fine)}}}"


# Multiples between two bounds. LLGuidance knows none below zero, and takes seconds for those of a large number: the
# nearest ones are listed.

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
