"""JSON Schema to a grammar that the engine generates by (LLGuidance), or a refusal in OpenAI's words.

llama.cpp answers with free text where it cannot read a grammar, so every grammar is tried here first. A sound schema is
then narrowed (`narrow`) to what a small model brings to an end. Where the client is not `strict`, OpenAI promises its
best effort only: keywords that LLGuidance cannot hold (`uniqueItems`, `if`, `not`, …) are then left out, not refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from antiphon.engine.narrow import NAME, SMALL, Bounds, Schema, Wide, narrow
from antiphon.engine.prompted import prompted_schema
from antiphon.engine.readable import fault_of, readable, text_of, worded
from antiphon.engine.sizes import size_fault
from antiphon.errors import RequestError

HEAD: Final = "%llguidance {}\n"
STYLE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schema stands, for the refusal."""

    what: str  # "response_format 'name'", "function 'name'"
    param: str
    code: str | None = None
    strict: bool = True

    def refusal(self, fault: str) -> RequestError:
        return RequestError(f"Invalid schema for {self.what}: {fault}", param=self.param, code=self.code)


def answer_grammar(document: dict[str, Any], messages: list[dict[str, Any]], bounds: Bounds = SMALL) -> str | None:
    """What `response_format` demands of a text answer; `messages` with their contents as plain strings."""
    form = document.get("response_format") or {"type": "text"}
    if form["type"] == "text":
        return None
    if form["type"] == "json_object":
        return json_object_grammar(messages, bounds)
    if form["type"] != "json_schema":
        raise RequestError(
            f"Invalid parameter: 'response_format' of type '{form['type'][:64]}' is not supported with this model.",
            param="response_format",
        )
    wanted = form["json_schema"]
    place = Place(f"response_format '{wanted['name']}'", "response_format", strict=wanted.get("strict") is True)
    return schema_grammar(wanted.get("schema") or {"type": "object"}, place, bounds)


def json_object_grammar(messages: list[dict[str, Any]], bounds: Bounds = SMALL) -> str:
    """The schema that the conversation itself spells, where it spells one; else any object."""
    schema = prompted_schema(messages)
    if schema is not None:
        try:
            return schema_grammar(schema, Place("response_format", "response_format", strict=False), bounds)
        except RequestError:
            pass  # prose that only looks like a schema is no fault
    return HEAD + "start: " + rule(any_object(bounds))


def any_object(bounds: Bounds) -> Schema:
    items = {"type": "array", "items": bounds.scalar, "maxItems": bounds.items}
    return {
        "type": "object",
        "patternProperties": {NAME: {"anyOf": [*bounds.scalar["anyOf"], items]}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": bounds.keys,
    }


def schema_grammar(schema: Schema, place: Place, bounds: Bounds = SMALL) -> str:
    return HEAD + "start: " + schema_rule(schema, place, bounds)


def schema_rule(schema: Schema, place: Place, bounds: Bounds = SMALL) -> str:
    """The right side of a grammar rule. Raises RequestError."""
    fault = size_fault(schema)
    if fault:
        raise place.refusal(fault)
    sound = readable(schema, strict=place.strict)
    fault = fault_of(sound)
    if "oneOf" in fault and not place.strict:
        sound["x-guidance"] = {"coerce_one_of": True}
        fault = fault_of(sound)
    try:
        narrowed = narrow(sound, bounds, is_sound=not fault)
    except Wide:
        narrowed = None
    if narrowed is not None and not fault_of(narrowed):
        return rule(narrowed)
    if fault:
        raise place.refusal(worded(fault))
    return rule(sound)


def rule(schema: Schema) -> str:
    return "%json " + text_of({**schema, "x-guidance": {**schema.get("x-guidance", {}), **STYLE}})
