"""The checks a request is made of, and OpenAI's words for what is wrong.

A check takes a value and `strict` and returns nothing, or raises a Fault. It does not know where its value stands: each
level adds its own step to the Fault on the way out, so that a good request never pays for a path.
Wordings [fault-words]: measured on OpenAI in August 2026, and OpenAI's answers quoted in public issue threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Check = Callable[[Any, bool], None]

ECHO_LIMIT: Final = 200  # characters of the client's own value that an error message repeats
DIGITS_LIMIT: Final = 4096  # bits; Python refuses to print integers much longer than this

MOST_UNKNOWN: Final = 10_000  # names of one object that we do not know; each takes 1 us to be compared with those we do
MOST_FINE: Final = 1000  # such names that are remembered
NAME_LOOK: Final = 256  # characters of such a name that are looked at
TOO_MANY_UNKNOWN: Final = (
    f"An object of your request has too many unknown parameters. At most {MOST_UNKNOWN} are allowed."
)

TYPE_WORDS: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class RequestFault(Exception):
    """One thing wrong with a request. The message is `head`, or `head` 'path' `tail` where it names the place."""

    def __init__(self, head: str, tail: str | None, code: str | None, path: str = "") -> None:
        super().__init__(head)
        self.head = head
        self.tail = tail
        self.code = code
        self.path = path

    def under(self, step: str) -> None:
        self.path = step + self.path

    @property
    def message(self) -> str:
        return self.head if self.tail is None else f"{self.head}'{self.path}'{self.tail}"


# OpenAI's sentences


def echo(text: str) -> str:
    return text if len(text) <= ECHO_LIMIT else text[:ECHO_LIMIT] + "…"


def listed(values: tuple[str, ...]) -> str:
    quoted = [f"'{value}'" for value in values]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + f", and {quoted[-1]}"


def missing(step: str) -> RequestFault:
    return RequestFault("Missing required parameter: ", ".", "missing_required_parameter", step)


def unknown(step: str) -> RequestFault:
    return RequestFault("Unknown parameter: ", ".", "unknown_parameter", echo(step))


def wrong_type(expected: str, value: object) -> RequestFault:
    got = TYPE_WORDS.get(type(value), "an unknown value")
    return RequestFault("Invalid type for ", f": expected {expected}, but got {got} instead.", "invalid_type")


def wrong_value(value: str, supported: tuple[str, ...]) -> RequestFault:
    return RequestFault(
        f"Invalid value: '{echo(value)}'. Supported values are: {listed(supported)}.", None, "invalid_value"
    )


def out_of_range(kind: str, value: float, side: str, limit: float) -> RequestFault:
    """`kind` is integer or decimal, `side` is below or above."""
    number = "a longer number" if isinstance(value, int) and value.bit_length() > DIGITS_LIMIT else echo(str(value))
    edge, sign, code = ("minimum", ">=", "min") if side == "below" else ("maximum", "<=", "max")
    tail = f": {kind} {side} {edge} value. Expected a value {sign} {limit}, but got {number} instead."
    return RequestFault("Invalid ", tail, f"{kind}_{side}_{code}_value")


def too_long(kind: str, limit: int, length: int) -> RequestFault:
    """`kind` is "a string" or "an array"."""
    noun = kind.split()[-1]
    tail = (
        f": {noun} too long. Expected {kind} with maximum length {limit}, but got {kind} with length {length} instead."
    )
    return RequestFault("Invalid ", tail, f"{noun}_above_max_length")


def empty(kind: str) -> RequestFault:
    noun = kind.split()[-1]
    article = kind.split()[0]
    tail = f": empty {noun}. Expected {article} {noun} with minimum length 1, but got an empty {noun} instead."
    return RequestFault("Invalid ", tail, f"empty_{noun}")


def unmatched(pattern: str) -> RequestFault:
    tail = f": string does not match pattern. Expected a string that matches the pattern '{pattern}'."
    return RequestFault("Invalid ", tail, "invalid_value")


# Checks of one value


def boolean(value: Any, strict: bool) -> None:
    if value is not True and value is not False:
        raise wrong_type("a boolean", value)


def mapping(value: Any, strict: bool) -> None:
    """Any object; its inside is the upstream's matter."""
    if type(value) is not dict:
        raise wrong_type("an object", value)


