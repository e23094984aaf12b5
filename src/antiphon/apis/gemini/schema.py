"""Gemini's schemas (a subset of OpenAPI's: `"type": "STRING"`, `nullable`) as JSON schemas."""

from __future__ import annotations

from typing import Any, Final

from antiphon.apis.gemini.words import camel
from antiphon.document import Document

_TYPES: Final = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_NUMBERS: Final = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_DEEPEST: Final = 64


def json_schema(schema: object, depth: int = 0) -> Any:
    """Numbers that Google's JSON writes as texts become numbers. Keys that are unknown travel."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema
    out: Document = {}
    for name, value in schema.items():
        key = camel(name)
        if key == "type" and isinstance(value, str):
            out[key] = value.lower() if value in _TYPES else value
        elif key == "properties" and isinstance(value, dict):
            out[key] = {name: json_schema(inner, depth + 1) for name, inner in value.items()}
        elif key in ("anyOf", "prefixItems") and isinstance(value, list):
            out[key] = [json_schema(inner, depth + 1) for inner in value]
        elif key in ("items", "additionalProperties"):
            out[key] = json_schema(value, depth + 1)
        elif key in _NUMBERS and isinstance(value, str) and value.isdecimal():
            out[key] = int(value)
        elif key not in ("nullable", "propertyOrdering"):
            out[key] = value
    if schema.get("nullable") is True and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
    return out
