"""Two schemas that must both hold, written as one, where that can be told keyword by keyword."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from antiphon.engine.lark import text_of

Schema = dict[str, Any]
KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties"}
    ),
    "array": frozenset({"items", "prefixItems", "additionalItems", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
ITEMS: Final = frozenset({"items", "prefixItems", "additionalItems"})
COMBINERS: Final = frozenset({"anyOf", "oneOf", "allOf", "$ref", "enum", "const", "type"})
MEANING: Final = COMBINERS.union(*KEYWORDS.values())


class Wide(Exception):
    """This schema cannot be made smaller with safety."""


def join(whole: Schema, member: Schema) -> None:
    """`member` into `whole`."""
    for key in MEANING & member.keys():
        value = member[key]
        if key == "properties":
            known = whole.get("properties", {})
            whole["properties"] = known | {name: both(known.get(name, inner), inner) for name, inner in value.items()}
        elif key == "required":
            whole["required"] = [*whole.get("required", ()), *value]
        elif key == "additionalProperties":
            if value is not True:  # what it closes, the others open
                raise Wide
        elif key in CLOSER and key in whole:
            whole[key] = CLOSER[key](whole[key], value)
        elif (key in ITEMS and ITEMS & whole.keys()) or whole.setdefault(key, value) != value:
            raise Wide  # "all items" of one member are not "the further items" of another


def both(one: Any, other: Any) -> Any:
    return one if one == other else {"allOf": [one, other]}


def enums(one: list[Any], other: list[Any]) -> list[Any]:
    texts = set(map(text_of, other))  # True is not 1 there
    return [value for value in one if text_of(value) in texts]


def types(one: Any, other: Any) -> Any:
    if one == other or (one, other) == ("number", "integer"):
        return other
    if (one, other) == ("integer", "number"):
        return one
    raise Wide


# What holds where two schemas speak of the same.
CLOSER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
    "enum": enums,
    "type": types,
}