def string(value: Any, strict: bool) -> None:
    if type(value) is not str:
        raise wrong_type("a string", value)


def text(*, least: int = 0, most: int | None = None, pattern: str | None = None, travels: bool = False) -> Check:
    """A string; `least` is 0 or 1. `travels`: vendors differ in `most`, so only `strict` holds to it."""
    match = re.compile(pattern).fullmatch if pattern else None

    def check(value: Any, strict: bool) -> None:
        if type(value) is not str:
            raise wrong_type("a string", value)
        if least and not value:
            raise empty("a string")
        if most is not None and len(value) > most and (strict or not travels):
            raise too_long("a string", most, len(value))
        if match is not None and match(value) is None:
            raise unmatched(pattern or "")

    return check


def integer(low: int, high: int) -> Check:
    """`type() is int`: JSON's true is no integer, and neither is 1.0."""

    def check(value: Any, strict: bool) -> None:
        if type(value) is not int:
            raise wrong_type("an integer", value)
        if value < low:
            raise out_of_range("integer", value, "below", low)
        if value > high:
            raise out_of_range("integer", value, "above", high)

    return check


def decimal(low: int, high: int) -> Check:
    def check(value: Any, strict: bool) -> None:
        if type(value) is not float and type(value) is not int:
            raise wrong_type("a decimal", value)
        if value < low:
            raise out_of_range("decimal", value, "below", low)
        if value > high:
            raise out_of_range("decimal", value, "above", high)

    return check


def word(*supported: str, travels: bool = True) -> Check:
    """One of OpenAI's words. Vendors add their own, which the upstream judges: only `strict` refuses them.

    `travels` is False where the gateway itself acts on the word.
    """

    def check(value: Any, strict: bool) -> None:
        if type(value) is not str:
            raise wrong_type("a string", value)
        if value not in supported and (strict or not travels):
            raise wrong_value(value, supported)

    return check


# Checks of composed values


def each(item: Check, items: list[Any], strict: bool) -> None:
    """Run one check over a list, naming the place of the first fault."""
    index = -1
    try:
        for value in items:
            index += 1
            item(value, strict)
    except RequestFault as fault:
        fault.under(f"[{index}]")
        raise


def array(item: Check, expected: str, *, least: int = 0, most: int | None = None, travels: bool = False) -> Check:
    """`expected` as OpenAI says it: "an array of objects". `least` is 0 or 1.

    `travels`: vendors differ in how many they take, so only `strict` holds to `most`.
    """

    def check(value: Any, strict: bool) -> None:
        if type(value) is not list:
            raise wrong_type(expected, value)
        if least and not value:
            raise empty("an array")
        if most is not None and len(value) > most and (strict or not travels):
            raise too_long("an array", most, len(value))
        each(item, value, strict)

    return check


def either(scalar: Check, items: Check, expected: str) -> Check:
    """A string or something composed, such as `stop` and message content."""

    def check(value: Any, strict: bool) -> None:
        if type(value) is str:
            scalar(value, strict)
        elif type(value) is list or type(value) is dict:
            try:
                items(value, strict)
            except RequestFault as fault:
                # The composed form's own complaint about the outermost type would name one of the two forms only.
                raise (
                    wrong_type(expected, value) if fault.code == "invalid_type" and not fault.path else fault
                ) from None
        else:
            raise wrong_type(expected, value)

    return check


