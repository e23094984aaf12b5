"""A JSON Schema made smaller: what it allows is always allowed by the schema it came from.

A small model rambles in whatever is unbounded: it writes on in a string, adds items and keys, descends into a recursive
type. So strings, arrays, open objects and numbers get bounds, references are written out (a recursive one a few times),
and what the engine cannot hold is left out where it is optional. A schema that cannot be narrowed safely raises Wide,
and the caller keeps it as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from antiphon.engine.schema.lark import text_of
from antiphon.engine.schema.limits import PIECE
from antiphon.engine.schema.numbers import fitted, multiples, range_of, some_of
from antiphon.engine.schema.references import pointed, within
from antiphon.engine.schema.rewrite import JOINING, UNHELD, fault_of, mapped

Schema = dict[str, Any]

MOST_ASKED_TEXT: Final = 2000  # characters of a string whose schema says how many
MOST_NODES: Final = 5000
MOST_OPTIONAL: Final = 200  # properties; after each of them LLGuidance looks at all that may follow, 2,000 at most
LARGEST: Final = 10**15 - 1  # beyond 2**53 a JSON number is not exact for every reader

# How a free text begins. After a quote that it did not expect, as before an order's number, a small model goes on with
# what ends things, or with a dot; a path may begin with one.
BEGINNING: Final = r"^[^\s\x00-\x1f\x7f\"\\,;:){}\].]"
PATH_BEGINNING: Final = BEGINNING.replace(".]", "]")
PATHS: Final = re.compile("path|file|dir|folder|cwd|glob|pattern|extension", re.IGNORECASE)
NAME: Final = r"^[A-Za-z][A-Za-z0-9_ -]{0,23}$"  # of a key that the schema leaves open

# Formats whose grammar is looser than what parsers take (a year 0000, a 61st second), or has no end.
LABEL: Final = "[A-Za-z0-9]{1,16}"
DATE: Final = "([0-9]{1,3}Y([0-9]{1,2}M([0-9]{1,2}D)?)?|[0-9]{1,2}M([0-9]{1,2}D)?|[0-9]{1,3}D)"
TIME: Final = "T([0-9]{1,2}H([0-9]{1,2}M([0-9]{1,2}S)?)?|[0-9]{1,2}M([0-9]{1,2}S)?|[0-9]{1,4}S)"
FORMS: Final[Mapping[str, str]] = {
    "email": rf"^{LABEL}([._+-]{LABEL}){{0,2}}@{LABEL}(-{LABEL})?(\.[a-z]{{2,12}}){{1,2}}$",
    "hostname": rf"^{LABEL}([.-]{LABEL}){{0,4}}$",
    "date": r"^(19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}$",
    "date-time": r"^(19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](Z|[+-][0-9]{2}:[0-9]{2})$",
    "duration": rf"^P({DATE}({TIME})?|{TIME}|[0-9]{{1,3}}W)$",
    "time": r"^[0-9]{2}:[0-9]{2}:[0-5][0-9](Z|[+-][0-9]{2}:[0-9]{2})$",
}


@dataclass(frozen=True, slots=True)
class SchemaBounds:
    """Where the schema sets none."""

    text: int  # characters
    items: int
    keys: int
    descent: int  # how often a type may stand inside itself
    beginning: str | None

    @property
    def word(self) -> int:
        """Characters of what has no spaces."""
        return self.text // 6

    @property
    def free_text(self) -> Schema:
        text = {"type": "string", "maxLength": self.text}
        return {**text, "pattern": self.beginning} if self.beginning else text

    @property
    def scalar(self) -> Schema:
        return {"anyOf": [self.free_text, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]}


SMALL: Final = SchemaBounds(text=240, items=5, keys=6, descent=2, beginning=BEGINNING)  # for a model of 135M parameters
LARGE: Final = SchemaBounds(
    text=4000, items=100, keys=40, descent=6, beginning=None
)  # for one that knows when it is done


def narrow(schema: Schema, bounds: SchemaBounds, *, is_sound: bool = True) -> Schema:
    """`is_sound`: LLGuidance takes the schema, and so has seen that the branches of each `oneOf` exclude each other."""
    try:
        narrowed = Narrowing(schema, bounds, is_sound).value(schema, ())
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError, ArithmeticError, re.error):
        raise Wide from None  # malformed, which LLGuidance tells better
    if narrowed is None:
        raise Wide
    return narrowed


class Narrowing:
    def __init__(self, root: Schema, bounds: SchemaBounds, is_sound: bool) -> None:
        self.root = root
        self.bounds = bounds
        self.is_sound = is_sound
        self.nodes = 0

    def value(self, schema: Any, within: tuple[str, ...]) -> Schema | None:
        """None: nothing that this engine can write fits here."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise Wide
        if schema is False or (schema is not True and UNHELD & schema.keys()):
            return None
        if schema is True or not MEANING & schema.keys():
            return self.bounds.scalar
        if "$ref" in schema:
            return self.reference(schema, within)
        if "allOf" in schema:
            return self.value(self.merged(schema), within)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                if word == "oneOf" and not self.is_sound:
                    raise Wide
                return self.union([self.joined(schema, word, branch) for branch in schema[word]], within)
        if "enum" in schema or "const" in schema:
            return {key: schema[key] for key in schema if key in MEANING}
        return self.typed(schema, within)

    def typed(self, schema: Schema, within: tuple[str, ...]) -> Schema | None:
        kind = schema.get("type") or next((name for name, words in KEYWORDS.items() if words & schema.keys()), None)
        if type(kind) is list:
            return self.union([{**schema, "type": one} for one in kind], within)
        if kind == "object":
            return self.object(schema, within)
        if kind == "array":
            return self.array(schema, within)
        if kind == "string":
            return text(schema, self.bounds)
        if kind in ("number", "integer"):
            return number(schema, kind)
        return {"type": kind}

    def union(self, branches: list[Any], within: tuple[str, ...]) -> Schema | None:
        fitting = [branch for each in branches if (branch := self.value(each, within)) is not None]
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        return {"anyOf": fitting}

    # References and merges

    def target(self, schema: Schema) -> Any:
        """What a reference that stands alone points to, within this schema."""
        if (MEANING | UNHELD) & schema.keys() != {"$ref"}:
            raise Wide
        return pointed(self.root, schema["$ref"])

    def reference(self, schema: Schema, within: tuple[str, ...]) -> Schema | None:
        pointer = schema["$ref"]
        if within.count(pointer) > self.bounds.descent:
            return None
        beside = {key: value for key, value in schema.items() if key in MEANING and key != "$ref"}
        found = self.target({"$ref": pointer})
        return self.value({"allOf": [found, beside]} if beside else found, (*within, pointer))

    def joined(self, schema: Schema, word: str, branch: Any) -> Any:
        """One branch of a union with what stands beside the union."""
        beside = {key: value for key, value in schema.items() if key in MEANING and key != word}
        return self.merged({"allOf": [beside, branch]}) if beside else branch

    def merged(self, schema: Schema) -> Schema:
        """`allOf` as one schema, where its members speak of different things."""
        beside = {key: value for key, value in schema.items() if key in MEANING and key != "allOf"}
        members = [beside, *schema["allOf"]] if beside else schema["allOf"]
        whole: Schema = {}
        for member in members:
            for _ in range(self.bounds.descent):
                if type(member) is dict and "$ref" in member:
                    member = self.target(member)
            if type(member) is not dict or "$ref" in member or UNHELD & member.keys() or member is schema:
                raise Wide
            if len(members) == 1:
                return member
            self.nodes += 1
            join(whole, self.merged(member) if "allOf" in member else member)
        return whole

    # Objects and arrays

    def object(self, schema: Schema, within: tuple[str, ...]) -> Schema | None:
        required = list(dict.fromkeys(schema.get("required", ())))
        listed = schema.get("properties")
        patterns = schema.get("patternProperties")
        others = schema.get("additionalProperties", True)
        if not listed and not required and (listed is None or patterns):
            return self.dictionary(schema, patterns, others, within)
        fields: Schema = {}
        for name in dict.fromkeys((*(listed or ()), *required)):
            inner = self.value(of_field(name, listed or {}, patterns or {}, others), within)
            if inner is not None:
                is_path = inner.get("pattern") == BEGINNING and PATHS.search(name)
                fields[name] = {**inner, "pattern": PATH_BEGINNING} if is_path else inner
            elif name in required:
                return None
        least = schema.get("minProperties", 0)
        for name in fields:
            if len(required) < least and name not in required:
                required.append(name)
        most = schema.get("maxProperties", math.inf)
        if len(required) < least or len(required) > most:
            return None
        if len(fields) > most or len(fields) - len(required) > MOST_OPTIONAL:
            fields = {name: inner for name, inner in fields.items() if name in required}
        return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}

    def dictionary(
        self, schema: Schema, patterns: Schema | None, others: Any, within: tuple[str, ...]
    ) -> Schema | None:
        named = {pattern: self.value(each, within) for pattern, each in (patterns or {NAME: others}).items()}
        narrowed: Schema = {"type": "object", "additionalProperties": False}
        narrowed["patternProperties"] = {pattern: inner for pattern, inner in named.items() if inner is not None}
        narrowed["minProperties"] = schema.get("minProperties", 0)
        narrowed["maxProperties"] = bounded(schema, "minProperties", "maxProperties", self.bounds.keys)
        most = narrowed["maxProperties"] if narrowed["patternProperties"] else 0
        return narrowed if narrowed["minProperties"] <= most else None

    def array(self, schema: Schema, within: tuple[str, ...]) -> Schema | None:
        items = schema.get("items", True)
        first = schema.get("prefixItems")
        if type(items) is list:  # drafts before 2020 wrote a tuple so
            first, items = items, schema.get("additionalItems", True)
        narrowed: Schema = {"type": "array", "minItems": schema.get("minItems", 0)}
        narrowed["maxItems"] = bounded(schema, "minItems", "maxItems", max(self.bounds.items, len(first or ())))
        inner = self.value(items, within) if narrowed["maxItems"] > len(first or ()) else None
        if inner is None:
            narrowed["maxItems"] = min(narrowed["maxItems"], len(first or ()))
        narrowed["items"] = False if inner is None else inner
        if first:
            places = [self.value(each, within) for each in first]
            if None in places:
                raise Wide
            narrowed["prefixItems"] = places
        return narrowed if narrowed["minItems"] <= narrowed["maxItems"] else None


