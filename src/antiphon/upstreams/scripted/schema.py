"""An instance of a JSON Schema: the first const, default or enum value, else a placeholder of the type.

Every property is filled in, so a client sees the whole shape. What is not understood (patterns, `not`, conditions) is
passed over: this is a fake, not a solver.
"""

from __future__ import annotations

import math
from typing import Any

from antiphon.document import Document

MAX_DEPTH = 12  # a schema may contain itself: from here on only what is required

FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def instance(schema: object, name: str = "text") -> Any:
    """`name` is the placeholder for strings: a property's string value is the property's own name."""
    return _instance(schema, schema if isinstance(schema, dict) else {}, name, 0)


def _instance(schema: object, root: Document, name: str, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > 2 * MAX_DEPTH:
        return name
    schema = _resolve(schema, root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if values := schema.get("enum"):
        return values[0]
    for key in ("anyOf", "oneOf"):
        if options := schema.get(key):
            return _instance(_first_real(options, root), root, name, depth + 1)
    match _type_of(schema):
        case "object":
            return _object(schema, root, depth)
        case "array":
            return _array(schema, root, name, depth)
        case "integer":
            return int(_number(schema, 1))
        case "number":
            return _number(schema, 0.5)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _string(schema, name)


def _resolve(schema: Document, root: Document) -> Document:
    """Follows local references and folds `allOf` into one schema."""
    for _ in range(MAX_DEPTH):
        if not isinstance(ref := schema.get("$ref"), str):
            break
        target: Any = root
        for step in filter(None, ref.removeprefix("#").split("/")):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        schema = {**(target if isinstance(target, dict) else {}), **{k: v for k, v in schema.items() if k != "$ref"}}
    parts = [_resolve(part, root) for part in schema.get("allOf") or () if isinstance(part, dict)]
    return _fold([*parts, {key: value for key, value in schema.items() if key != "allOf"}]) if parts else schema


def _fold(parts: list[Document]) -> Document:
    """All of them at once: properties and requirements add up, of the rest the last one counts."""
    folded: Document = {}
    properties: Document = {}
    required: list[str] = []
    for part in parts:
        folded.update(part)
        properties.update(part.get("properties") or {})
        required += part.get("required") or []
    return {**folded, "properties": properties, "required": required} if properties else folded


def _first_real(options: list[Any], root: Document) -> Any:
    """The first alternative that is not plain null, so that optional fields are shown filled."""
    for option in options:
        if isinstance(option, dict) and _resolve(option, root).get("type") != "null":
            return option
    return options[0]


def _type_of(schema: Document) -> object:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return kind


def _object(schema: Document, root: Document, depth: int) -> Document:
    properties = schema.get("properties")
    required = schema.get("required") or []
    filled = {}
    for name, value in (properties if isinstance(properties, dict) else {}).items():
        if depth < MAX_DEPTH or name in required:
            filled[name] = _instance(value, root, name, depth + 1)
    return filled


def _array(schema: Document, root: Document, name: str, depth: int) -> list[Any]:
    length = schema.get("minItems", 1 if depth < MAX_DEPTH else 0)
    length = min(max(length, 1 if depth < MAX_DEPTH else 0), schema.get("maxItems", length or 1), 100)
    prefix = schema.get("prefixItems") or []
    items = [*prefix[:length], *[schema.get("items", {})] * (length - len(prefix))]
    return [_instance(item, root, name, depth + 1) for item in items]


def _number(schema: Document, usual: float) -> float:
    """The usual number, moved into the bounds and onto a multiple. Without a step, bounds are left by a half."""
    step = schema.get("multipleOf") or (1 if usual == 1 else None)
    value = math.ceil(usual / step) * step if step else usual
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if low is not None and value < low:
        value = math.ceil(low / step) * step if step else low
    if above is not None and value <= above:
        value = (math.floor(above / step) + 1) * step if step else above + 0.5
    if high is not None and value > high:
        value = math.floor(high / step) * step if step else high
    if below is not None and value >= below:
        value = (math.ceil(below / step) - 1) * step if step else below - 0.5
    return value


def _string(schema: Document, name: str) -> str:
    text = FORMATS.get(str(schema.get("format")), name)
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    text = text.ljust(min(shortest, 10_000), "x")
    return text[:longest] if isinstance(longest, int) else text
