"""A JSON Schema in the words that LLGuidance reads, with the same meaning: what generators and people write besides.

Lenient (`strict=False`), a keyword that it cannot hold is left out, and the answer may break it; strict, it stays, and
LLGuidance names it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from llguidance import LLMatcher

from antiphon.engine.schema.errors import looked_around
from antiphon.engine.schema.lark import text_of
from antiphon.engine.schema.matching import first_line
from antiphon.engine.schema.references import pointed

Schema = dict[str, Any]

# An unknown format is an annotation (JSON Schema 2020-12, Validation §7.2.3).
FORMATS: Final = frozenset({"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
# LLGuidance has no `uri`. Its common kind: what pydantic's HttpUrl and zod's url take.
URI: Final = (
    r"^https?://[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?(\.[a-z][a-z0-9-]{0,20}[a-z0-9]){1,3}(:[1-9][0-9]{1,3})?"
    r"(/[A-Za-z0-9._~-]{0,40}){0,6}(\?[A-Za-z0-9._~=&-]{1,80})?$"
)
ANNOTATIONS: Final = frozenset(
    {"$schema", "$comment", "x-guidance", "title", "description", "default", "examples", "deprecated", "readOnly"}
)
FINEST: Final = 1e-6
MOST_STEPS: Final = 8  # from one reference to the next
LONGEST_NAME: Final = 24  # of a key that may have any
MAPS: Final = ("properties", "patternProperties", "$defs", "definitions")
LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
ONES: Final = ("items", "additionalProperties", "additionalItems")
JOINING: Final = frozenset({"allOf", "anyOf", "oneOf", "$ref"})
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


def bare(schema: Any) -> Any:
    """Without what is only said about it: two schemas that differ in a title are the same."""
    try:
        return mapped(schema, bare)
    except RecursionError:
        return schema  # which is refused for its depth


def mapped(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Its meaning, with the schemas in it changed."""
    if type(schema) is not dict:
        return schema
    plain = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
    for key in MAPS:
        if type(plain.get(key)) is dict:
            plain[key] = {name: change(inner) for name, inner in plain[key].items()}
    for key in (*LISTS, *ONES):
        if type(plain.get(key)) is list:
            plain[key] = [change(inner) for inner in plain[key]]
        elif key in plain and key in ONES:
            plain[key] = change(plain[key])
    return plain


def readable(schema: Any, *, strict: bool, root: Any = None) -> Any:
    """`root`: the schema that it stands in."""
    if type(schema) is not dict:
        return schema
    chosen = dict(schema)
    for key in ("anyOf", "oneOf"):
        if type(chosen.get(key)) is list:
            chosen[key] = [branch for branch in chosen[key] if not looks_around(branch)] or chosen[key]
    root = schema if root is None else root
    plain: Schema = mapped(chosen, partial(readable, strict=strict, root=root))
    reword(plain, strict, root)
    return plain


def reword(schema: Schema, strict: bool, root: Any) -> None:
    reword_format(schema, strict)
    if type(schema.get("$ref")) is str:
        schema["$ref"] = unquote(schema["$ref"])  # it is the fragment of a URI (RFC 6901 §6)
    reword_names(schema, root)
    reword_patterns(schema)
    if schema.get("uniqueItems") is False or (schema.get("uniqueItems") is True and schema.get("maxItems") == 1):
        del schema["uniqueItems"]
    if strict:
        if schema.get("uniqueItems") is True and schema.get("minItems", 0) < 2:
            del schema["uniqueItems"]
            schema["maxItems"] = min(1, schema.get("maxItems", 1))  # the length at which no two can be equal
        return
    for key in UNHELD:
        schema.pop(key, None)
    if looks_around(schema):
        del schema["pattern"]


def reword_format(schema: Schema, strict: bool) -> None:
    form = schema.get("format")
    if form == "uri" and "pattern" not in schema:
        del schema["format"]
        schema["pattern"] = URI
    elif type(form) is not str or (form not in FORMATS and not (strict and form == "uri")):
        schema.pop("format", None)


