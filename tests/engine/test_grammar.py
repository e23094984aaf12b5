"""Schemas become grammars whose every text fits the schema; what cannot be held is refused in OpenAI's words."""

from __future__ import annotations

import datetime
import enum
import json
import uuid
from typing import Annotated, Any, Literal

import jsonschema
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import validators

from antiphon.engine.schema.grammar import START, Grammars, SchemaFault
from antiphon.engine.schema.narrow import LARGE, SMALL, SchemaBounds
from tests.engine.walk import accepts, draw


def grammar_of(schema: dict[str, Any], *, strict: bool = True, bounds: SchemaBounds = SMALL) -> str:
    return START + Grammars(bounds).rule(schema, strict=strict)


def some(schema: dict[str, Any], many: int = 4, *, strict: bool = True) -> list[Any]:
    """Values that the grammar lets through; each fits the schema."""
    grammar = grammar_of(schema, strict=strict)
    values = [json.loads(draw(grammar, seed)) for seed in range(many)]
    validator = validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    for value in values:
        validator.validate(value)
    return values


def refusal(schema: dict[str, Any], *, strict: bool = True) -> str:
    with pytest.raises(SchemaFault) as caught:
        grammar_of(schema, strict=strict)
    return str(caught.value)


# What schemas are made of

NODE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
    "required": ["value", "next"],
}
TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name", "children"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "empty": {},
    "open object": {"type": "object"},
    "any of": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "one of, apart": {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
        ]
    },
    "inheritance": {
        "allOf": [
            {"$ref": "#/$defs/base"},
            {"type": "object", "properties": {"extra": {"type": "boolean"}}, "required": ["extra"]},
        ],
        "$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    },
    "all of, closed": {
        "allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}]
    },
    "either of two keys": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "list": {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
    "tree": TREE,
    "types": {"type": ["string", "null"], "maxLength": 5},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2},
    "old tuple": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"type": "string"}, {"type": "integer"}],
        "minItems": 2,
    },
    "set": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "known keys": {
        "type": "object",
        "propertyNames": {"enum": ["x", "y"]},
        "additionalProperties": {"type": "integer"},
    },
    "patterned keys": {
        "type": "object",
        "propertyNames": {"pattern": "^x"},
        "additionalProperties": {"type": "integer"},
    },
    "pattern properties": {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
    "at least one key": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "minProperties": 1,
    },
    "required only": {"type": "object", "required": ["a", "b"]},
    "an optional part that cannot be held": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "never": {"not": {}}},
        "required": ["a"],
    },
    "enum": {"enum": ["a", 1, None, {"b": [1.5]}]},
    "const": {"const": "x"},
    "nothing": {"type": "string", "maxLength": 0},
    "long": {"type": "string", "minLength": 300},
    "many": {"type": "array", "items": {"type": "boolean"}, "minItems": 10},
    "digits": {"type": "string", "pattern": "^[0-9]{3,}$"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "above": {"type": "number", "exclusiveMinimum": 0},
    "fives": {"type": "integer", "multipleOf": 5, "minimum": 3},
    "far below": {"type": "integer", "maximum": -(10**17)},
    "unknown format": {"type": "string", "format": "binary"},
    "annotations": {
        "$schema": "https://example.com/own",
        "title": "T",
        "description": "d",
        "default": 1,
        "examples": [1],
        "deprecated": True,
        "nullable": True,
        "discriminator": {"propertyName": "k"},
        "x-own": {},
        "type": "integer",
    },
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_every_text_of_the_grammar_fits_the_schema(schema: dict[str, Any]) -> None:
    assert some(schema)


names = st.sampled_from(["a", "b", "c"])
bounds = st.one_of(st.integers(-3, 3), st.integers(-(10**17), 10**17), st.floats(-100, 100).map(lambda x: round(x, 3)))
leaves = st.one_of(
    st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": st.integers(0, 3)}),
    st.fixed_dictionaries({"type": st.just("integer")}, optional={"minimum": st.integers(-5, 5)}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["number", "integer"])},
        optional={
            "minimum": bounds,
            "maximum": bounds,
            "exclusiveMinimum": bounds,
            "exclusiveMaximum": bounds,
            "multipleOf": st.sampled_from([0.5, 1, 7, 1.5, 86400]),
        },
    ),
    st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {"enum": ["x", 1]}, {"$ref": "#/$defs/a"}, {}, {"not": {}}, True]
    ),
)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
            optional={
                "required": st.lists(names, max_size=2, unique=True),
                "additionalProperties": st.one_of(st.booleans(), inner),
                "patternProperties": st.fixed_dictionaries({"^[ax]": inner}),
                "minProperties": st.integers(0, 1),
                "maxProperties": st.integers(0, 2),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 2), "uniqueItems": st.booleans()},
        ),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(leaves, larger, max_leaves=6), st.recursive(leaves, larger, max_leaves=3), st.integers(0, 10**6))
