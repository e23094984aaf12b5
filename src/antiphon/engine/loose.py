"""Some bounds for a schema that cannot be narrowed (`narrow`), where they cannot be in the way of its other parts."""

from __future__ import annotations

from functools import partial
from typing import Any

from antiphon.engine.narrow import Bounds, bounded
from antiphon.engine.pointers import within
from antiphon.engine.readable import JOINING, mapped

OPEN = frozenset({"additionalProperties", "patternProperties", "minProperties"})


def loosely(schema: Any, bounds: Bounds) -> Any:
    """As it is where schemas are joined: what one of them leaves open another may need."""
    if any("allOf" in inner or ("$ref" in inner and len(inner) > 1) for inner in within(schema) if inner is not schema):
        return schema
    return loose(schema, bounds)


def loose(schema: Any, bounds: Bounds) -> Any:
    if type(schema) is not dict or schema.keys() & (JOINING - {"$ref"}):
        return schema
    made = mapped(schema, partial(loose, bounds=bounds))
    kind = made.get("type")
    if made.keys() & {"enum", "const", "$ref"}:
        return made
    if kind == "object" and made.get("properties") and not OPEN & made.keys():
        if set(made.get("required", ())) <= made["properties"].keys():
            made["additionalProperties"] = False
    elif kind == "string" and "format" not in made:
        made["maxLength"] = bounded(made, "minLength", "maxLength", bounds.text)
    elif kind == "array" and "prefixItems" not in made:
        made["maxItems"] = bounded(made, "minItems", "maxItems", bounds.items)
    return made