def record(fields: Mapping[str, Check], *required: str, shape_travels: bool = False, also: Iterable[str] = ()) -> Check:
    """An object. A null is an omitted field unless the field is required; unknown keys are refused by `strict` only,
    unless they look like a known one.

    `shape_travels`: vendors shape this object differently, so only `strict` insists on the required fields.
    `also`: names that vendors know here, and the gateway too.
    """
    rows = tuple(fields.items())
    names = KnownNames((*fields, *also))

    def check(value: Any, strict: bool) -> None:
        if type(value) is not dict:
            raise wrong_type("an object", value)
        needed = required if strict or not shape_travels else ()
        for name in needed:
            if name not in value:
                raise missing("." + name)
        if strict:
            refuse_unknown(value, fields, ".")
        elif not value.keys() <= names.exact:
            names.refuse_look_alikes(value, ".")
        name = ""
        try:
            for name, field in rows:
                item = value.get(name)
                if item is not None or (name in needed):
                    field(item, strict)
        except RequestFault as fault:
            fault.under("." + name)
            raise

    return check


def refuse_unknown(value: Mapping[str, Any], fields: Mapping[str, Check], dot: str = "") -> None:
    for name in value:
        if name not in fields:
            raise unknown(dot + name)


class KnownNames:
    """The known names of an object. Some readers take `Content` for `content` (Go, cJSON): what they would read was not
    judged, so a name that looks like a known one is refused."""

    __slots__ = ("_fine", "_looks", "exact")

    def __init__(self, names: Iterable[str]) -> None:
        self.exact = frozenset(names)
        self._looks = {_look(name): name for name in self.exact}
        self._fine: set[str] = set()  # unknown names that were looked at

    def refuse_look_alikes(self, value: Mapping[str, Any], dot: str = "") -> None:
        unknown = value.keys() - self.exact
        if len(unknown) > MOST_UNKNOWN:
            raise RequestFault(TOO_MANY_UNKNOWN, None, "json_too_many_values")
        if unknown <= self._fine or (len(unknown) > 1 and _is_plain("".join([name[:NAME_LOOK] for name in unknown]))):
            return
        looks = self._looks
        if not looks.keys().isdisjoint(map(_look, unknown)):
            name = next(name for name in value if name in unknown and _look(name) in looks)
            tail = f". Did you mean '{looks[_look(name)]}'?"
            raise RequestFault("Unknown parameter: ", tail, "unknown_parameter", echo(dot + name))
        if len(self._fine) + len(unknown) <= MOST_FINE and max(map(len, unknown)) <= NAME_LOOK:
            self._fine |= unknown


def _is_plain(names: str) -> bool:
    """A careless reader takes each of these names for itself."""
    return names.isascii() and names.islower() and names.isprintable() and " " not in names


def _look(name: str) -> str:
    """What a careless reader takes a name for: upper case and the letters that fold to ASCII ones (`ſ`, the Kelvin
    sign, the dotless `ı`) are lower case, it ends at a NUL, and spaces around it are nothing."""
    name = name[:NAME_LOOK].partition("\0")[0].strip()
    return name.lower() if name.isascii() else name.upper().casefold()


def tagged(variants: Mapping[str, Check], *, travels: bool = True) -> Check:
    """An object whose `type` says its form. A type that is a vendor's own travels as it is, unless strict.

    `travels` is False where the gateway itself must read the object.
    """
    supported = tuple(variants)
    names = KnownNames(("type", *variants))  # those of a vendor's own form; a variant knows its own

    def check(value: Any, strict: bool) -> None:
        if type(value) is not dict:
            raise wrong_type("an object", value)
        kind = read_type(value)
        variant = variants.get(kind)
        if variant is not None:
            variant(value, strict)
        elif strict or not travels:
            fault = wrong_value(kind, supported)
            fault.under(".type")
            raise fault
        else:
            names.refuse_look_alikes(value, ".")

    return check


def read_type(value: Mapping[str, Any]) -> str:
    if "type" not in value:
        raise missing(".type")
    kind = value["type"]
    if type(kind) is str:
        return kind
    fault = wrong_type("a string", kind)
    fault.under(".type")
    raise fault