def test_no_schema_gets_an_answer_that_breaks_it(schema: Any, shared: Any, seed: int) -> None:
    whole = {"anyOf": [schema], "$defs": {"a": {"type": "object", "properties": {"a": shared}}}}
    try:
        grammar = grammar_of(whole)
    except SchemaFault:
        return
    jsonschema.validate(json.loads(draw(grammar, seed)), whole)


def test_what_is_open_is_bounded() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array"}}}
    grammar = grammar_of(person)
    assert accepts(grammar, '{"name": "Ann", "tags": ["x", 1]}')
    assert not accepts(grammar, '{"name": "' + "a" * 241 + '"}')
    assert not accepts(grammar, '{"tags": [1, 1, 1, 1, 1, 1]}')
    assert not accepts(grammar, '{"name": "Ann", "more": 1}')
    assert not accepts(grammar_of({"type": "number"}), "0.3333333333")
    assert not accepts(grammar_of({"type": "integer"}), "1" * 17)
    assert not accepts(grammar_of({"type": "object"}), '{"a key that is longer than a name": 1}')
    chain = '{"value": 1, "next": ' * 5 + "null" + "}" * 5
    assert not accepts(grammar_of(SCHEMAS["list"]), chain)


def test_a_larger_model_gets_larger_bounds() -> None:
    grammar = grammar_of({"type": "array", "items": {"type": "string"}}, bounds=LARGE)
    assert accepts(grammar, json.dumps([""] + ["." * 1000] * 50))
    assert not accepts(grammar, json.dumps(["a" * 4001]))


def test_twenty_thousand_words_are_taken() -> None:
    schema = {"enum": [f"word {number}" for number in range(20_000)]}
    assert accepts(grammar_of(schema), '"word 19999"')


# Generators


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = pydantic.Field(default=9, ge=0, le=9)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    color: Color | None = None


class Owner(pydantic.BaseModel):
    """Most of what pydantic spells."""

    id: uuid.UUID
    name: str = pydantic.Field(description="full name", max_length=20, examples=["Ann"])
    born: datetime.date
    seen: datetime.datetime | None
    pets: list[Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]]
    scores: dict[str, float]
    limits: dict[Literal["low", "high"], int]
    tags: set[str] = set()
    pair: tuple[int, str]
    friend: Owner | None = None
    secret: pydantic.SecretStr | None = None
    link: pydantic.AnyUrl | None = None
    anything: Any = None


def test_pydantic_reads_what_its_schema_made() -> None:
    for value in some(Owner.model_json_schema(), many=8):
        Owner.model_validate(value)


def test_a_branch_that_cannot_be_held_leaves_the_others() -> None:
    """pydantic's Decimal, until 2.13."""
    schema = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}]}
    assert all(type(value) in (int, float) for value in some(schema))


def test_zod_reads_what_its_schema_made() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1},
            "rating": {"type": "integer", "minimum": 1, "maximum": 5},
            "links": {"type": "array", "items": {"type": "string", "format": "uri"}},
            "size": {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
            "shape": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"type": {"type": "string", "const": "round"}, "radius": {"type": "number"}},
                        "required": ["type", "radius"],
                        "additionalProperties": False,
                    },
                    {"type": "null"},
                ]
            },
            "more": {
                "type": "object",
                "propertyNames": {"type": "string"},
                "additionalProperties": {"type": "boolean"},
            },
        },
        "required": ["title", "rating", "links", "size", "shape"],
        "additionalProperties": False,
    }
    some(schema, many=8)


