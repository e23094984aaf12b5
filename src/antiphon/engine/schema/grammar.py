"""JSON Schema to a grammar that the engine generates by (LLGuidance), or a refusal in OpenAI's words.

llama.cpp answers with free text where it cannot go by a grammar, so every grammar is tried here first (`matching`). A
sound schema is then narrowed (`narrow`) to what a small model brings to an end. Where the client is not `strict`,
OpenAI promises its best effort only: keywords that LLGuidance cannot hold (`uniqueItems`, `if`, `not`, …) are then left
out, not refused. All of it may take any time and memory: it runs in a process of its own (`compiler`).
"""

from __future__ import annotations

from typing import Final

from antiphon.engine.schema.errors import is_malformed, worded
from antiphon.engine.schema.lark import json_rule, rule_of
from antiphon.engine.schema.limits import size_fault
from antiphon.engine.schema.matching import Matching
from antiphon.engine.schema.narrow import NAME, SMALL, Schema, SchemaBounds, Wide, loosely, narrow
from antiphon.engine.schema.rewrite import closed, fault_of, mixes_patterns, readable

HEAD: Final = "%llguidance {}\n"
START: Final = HEAD + "start: "
MIXED: Final = "'patternProperties' is not permitted here together with 'allOf', 'anyOf', 'oneOf' or '$ref'."
MALFORMED: Final = "schema is malformed."
NO_OBJECT: Final = "schema must be a JSON Schema of 'type: \"object\"'."


class SchemaFault(Exception):
    """In words that a client can mend it by."""


class Grammars:
    def __init__(self, bounds: SchemaBounds = SMALL, matching: Matching | None = None) -> None:
        self._bounds = bounds
        self._matching = matching or Matching()

    def rule(self, schema: Schema, *, strict: bool, is_object: bool = False) -> str:
        """The right side of a grammar rule, with the rules that it needs. Raises SchemaFault."""
        fault = size_fault(schema)
        if fault:
            raise SchemaFault(fault)
        try:
            return self._rule(schema, strict, is_object)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
            raise SchemaFault(worded(fault_of(schema)) or MALFORMED) from None

    def _rule(self, schema: Schema, strict: bool, is_object: bool) -> str:
        sound = readable(schema, strict=strict)
        fault = fault_of(sound)
        if "oneOf" in fault and not strict:
            sound["x-guidance"] = {"coerce_one_of": True}
            fault = fault_of(sound)
        if is_malformed(fault):
            raise SchemaFault(worded(fault))
        rule = self._narrowed(sound, is_sound=not fault)
        if rule is None and not fault:
            rule = self._loose(sound)
        if rule is None:
            rule = json_rule(closed(sound))
            fault = fault or (MIXED if mixes_patterns(sound) else self._matching.fault(START + rule))
            if fault:
                raise SchemaFault(worded(fault))
        if is_object and self._matching.beginnings(START + rule) != b"{":
            raise SchemaFault(NO_OBJECT)
        return rule

    def accepts(self, grammar: str, text: str) -> bool:
        return self._matching.accepts(grammar, text)

    def _narrowed(self, sound: Schema, *, is_sound: bool) -> str | None:
        try:
            rule = rule_of(narrow(sound, self._bounds, is_sound=is_sound))
        except Wide:
            return None
        return None if self._matching.fault(START + rule) else rule

    def _loose(self, sound: Schema) -> str | None:
        loose = loosely(sound, self._bounds)
        rule = json_rule(closed(loose))
        fault = loose == sound or mixes_patterns(sound) or fault_of(loose) or self._matching.fault(START + rule)
        return None if fault else rule


def any_object(bounds: SchemaBounds) -> Schema:
    items = {"type": "array", "items": bounds.scalar, "minItems": 0, "maxItems": bounds.items}
    return {
        "type": "object",
        "patternProperties": {NAME: {"anyOf": [*bounds.scalar["anyOf"], items]}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": bounds.keys,
    }