def text(schema: Schema, bounds: SchemaBounds) -> Schema:
    own: Schema = {"type": "string"} | {key: value for key, value in schema.items() if key in KEYWORDS["string"]}
    if len(own) == 1:
        return bounds.free_text
    narrowed = {**own, "maxLength": bounded(schema, "minLength", "maxLength", bounds.text)}
    if "maxLength" in own:
        narrowed["maxLength"] = min(own["maxLength"], MOST_ASKED_TEXT)
    if own.keys() == {"type", "maxLength"} and own["maxLength"] and bounds.beginning:
        narrowed["pattern"] = bounds.beginning
    elif own.get("format") in FORMS and "pattern" not in own:
        narrowed = {**own, "pattern": FORMS[own["format"]]}
    elif "pattern" in own:
        short = {**narrowed, "pattern": shortened(own["pattern"], bounds.word)}
        narrowed = narrowed if fault_of(short) else short
    return own if fault_of(narrowed) else narrowed


def number(schema: Schema, kind: str) -> Schema | None:
    own: Schema = {"type": kind} | {key: value for key, value in schema.items() if key in KEYWORDS["number"]}
    if "multipleOf" in own:
        return multiples(own)
    if fitted(range_of(own)).empty:
        return some_of(own)
    if kind == "integer":
        if range_of(own).least < -LARGEST or not {"minimum", "exclusiveMinimum"} & own.keys():
            own.pop("exclusiveMinimum", None)
            own["minimum"] = -LARGEST
        if range_of(own).most > LARGEST or not {"maximum", "exclusiveMaximum"} & own.keys():
            own.pop("exclusiveMaximum", None)
            own["maximum"] = LARGEST
    return own


