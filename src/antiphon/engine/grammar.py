"""JSON Schema to a grammar that the engine generates by (LLGuidance), or a refusal in OpenAI's words.

llama.cpp answers with free text where it cannot read a grammar, so every grammar is tried here first. A sound schema is
then narrowed (`narrow`) to what a small model brings to an end. Where the client is not `strict`, OpenAI promises its
best effort only: keywords that LLGuidance cannot hold (`uniqueItems`, `if`, `not`, …) are then left out, not refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from llguidance import LLMatcher

from antiphon.engine.narrow import MOST_KEYS, SCALAR, Schema, Wide, narrow
from antiphon.engine.prompted import prompted_schema
from antiphon.engine.readable import readable
from antiphon.errors import RequestError

MOST_BYTES: Final = 1_000_000
MOST_DEPTH: Final = 64
MOST_ENUM: Final = 20_000  # values in all; 0.11 s to compile
MOST_PATTERN: Final = 1000
MOST_REPEATS: Final = 5000  # of one pattern, nested counts multiplied: (a{1000}){1000} took 1.2 s a token

HEAD: Final = "%llguidance {}\n"
STYLE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
ANY_OBJECT: Final[Schema] = {
    "type": "object",
    "patternProperties": {
        "^[A-Za-z][A-Za-z0-9_]{0,23}$": {
            "anyOf": [*SCALAR["anyOf"], {"type": "array", "items": SCALAR, "maxItems": MOST_KEYS}]
        }
    },
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": MOST_KEYS,
}
COUNT: Final = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schema stands, for the refusal."""

    what: str  # "response_format 'name'", "function 'name'"
    param: str
    code: str | None = None
    strict: bool = True

    def refusal(self, fault: str) -> RequestError:
        return RequestError(f"Invalid schema for {self.what}: {fault}", param=self.param, code=self.code)


def answer_grammar(document: dict[str, Any], messages: list[dict[str, Any]]) -> str | None:
    """What `response_format` demands of a text answer; `messages` with their contents as plain strings."""
    form = document.get("response_format") or {"type": "text"}
    if form["type"] == "text":
        return None
    if form["type"] == "json_object":
        return json_object_grammar(messages)
    if form["type"] != "json_schema":
        raise RequestError(
            f"Invalid parameter: 'response_format' of type '{form['type'][:64]}' is not supported with this model.",
            param="response_format",
        )
    wanted = form["json_schema"]
    place = Place(f"response_format '{wanted['name']}'", "response_format", strict=wanted.get("strict") is True)
    return schema_grammar(wanted.get("schema") or {"type": "object"}, place)


def json_object_grammar(messages: list[dict[str, Any]]) -> str:
    """The schema that the conversation itself spells, where it spells one; else any object."""
    schema = prompted_schema(messages)
    if schema is not None:
        try:
            return schema_grammar(schema, Place("response_format", "response_format", strict=False))
        except RequestError:
            pass  # prose that only looks like a schema is no fault
    return HEAD + "start: " + rule(ANY_OBJECT)


def schema_grammar(schema: Schema, place: Place) -> str:
    return HEAD + "start: " + schema_rule(schema, place)


def schema_rule(schema: Schema, place: Place) -> str:
    """The right side of a grammar rule. Raises RequestError."""
    check_size(schema, place)
    sound = readable(schema, strict=place.strict)
    fault = fault_of(sound)
    if fault and "oneOf" in fault and not place.strict:
        sound["x-guidance"] = {"coerce_one_of": True}
        fault = fault_of(sound)
    if fault:
        raise place.refusal(fault)
    try:
        narrowed = narrow(sound)
    except Wide:
        return rule(sound)
    return rule(sound if fault_of(narrowed) else narrowed)


def rule(schema: Schema) -> str:
    return "%json " + text_of({**schema, "x-guidance": {**schema.get("x-guidance", {}), **STYLE}})


def text_of(schema: Any) -> str:
    return msgspec.json.encode(schema).decode()


def fault_of(schema: Schema) -> str:
    """Empty where the schema compiles; else the first line of what LLGuidance says."""
    grammar = LLMatcher.grammar_from_json_schema(text_of(schema))
    lines = [line.strip() for line in LLMatcher.validate_grammar(grammar).splitlines()]
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")] or lines[:1]
    return said[0][:300] if said else ""


def check_size(schema: Schema, place: Place) -> None:
    if len(msgspec.json.encode(schema)) > MOST_BYTES:
        raise place.refusal(f"schema is too large. Expected at most {MOST_BYTES} bytes.")
    enums = 0
    level: list[Any] = [schema]
    for _ in range(MOST_DEPTH):
        for value in level:
            if type(value) is dict:
                enums += len(value["enum"]) if type(value.get("enum")) is list else 0
                check_pattern(value.get("pattern"), place)
                for pattern in value["patternProperties"] if type(value.get("patternProperties")) is dict else ():
                    check_pattern(pattern, place)
        level = [inner for value in level for inner in inside(value)]
    if level:
        raise place.refusal(f"schema is nested too deeply. Expected at most {MOST_DEPTH} levels.")
    if enums > MOST_ENUM:
        raise place.refusal(f"schema has too many enum values. Expected at most {MOST_ENUM}, but got {enums}.")


def check_pattern(pattern: Any, place: Place) -> None:
    if type(pattern) is not str:
        return
    repeats = 1
    for least, most in COUNT.findall(pattern):
        repeats *= max(1, int(least), int(most or 0))
    if len(pattern) > MOST_PATTERN or repeats > MOST_REPEATS:
        raise place.refusal(f"pattern is too complex: '{pattern[:64]}'.")


def inside(value: Any) -> list[Any]:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else []
