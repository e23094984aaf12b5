"""A JSON Schema found in the text of a conversation, as instructor, LangChain and pydantic-ai write it there."""

from __future__ import annotations

import json
from typing import Any, Final

Schema = dict[str, Any]
MOST_TRIES: Final = 64  # braces at which a schema might begin
DECODER: Final = json.JSONDecoder()


def schema_in(texts: list[str]) -> Schema | None:
    """The last schema in the first text that has one. The last: LangChain shows an example before it."""
    for text in texts:
        found = schemas_in(text)
        if found:
            return found[-1]
    return None


def schemas_in(text: str) -> list[Schema]:
    found: list[Schema] = []
    at = 0
    for _ in range(MOST_TRIES):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if is_schema(value):
            found.append(value)
    return found


def is_schema(value: Any) -> bool:
    """An object type with properties. Its instance would have values there, not schemas."""
    properties = value.get("properties")
    return type(properties) is dict and all(
        type(inner) is bool or (type(inner) is dict and is_field(inner)) for inner in properties.values()
    )


def is_field(schema: Schema) -> bool:
    return not schema or bool(schema.keys() & {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "title"})
