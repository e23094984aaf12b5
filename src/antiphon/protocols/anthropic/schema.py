"""JSON schemas for structured output and strict tools: what the vendor's grammar lacks is told in words.

It takes no limits of numbers, lengths and sizes, few formats, and closed objects only. As the vendor's SDKs do, a
keyword that it lacks moves into the description. Keys keep their order.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from antiphon.document import Document
from antiphon.protocols.changes import Changes

_LACKS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "unevaluatedItems"),
        *("minProperties", "maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties"),
        *("if", "then", "else", "not", "dependentRequired", "dependentSchemas"),
    }
)
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_ONE: Final = frozenset({"items", "additionalItems"})
_MANY: Final = frozenset({"anyOf", "oneOf", "allOf"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions"})
_DEEPEST: Final = 100


def adapt(schema: Document, param: str, changes: Changes) -> Document:
    """The schema as the vendor takes it; the very same object where it does so already."""
    adapted: Document = _adapt(schema, 0)
    if adapted is not schema:
        changes.rewrite(param, "the vendor takes fewer keywords: the others stand in descriptions")
    return adapted


def _adapt(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema
    out: Document = {}
    moved: Document = {}
    same = True
    for key, value in schema.items():
        if _is_lacking(key, value):
            moved[key] = value
            continue
        name = "anyOf" if key == "oneOf" and "anyOf" not in schema else key
        out[name] = inner = _inner(key, value, depth)
        same = same and inner is value and name == key
    if _is_object(schema) and schema.get("additionalProperties") is not False:
        if schema.get("additionalProperties") not in (None, True):
            moved["additionalProperties"] = schema["additionalProperties"]
        out["additionalProperties"] = same = False
    if moved:
        said = msgspec.json.encode(moved).decode()
        out["description"] = f"{out['description']}\n\n{said}" if out.get("description") else said
    return schema if same and not moved else out


def _is_lacking(key: str, value: object) -> bool:
    if key == "minItems":
        return value not in (0, 1)
    return key in _LACKS or (key == "format" and value not in _FORMATS)


def _inner(key: str, value: Any, depth: int) -> Any:
    if key in _ONE:
        return _adapt(value, depth + 1)
    if key in _MANY and isinstance(value, list):
        items = [_adapt(item, depth + 1) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if key in _NAMED and isinstance(value, dict):
        named = {name: _adapt(item, depth + 1) for name, item in value.items()}
        return value if all(named[name] is value[name] for name in value) else named
    return value


def _is_object(schema: Document) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or ("properties" in schema and not kind)