def reword_names(schema: Schema, root: Any) -> None:
    """`propertyNames` as pydantic writes it for dict[Literal[…], …], dict[Color, …] and dict[constr(…), …]."""
    names = referred(schema.get("propertyNames"), root)
    if type(names) is not dict or "properties" in schema or "patternProperties" in schema:
        return
    others = schema.get("additionalProperties", True)
    known = names.get("enum", [names["const"]] if "const" in names else None)
    if type(known) is list and all(type(name) is str for name in known):
        schema["properties"] = dict.fromkeys(known, others)
    elif (pattern := pattern_of(names)) is not None:
        schema["patternProperties"] = {pattern: others}
    else:
        return
    schema["additionalProperties"] = False
    del schema["propertyNames"]


def referred(schema: Any, root: Any) -> Any:
    """What it says, or what that says which it refers to, and nothing else does it say."""
    for _ in range(MOST_STEPS):
        if type(schema) is not dict or schema.keys() - ANNOTATIONS != {"$ref"}:
            return schema
        try:
            schema = pointed(root, schema["$ref"])
        except (LookupError, TypeError, ValueError):
            return schema
    return schema


def pattern_of(names: Schema) -> str | None:
    """Of keys that fit it, where one can be told."""
    words = names.keys() & {"pattern", "minLength", "maxLength", "format", "anyOf", "oneOf", "allOf", "$ref", "not"}
    if words == {"pattern"} and type(names["pattern"]) is str:
        return str(names["pattern"])
    least, most = names.get("minLength", 0), names.get("maxLength", math.inf)
    if not words or words - {"minLength", "maxLength"} or type(least) is not int or type(most) not in (int, float):
        return None
    return f"^[A-Za-z0-9_-]{{{least},{min(most, max(least, LONGEST_NAME))}}}$"


def reword_patterns(schema: Schema) -> None:
    """A key that is named and matches a pattern must fit both, which LLGuidance does not see."""
    patterns, named, required = (schema.get(key) for key in ("patternProperties", "properties", "required"))
    if type(patterns) is not dict or type(named or {}) is not dict or type(required or []) is not list:
        return
    for name in dict.fromkeys((*(named or ()), *(required or ()))):
        matched = [inner for pattern, inner in patterns.items() if matches(pattern, name)]
        both = [*([named[name]] if named and name in named else []), *matched]
        if matched:
            schema["properties"] = {**schema.get("properties", {}), name: {"allOf": both} if len(both) > 1 else both[0]}


def matches(pattern: str, name: Any) -> bool:
    try:
        return type(name) is str and re.search(pattern, name) is not None
    except re.error:
        return False  # which LLGuidance tells better


def mixes_patterns(schema: Any, *, is_joined: bool = False) -> bool:
    """Do keys that one part names meet patterns of another? LLGuidance takes them apart."""
    if type(schema) is not dict:
        return False
    is_joined = is_joined or bool(JOINING & schema.keys())
    if is_joined and "patternProperties" in schema:
        return True
    inner = [branch for key in JOINING - {"$ref"} for branch in schema.get(key, ()) if type(schema[key]) is list]
    others = [value for key in MAPS for value in (schema.get(key) or {}).values()]
    others += [schema.get(key) for key in ONES] + list(schema.get("prefixItems") or ())
    return any(mixes_patterns(branch, is_joined=True) for branch in inner) or any(map(mixes_patterns, others))


def looks_around(schema: Any) -> bool:
    """Has it a pattern of a kind that no automaton can hold? pydantic's Decimal has, beside a number."""
    pattern: Any = schema.get("pattern") if isinstance(schema, Mapping) else None
    if type(pattern) is not str:
        return False
    fault = LLMatcher.validate_grammar(LLMatcher.grammar_from_regex(pattern))
    return looked_around(fault)


def fault_of(schema: Schema) -> str:
    """Empty where the schema compiles; else the first line of what LLGuidance says."""
    grammar = LLMatcher.grammar_from_json_schema(text_of(schema))
    return first_line(LLMatcher.validate_grammar(grammar))


def closed(schema: Any) -> Any:
    """Without bounds that are not part of what they bound: LLGuidance takes 0 for a number above 0."""
    if type(schema) is list:
        return [closed(inner) for inner in schema]
    if type(schema) is not dict:
        return schema
    plain = {key: closed(inner) for key, inner in schema.items()}
    if plain.get("type") == "number":
        for word, own, step in (("exclusiveMinimum", "minimum", FINEST), ("exclusiveMaximum", "maximum", -FINEST)):
            if type(plain.get(word)) in (int, float) and own not in plain:
                plain[own] = plain.pop(word) + step
    return plain
