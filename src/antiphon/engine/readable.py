"""A JSON Schema in the words that LLGuidance reads, with the same meaning: what generators and people write besides.

Lenient (`strict=False`), a keyword that it cannot hold is left out, and the answer may break it; strict, it stays, and
LLGuidance names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from llguidance import LLMatcher

from antiphon.chat.checks import listed

Schema = dict[str, Any]

# An unknown format is an annotation (JSON Schema 2020-12, Validation §7.2.3).
FORMATS: Final = frozenset(
    {"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"}
)
REFERENCE: Final = re.compile("(?:Pointer|Resource) '([^']*)' ")
MAPS: Final = ("properties", "patternProperties", "$defs", "definitions")
LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
ONES: Final = ("items", "additionalProperties", "additionalItems")
UNHELD: Final = frozenset(
    {
        "not",
        "if",
        "then",
        "else",
        "contains",
        "minContains",
        "maxContains",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    }
)


def readable(schema: Any, *, strict: bool) -> Any:
    if type(schema) is not dict:
        return schema
    plain = {key: value for key, value in schema.items() if key not in ("$schema", "x-guidance")}
    for key in MAPS:
        if type(plain.get(key)) is dict:
            plain[key] = {name: readable(inner, strict=strict) for name, inner in plain[key].items()}
    for key in LISTS:
        if type(plain.get(key)) is list:
            plain[key] = [readable(inner, strict=strict) for inner in plain[key]]
    for key in ONES:
        if type(plain.get(key)) is list:
            plain[key] = [readable(inner, strict=strict) for inner in plain[key]]
        elif key in plain:
            plain[key] = readable(plain[key], strict=strict)
    reword(plain, strict)
    return plain


def reword(schema: Schema, strict: bool) -> None:
    if schema.get("format") not in FORMATS:
        schema.pop("format", None)
    for key in ("anyOf", "oneOf"):
        if type(schema.get(key)) is list:
            schema[key] = [branch for branch in schema[key] if not looks_around(branch)] or schema[key]
    reword_names(schema)
    if schema.get("uniqueItems") is False or (schema.get("uniqueItems") is True and schema.get("maxItems") == 1):
        del schema["uniqueItems"]
    if strict:
        if schema.get("uniqueItems") is True and schema.get("minItems", 0) < 2:
            del schema["uniqueItems"]
            schema["maxItems"] = 1  # the only length at which no two can be equal
        return
    for key in UNHELD:
        schema.pop(key, None)
    if looks_around(schema):
        del schema["pattern"]


def reword_names(schema: Schema) -> None:
    """`propertyNames` as pydantic writes it for dict[Literal[…], …] and dict[constr(pattern=…), …]."""
    names = schema.get("propertyNames")
    if type(names) is not dict or "properties" in schema or "patternProperties" in schema:
        return
    others = schema.get("additionalProperties", True)
    known = names.get("enum", [names["const"]] if "const" in names else None)
    if type(known) is list and all(type(name) is str for name in known):
        schema["properties"] = dict.fromkeys(known, others)
    elif type(names.get("pattern")) is str and not names.keys() & {"minLength", "maxLength", "format"}:
        schema["patternProperties"] = {names["pattern"]: others}
    else:
        return
    schema["additionalProperties"] = False
    del schema["propertyNames"]


def looks_around(schema: Any) -> bool:
    """Has it a pattern of a kind that no automaton can hold? pydantic's Decimal has, beside a number."""
    pattern: Any = schema.get("pattern") if isinstance(schema, Mapping) else None
    if type(pattern) is not str:
        return False
    fault = LLMatcher.validate_grammar(LLMatcher.grammar_from_regex(pattern))
    return "look-around" in fault or "backreferences" in fault


def text_of(schema: Any) -> str:
    return msgspec.json.encode(schema).decode()


def fault_of(schema: Schema) -> str:
    """Empty where the schema compiles; else the first line of what LLGuidance says."""
    grammar = LLMatcher.grammar_from_json_schema(text_of(schema))
    lines = [line.strip() for line in LLMatcher.validate_grammar(grammar).splitlines()]
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")] or lines[:1]
    return said[0][:300] if said else ""


def worded(fault: str) -> str:
    """LLGuidance's complaint, where it speaks of itself."""
    if fault.startswith("Unimplemented keys: "):
        keys = msgspec.json.decode(fault.removeprefix("Unimplemented keys: "))
        return f"{listed(tuple(keys))} {'is' if len(keys) == 1 else 'are'} not permitted."
    if fault.startswith("oneOf constraints"):
        return "'oneOf' is not permitted where its schemas overlap. Use 'anyOf'."
    found = REFERENCE.match(fault)
    return f"reference '{found.group(1)}' does not exist." if found else fault