def of_field(name: str, listed: Schema, patterns: Schema, others: Any) -> Any:
    """What a key's value must fit: its own schema and those of the patterns that it matches, else that of the rest."""
    found = [listed[name]] if name in listed else []
    found += [inner for pattern, inner in patterns.items() if re.search(pattern, name)]
    if len(found) > 1:
        return {"allOf": found}
    return found[0] if found else others


def bounded(schema: Schema, least: str, most: str, cap: int) -> int:
    """The schema's own upper bound, or a lower one that still leaves room for its lower bound."""
    return int(min(schema.get(most, math.inf), max(schema.get(least, 0), cap)))


# Two schemas that must both hold, written as one.

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


# Bounds for a schema that cannot be narrowed.

OPEN = frozenset({"additionalProperties", "patternProperties", "minProperties"})


def loosely(schema: Any, bounds: SchemaBounds) -> Any:
    """As it is where schemas are joined: what one of them leaves open another may need."""
    if any("allOf" in inner or ("$ref" in inner and len(inner) > 1) for inner in within(schema) if inner is not schema):
        return schema
    return loose(schema, bounds)


def loose(schema: Any, bounds: SchemaBounds) -> Any:
    if type(schema) is not dict or schema.keys() & (JOINING - {"$ref"}):
        return schema
    made = mapped(schema, partial(loose, bounds=bounds))
    kind = made.get("type")
    if made.keys() & {"enum", "const", "$ref"}:
        return made
    if kind == "object" and made.get("properties") and not OPEN & made.keys():
        if set(made.get("required", ())) <= made["properties"].keys():
            made["additionalProperties"] = False
    elif kind == "string" and "format" not in made:
        made["maxLength"] = bounded(made, "minLength", "maxLength", bounds.text)
    elif kind == "array" and "prefixItems" not in made:
        made["maxItems"] = bounded(made, "minItems", "maxItems", bounds.items)
    return made


# Patterns without open runs of digits or letters, in which a small model finds no end.

MOST_DIGITS: Final = 9
DIGITS: Final = re.compile(r"\\d|[0-9]|\[[0-9-]+\]")
# A class that says what is in it, and no white space: what is left open beside that may be meant for prose.
WORDS: Final = re.compile(r"\\w|\[(?:\\[^sSDWpP]|[^\^\s\\\[\]])(?:\\[^sSDWpP]|[^\s\\\[\]])*\]")
LEAST: Final = {"*": 0, "+": 1}


def shortened(pattern: str, most: int) -> str:
    """What it matches, the pattern matches too. `most`: the characters of a run that are not only digits."""
    pieces: list[str] = []
    before = ""
    for found in PIECE.finditer(pattern):
        piece = found.group()
        cap = MOST_DIGITS if DIGITS.fullmatch(before) else most if WORDS.fullmatch(before) else None
        least = int(found["least"]) if found["least"] and found["most"] == "" else LEAST.get(piece)
        if cap is not None and least is not None:
            pieces.append(f"{{{least},{max(least, cap)}}}")
        else:
            pieces.append(piece)
        before = piece
    return "".join(pieces)