# Refusals


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "banana"}, "Invalid type: banana"),
        ({"type": "string", "pattern": "(ab"}, "unclosed group"),
        ({"type": "string", "pattern": "^(?=a)b"}, "look-around"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum (5) is greater than maximum (3)"),
        ({"$ref": "#/$defs/nobody"}, "'$ref' leads nowhere: there is no 'nobody'."),
        (
            {"$ref": "https://example.com/x.json"},
            "'$ref' leads to another document ('x.json'), which is not permitted.",
        ),
        ({"not": {"type": "string"}}, "'not' is not permitted."),
        ({"type": "array", "contains": {}, "minItems": 1}, "'contains' is not permitted."),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "'oneOf' is not permitted where its schemas overlap."),
        ({"enum": []}, "Unsatisfiable schema"),
        ({"enum": list(range(20_001))}, "too many enum values"),
        ({"type": "string", "pattern": "(a{1000}){1000}"}, "pattern is too complex"),
        ({"description": "x" * 1_000_001}, "schema is too large"),
    ],
)
def test_a_schema_that_cannot_be_held_is_refused(schema: dict[str, Any], fault: str) -> None:
    assert fault in refusal(schema)


def test_a_bottomless_schema_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    assert "nested too deeply" in refusal(schema)


def test_without_strict_what_cannot_be_held_is_left_out() -> None:
    """OpenAI's best effort: agents bring schemas of others' making, and one keyword must not stop them."""
    schema = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "contains": {"const": 1}},
            "price": {"type": "string", "pattern": "^(?!0)[0-9]+$"},
            "size": {"oneOf": [{"type": "number"}, {"type": "integer"}]},
        },
        "required": ["tags", "price", "size"],
        "if": {"required": ["tags"]},
        "then": {"required": ["size"]},
    }
    refusal(schema)
    assert accepts(grammar_of(schema, strict=False), '{"tags": [1, 1], "price": "012", "size": 1}')
    assert refusal({"type": "object", "properties": {"a": {"type": "banana"}}}, strict=False) == "Invalid type: banana"


# Numbers


NUMBERS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({}, ["-74.006", "-5", "0", "12.5", "999999999999999"], ["0.3333333", "1" * 16, "-0.1234567", "01", "1e5"]),
    ({"minimum": -90, "maximum": 90}, ["-90", "90", "90.0", "-89.999999", "0.5"], ["90.1", "-90.000001", "91", "-100"]),
    ({"exclusiveMinimum": 0}, ["0.000001", "1", "0.1"], ["0", "0.0", "-0", "-1"]),
    ({"exclusiveMaximum": 0}, ["-0.5", "-1"], ["0", "-0", "-0.0", "1"]),
    ({"maximum": -1}, ["-1", "-1.0", "-1.5", "-74.006"], ["-0.999", "1", "0"]),
    (
        {"minimum": -2.75, "exclusiveMaximum": -0.5},
        ["-2.75", "-1", "-0.500001", "-0.6"],
        ["-2.76", "-0.5", "-0.50", "0"],
    ),
    ({"minimum": 0, "maximum": 1}, ["0", "1", "0.999999", "1.0"], ["1.01", "-0.5", "2"]),
    (
        {"minimum": 12.345, "maximum": 1200},
        ["12.345", "13", "99", "100", "1199.5", "1200"],
        ["12.344", "12.3", "12", "1200.1"],
    ),
    ({"multipleOf": 0.25, "minimum": -1}, ["-0.5", "0.75", "3"], ["-1.25", "0.3"]),
]


@pytest.mark.parametrize(("bounds", "inside", "outside"), NUMBERS)
def test_numbers_are_of_few_digits_and_within_their_bounds(
    bounds: dict[str, Any], inside: list[str], outside: list[str]
) -> None:
    grammar = grammar_of({"type": "number", **bounds})
    assert [text for text in inside if not accepts(grammar, text)] == []
    assert [text for text in outside if accepts(grammar, text)] == []


def test_keys_that_are_named_and_match_a_pattern_fit_both() -> None:
    patterned = {"patternProperties": {"^a": {"type": "string", "maxLength": 1}}, "required": ["ab"]}
    assert all(len(value["ab"]) <= 1 for value in some({"type": "object", **patterned}))
    assert refusal({"type": "object", "properties": {"ab": {"type": "integer"}}, **patterned})


def test_counts_multiply_only_where_one_stands_in_another() -> None:
    beside = r"^[0-9a-f]{80}-[0-9a-f]{80}-[0-9a-f]{80}$"
    assert grammar_of({"type": "string", "pattern": beside})
    assert "too complex" in refusal({"type": "string", "pattern": "^(([a-z]{80}-){80}){80}$"})


def test_what_a_branch_would_lose_is_not_taken_though_not_strict() -> None:
    """pydantic's Decimal: the string's pattern cannot be held, the number can."""
    schema = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}]}
    assert all(type(value) in (int, float) for value in some(schema, strict=False))
