"""LLGuidance's complaints about a schema, in OpenAI's manner: many of its own speak of itself."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from antiphon.chat.checks import listed
from antiphon.engine.schema.matching import TOO_COMPLEX

REFERENCE: Final = re.compile("(Pointer|Resource|Anchor) '([^']*)' ")
# Of what is no JSON Schema at all: no reading of ours makes it one.
SHAPES: Final = tuple(
    (re.compile(sign), words)
    for sign, words in (
        (r"Expected f64 for ('\w+')", r"\1 must be a number."),
        (r"Expected positive integer for ('\w+')", r"\1 must be an integer that is not negative."),
        (r"Expected (\w+) for ('\w+') item", r"\2 must be an array of \1s."),
        (r"Expected array for ('\w+')", r"\1 must be an array."),
        (r"Expected (\w+) for ('\w+')", r"\2 must be a \1."),
        (r"schema must be an object or boolean", "each schema must be an object or a boolean."),
        (r"type must be a string or array of strings", "'type' must be a string or an array of strings."),
        (r"(\$?\w+) must be (an? \w+)", r"'\1' must be \2."),
        (r"invalid multiple of", "'multipleOf' must be above 0."),
    )
)
# What LLGuidance says of a grammar that is too much for it.
OVERSTRAINED: Final = (
    "max is",
    "too many",
    "too big",
    "too large",
    "fuel",
    "Unable to determine",
    "lexer error",
    "limit",
)


def is_malformed(fault: str) -> bool:
    return any(sign.match(fault) for sign, _ in SHAPES)


def looked_around(fault: str) -> bool:
    return any(word in fault for word in ("look-around", "lookarounds", "backreferences"))


def worded(fault: str) -> str:
    """In words for whoever wrote the schema."""
    if looked_around(fault):
        return "patterns with look-around, '\\b' or back references are not permitted."
    if "circular" in fault:
        return "'$ref' leads back to itself."
    for sign, words in SHAPES:
        if found := sign.match(fault):
            return found.expand(words)
    if fault.startswith("Unimplemented keys: "):
        keys = msgspec.json.decode(fault.removeprefix("Unimplemented keys: "))
        return f"{listed(tuple(keys))} {'is' if len(keys) == 1 else 'are'} not permitted."
    if fault.startswith("oneOf constraints"):
        return "'oneOf' is not permitted where its schemas overlap. Use 'anyOf'."
    if fault.startswith(("NoExtensionBias", "Failed to generate regex for", "Unsatisfiable schema: Regex is empty")):
        return "no value can fit it."
    if any(word in fault for word in OVERSTRAINED):
        return TOO_COMPLEX
    found = REFERENCE.match(fault)
    if found is None:
        return fault
    # Not the whole path: it may look like an address, and addresses are taken out of messages.
    place = found.group(2).rpartition("/")[2]
    return (
        f"'$ref' leads nowhere: there is no '{place}'."
        if found.group(1) != "Resource"
        else f"'$ref' leads to another document ('{place}'), which is not permitted."
    )
