"""JSON Schema as Gemini takes it in `parametersJsonSchema` and `responseJsonSchema`.

Most of it travels as it is. What Gemini reads over is said in other words where there are some: `const` is an enum of
one, a single `allOf` is its content, OpenAPI's `nullable` is a type, `definitions` are `$defs`. Beside a `$ref` only
names with `$` may stand. What has no other words is dropped and named. Nothing is reordered, the schema is not edited.
"""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes

_DEEPEST: Final = 64
# Keywords that hold schemas: by name, in a list, or one.
_NAMED: Final = frozenset({"properties", "$defs"})
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE: Final = frozenset({"items", "additionalProperties"})
# Constraints that Gemini has no words for.
_DROPPED: Final = frozenset(
    {
        *("not", "if", "then", "else", "patternProperties", "propertyNames", "contains", "minContains"),
        *("maxContains", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"),
        *("unevaluatedItems", "additionalItems"),
    }
)
_SILENT: Final = frozenset({"$schema", "$comment", "discriminator", "strict"})
_BESIDE_REF: Final = frozenset({"title"})  # seen to be accepted
_OWN: Final = frozenset({"$ref", "const", "definitions", "nullable", "exclusiveMinimum", "exclusiveMaximum"})
_TOUCHED: Final = _NAMED | _LISTED | _SINGLE | _DROPPED | _SILENT | _OWN
_BOUNDS: Final = {"exclusiveMinimum": ("minimum", 1), "exclusiveMaximum": ("maximum", -1)}


def adapt(schema: Document, param: str, changes: Changes) -> Document:
    lost: set[str] = set()
    adapted: Document = _schema(schema, lost, 0)
    if lost:
        changes.drop(param, f"Gemini has no {', '.join(repr(word) for word in sorted(lost))} in schemas")
    return adapted


def _schema(schema: Any, lost: set[str], depth: int) -> Any:
    if type(schema) is not dict or _TOUCHED.isdisjoint(schema) or depth > _DEEPEST:
        return schema
    adapted: Document = {}
    for key, value in schema.items():
        if key in _NAMED and type(value) is dict:
            adapted[key] = {name: _schema(inner, lost, depth + 1) for name, inner in value.items()}
        elif key in _LISTED and type(value) is list:
            adapted[key] = [_schema(inner, lost, depth + 1) for inner in value]
        elif key in _SINGLE:
            adapted[key] = _schema(value, lost, depth + 1)
        elif key in _OWN:
            _rewrite(key, value, schema, adapted, lost)
        elif key in _DROPPED:
            lost.add(key)
        elif key not in _SILENT:
            adapted[key] = value
    if "definitions" in schema and "$defs" not in schema:
        adapted["$defs"] = _schema({"$defs": schema["definitions"]}, lost, depth)["$defs"]
    if schema.get("nullable") is True and "type" in adapted:
        adapted["type"] = _with_null(adapted["type"])
    if "allOf" in adapted and not _merge(adapted, adapted.pop("allOf")):
        lost.add("allOf")
    return _stand_alone(adapted) if "$ref" in adapted else adapted


def _rewrite(key: str, value: Any, schema: Document, adapted: Document, lost: set[str]) -> None:
    if key == "const":
        adapted["enum"] = [value]
    elif key == "$ref":
        adapted[key] = value.replace("#/definitions/", "#/$defs/") if type(value) is str else value
    elif key in _BOUNDS:
        bound, step = _BOUNDS[key]
        if schema.get("type") == "integer" and type(value) is int and bound not in schema:
            adapted[bound] = value + step
        else:
            lost.add(key)


def _with_null(kind: Any) -> Any:
    kinds = kind if type(kind) is list else [kind]
    return kinds if "null" in kinds else [*kinds, "null"]


def _merge(adapted: Document, schemas: Any) -> bool:
    """`allOf` of schemas that do not contradict each other is one schema. False: they do."""
    merged = dict(adapted)
    for schema in schemas if type(schemas) is list else ():
        if type(schema) is not dict:
            return False
        for key, value in schema.items():
            known = merged.get(key)
            if key not in merged or known == value:
                merged[key] = value
            elif key == "required" and type(known) is list and type(value) is list:
                merged[key] = [*known, *(name for name in value if name not in known)]
            elif key in _NAMED and type(known) is dict and all(known.get(name, it) == it for name, it in value.items()):
                merged[key] = {**known, **value}
            elif key not in ("title", "description"):
                return False
    adapted.update(merged)
    return True


def _stand_alone(adapted: Document) -> Document:
    """A `$ref` with others beside it becomes an alternative of one, which may have them."""
    if all(key[:1] == "$" or key in _BESIDE_REF for key in adapted):
        return adapted
    reference = {"$ref": adapted["$ref"]}
    return {
        **({} if "anyOf" in adapted else {"anyOf": [reference]}),
        **{key: value for key, value in adapted.items() if key != "$ref"},
    }
