"""Names of Gemini's fields. Google's JSON has two spellings, `generationConfig` and `generation_config`."""

from __future__ import annotations

from antiphon.apis.reading import wrong_type
from antiphon.document import Document


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def named(value: object, param: str) -> Document:
    """An object with its names in one spelling, without nulls."""
    if not isinstance(value, dict):
        raise wrong_type(param or "the body", "an object", value)
    return {camel(name): inner for name, inner in value.items() if inner is not None}
