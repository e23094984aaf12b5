"""The limits that docs/engine.md promises hold for schemas of every kind; a refusal says what its reader can mend."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from antiphon.engine.schema.grammar import START, Grammars, SchemaFault
from antiphon.engine.schema.narrow import shortened
from tests.engine.walk import accepts, draw


def grammar_of(schema: dict[str, Any], *, strict: bool = False) -> str:
    return START + Grammars().rule(schema, strict=strict)


def refusal(schema: dict[str, Any], *, strict: bool = False) -> str:
    with pytest.raises(SchemaFault) as caught:
        grammar_of(schema, strict=strict)
    return str(caught.value)


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


# Keys

COLORS = {"$defs": {"C": {"title": "Color", "enum": ["red", "green"]}}, "propertyNames": {"$ref": "#/$defs/C"}}


@pytest.mark.parametrize("strict", [True, False])
def test_keys_by_reference_are_held(strict: bool) -> None:
    """pydantic's dict[Color, int]."""
    schema = {**COLORS, "type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}
    grammar = grammar_of(schema, strict=strict)
    assert accepts(grammar, '{"red": 1, "green": 2}')
    assert not accepts(grammar, '{"blue": 1}')
    assert not accepts(grammar, "{}")


def test_keys_of_a_length_are_held() -> None:
    grammar = grammar_of({"type": "object", "propertyNames": {"minLength": 3, "maxLength": 5}}, strict=True)
    assert accepts(grammar, '{"abc": 1}')
    assert not accepts(grammar, '{"ab": 1}')
    assert not accepts(grammar, '{"abcdef": 1}')


def test_more_keys_than_there_may_be_are_none() -> None:
    schema = {"type": "object", "patternProperties": {"^a": {"type": "number"}}, "additionalProperties": False}
    assert refusal({**schema, "minProperties": 1, "maxProperties": 0})


# Runs


@pytest.mark.parametrize(
    ("pattern", "short"),
    [
        (r"^\d+$", r"^\d{1,9}$"),
        (r"^[1-9]\d*(\.[0-9]{2,})?$", r"^[1-9]\d{0,9}(\.[0-9]{2,9})?$"),
        (r"^[+-]?0*\d*\.?\d*$", r"^[+-]?0{0,9}\d{0,9}\.?\d{0,9}$"),
        (r"^[0-9]{12,}$", r"^[0-9]{12,12}$"),
        (r"^[a-z_]+@\w*?x$", r"^[a-z_]{1,40}@\w{0,40}?x$"),
        (r"^\+.*[^@]+[a-z ]+\d{2}\d{2,3}[+*]\\d+a+$", r"^\+.*[^@]+[a-z ]+\d{2}\d{2,3}[+*]\\d+a+$"),
        (r"^\p{L}+[[:alpha:]]+\S+$", r"^\p{L}+[[:alpha:]]+\S+$"),
    ],
)
def test_runs_without_an_end_get_one(pattern: str, short: str) -> None:
    assert shortened(pattern, 40) == short


def test_runs_are_bounded_where_the_schema_leaves_room() -> None:
    version = grammar_of({"type": "string", "pattern": r"^(0|[1-9]\d*)\.(0|[1-9]\d*)$"})
    assert accepts(version, '"1.25"')
    assert not accepts(version, f'"1.{"1" * 11}"')
    assert accepts(grammar_of({"type": "string", "pattern": r"^\d+$", "minLength": 30}), f'"{"1" * 30}"')


def test_durations_are_short() -> None:
    grammar = grammar_of({"type": "string", "format": "duration"}, strict=True)
    assert [text for text in ("P3D", "PT15M", "P1Y2M3DT4H5M6S", "P2W") if not accepts(grammar, f'"{text}"')] == []
    assert [text for text in ("P", "PT", "P12345D", "P1DT", "15M") if accepts(grammar, f'"{text}"')] == []


# What used to be left as it was, with all its other parts

REFERRED = {"$defs": {"x": {"type": "integer", "maximum": 105, "$anchor": "x"}}}
SHORT: dict[str, Any] = {
    "a reference beside keywords": {"$ref": "#/$defs/x", "minimum": 100},
    "an anchor": {"$ref": "#x"},
    "a tiny number": {"type": "number", "minimum": 1e-7, "maximum": 2e-7},
    "a huge integer": {"type": "integer", "minimum": 10**18},
    "a huge negative integer": {"type": "integer", "exclusiveMaximum": -(10**18)},
    "a huge number": {"type": "number", "minimum": 1e20, "maximum": 1e21},
    "a huge number, open": {"type": "number", "exclusiveMinimum": 1e25},
    "enums that meet": {"allOf": [{"enum": [1, 2, 3, True]}, {"enum": [2, 3, 4, 1.0]}]},
    "bounds that meet": {"allOf": [{"type": "number", "minimum": 5}, {"type": "integer", "minimum": 7, "maximum": 8}]},
    "fields that meet": {"allOf": [obj(a={"type": "integer"}), obj(a={"type": "integer", "minimum": 3, "maximum": 4})]},
    "a document within": {"$ref": "y.json"},
}


@pytest.mark.parametrize("inner", SHORT.values(), ids=SHORT.keys())
@pytest.mark.parametrize("strict", [True, False])
def test_one_part_does_not_open_the_others(inner: dict[str, Any], strict: bool) -> None:
    schema = {**obj(a=inner, s={"type": "string"}), **REFERRED}
    schema["$defs"] = {**schema["$defs"], "y": {"$id": "y.json", "type": "boolean"}}
    grammar = grammar_of(schema, strict=strict)
    values = [json.loads(draw(grammar, seed)) for seed in range(4)]
    for value in values:
        jsonschema.validate(value, schema)
    begun = draw(grammar, 0).rpartition('"s": ')[0] + '"s": '
    assert accepts(grammar, begun + '"short"}')
    assert not accepts(grammar, begun + f'"{"a" * 241}"}}')
    assert not accepts(grammar, begun + '"short", "more": 1}')


@pytest.mark.parametrize("bound", [{"maximum": 10**30}, {"exclusiveMaximum": 1e18}, {"minimum": -(10**18)}, {}])
def test_integers_have_fifteen_digits(bound: dict[str, Any]) -> None:
    grammar = grammar_of({"type": "integer", **bound})
    assert [text for text in ("9" * 15, "-" + "9" * 15, "0") if not accepts(grammar, text)] == []
    assert [text for text in ("1" * 16, "-" + "1" * 16) if accepts(grammar, text)] == []


# Words


LOOK_AROUND = "patterns with look-around, '\\b' or back references are not permitted."


@pytest.mark.parametrize("pattern", [r"\bword\b", "^(?=a)b", r"(a)\1", r"\Bx"])
def test_what_no_automaton_holds_is_told_or_left_out(pattern: str) -> None:
    assert refusal(obj(a={"type": "string", "pattern": pattern}), strict=True) == LOOK_AROUND
    assert accepts(grammar_of(obj(a={"type": "string", "pattern": pattern})), '{"a": "any"}')


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "object", "properties": []}, "'properties' must be an object."),
        ({"type": "object", "required": "a"}, "'required' must be an array."),
        ({"type": "object", "required": [1]}, "'required' must be an array of strings."),
        ({"type": 7}, "'type' must be a string or an array of strings."),
        ({"type": "array", "items": 5}, "each schema must be an object or a boolean."),
        ({"anyOf": {}}, "'anyOf' must be an array."),
        ({"type": "integer", "minimum": "a"}, "'minimum' must be a number."),
        ({"type": "string", "minLength": -1}, "'minLength' must be an integer that is not negative."),
        ({"type": "string", "pattern": 3}, "'pattern' must be a string."),
        ({"type": "number", "multipleOf": 0}, "'multipleOf' must be above 0."),
        ({"type": "object", "allOf": [{"$ref": "#"}]}, "'$ref' leads back to itself."),
        ({"type": "string", "pattern": "^a{2}$", "minLength": 5}, "no value can fit it."),
    ],
)
def test_a_fault_is_told_in_its_readers_words(schema: dict[str, Any], fault: str, strict: bool) -> None:
    assert refusal(schema, strict=strict) == fault
