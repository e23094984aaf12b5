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

from antiphon.engine.grammar import Place, answer_grammar, json_object_grammar, schema_grammar
from antiphon.engine.narrow import LARGE
from antiphon.errors import RequestError
from tests.engine.walk import accepts, draw

STRICT = Place("response_format 'reply'", "response_format")
LENIENT = Place("function 'f'", "tools[0].function.parameters", "invalid_function_parameters", strict=False)


def some(schema: dict[str, Any], place: Place = STRICT, many: int = 4) -> list[Any]:
    """Values that the grammar lets through; each fits the schema."""
    grammar = schema_grammar(schema, place)
    values = [json.loads(draw(grammar, seed)) for seed in range(many)]
    validator = validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    for value in values:
        validator.validate(value)
    return values


def refusal(schema: dict[str, Any], place: Place = STRICT) -> RequestError:
    with pytest.raises(RequestError) as caught:
        schema_grammar(schema, place)
    return caught.value


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
leaves = st.one_of(
    st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": st.integers(0, 3)}),
    st.fixed_dictionaries({"type": st.just("integer")}, optional={"minimum": st.integers(-5, 5)}),
    st.fixed_dictionaries({"type": st.just("number")}, optional={"maximum": st.integers(-5, 5)}),
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
        grammar = schema_grammar(whole, STRICT)
    except RequestError:
        return
    jsonschema.validate(json.loads(draw(grammar, seed)), whole)


def test_what_is_open_is_bounded() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array"}}}
    grammar = schema_grammar(person, STRICT)
    assert accepts(grammar, '{"name": "Ann", "tags": ["x", 1]}')
    assert not accepts(grammar, '{"name": "' + "a" * 241 + '"}')
    assert not accepts(grammar, '{"tags": [1, 1, 1, 1, 1, 1]}')
    assert not accepts(grammar, '{"name": "Ann", "more": 1}')
    assert not accepts(schema_grammar({"type": "number"}, STRICT), "0.3333333333")
    assert not accepts(schema_grammar({"type": "integer"}, STRICT), "1" * 17)
    chain = '{"value": 1, "next": ' * 5 + "null" + "}" * 5
    assert not accepts(schema_grammar(SCHEMAS["list"], STRICT), chain)


def test_a_larger_model_gets_larger_bounds() -> None:
    grammar = schema_grammar({"type": "array", "items": {"type": "string"}}, STRICT, LARGE)
    assert accepts(grammar, json.dumps([""] + ["." * 1000] * 50))
    assert not accepts(grammar, json.dumps(["a" * 4001]))


def test_twenty_thousand_words_are_taken() -> None:
    schema = {"enum": [f"word {number}" for number in range(20_000)]}
    assert accepts(schema_grammar(schema, STRICT), '"word 19999"')


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
        ({"$ref": "#/$defs/nobody"}, "reference '/$defs/nobody' does not exist."),
        ({"$ref": "https://example.com/x.json"}, "reference 'https://example.com/x.json' does not exist."),
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
    error = refusal(schema)
    assert error.message.startswith("Invalid schema for response_format 'reply': ")
    assert fault in error.message
    assert (error.status, error.param, error.code) == (400, "response_format", None)


def test_a_bottomless_schema_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    assert "nested too deeply" in refusal(schema).message


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
    assert accepts(schema_grammar(schema, LENIENT), '{"tags": [1, 1], "price": "012", "size": 1}')
    error = refusal({"type": "object", "properties": {"a": {"type": "banana"}}}, LENIENT)
    assert error.message == "Invalid schema for function 'f': Invalid type: banana"
    assert error.param == "tools[0].function.parameters"
    assert error.code == "invalid_function_parameters"


# response_format


def asked(form: dict[str, Any] | None, *said: str) -> str | None:
    messages = [{"role": "user", "content": text} for text in said or ("Reply in JSON.",)]
    return answer_grammar({"response_format": form, "messages": messages}, messages)


def test_text_has_no_grammar() -> None:
    assert asked(None) is None
    assert asked({"type": "text"}) is None


def test_a_schema_is_kept_to() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    grammar = asked({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}})
    assert grammar is not None
    assert accepts(grammar, '{"n": 5}')
    assert not accepts(grammar, '{"n": "5"}')


def test_a_schema_may_be_missing() -> None:
    grammar = asked({"type": "json_schema", "json_schema": {"name": "reply"}})
    assert grammar is not None
    assert isinstance(json.loads(draw(grammar, 1)), dict)


def test_a_vendors_format_is_refused() -> None:
    with pytest.raises(RequestError, match="'response_format' of type 'ebnf' is not supported") as caught:
        asked({"type": "ebnf", "ebnf": "root ::= x"})
    assert caught.value.param == "response_format"


def test_any_object_is_small() -> None:
    grammar = asked({"type": "json_object"})
    assert grammar is not None
    assert accepts(grammar, '{"name": "Ann", "age": 5, "tags": ["x", null]}')
    assert not accepts(grammar, "[1]")
    assert not accepts(grammar, "{}")
    for seed in range(4):
        assert isinstance(json.loads(draw(grammar, seed)), dict)


PERSON = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
INSTRUCTOR = (
    "As a genius expert, your task is to understand the content and provide the parsed objects in json that match the "
    f"following json_schema:\n\n{json.dumps({'type': 'object', **PERSON}, indent=2)}\n\nMake sure to return an "
    "instance of the JSON, not the schema itself"
)
LANGCHAIN = (
    'As an example, for the schema {"properties": {"foo": {"title": "Foo", "type": "array", "items": {"type": '
    '"string"}}}, "required": ["foo"]} the object {"foo": ["bar", "baz"]} is a well-formatted instance. The object '
    '{"properties": {"foo": ["bar", "baz"]}} is not well-formatted.\n\nHere is the output schema:\n```\n'
    f"{json.dumps(PERSON)}\n```"
)


@pytest.mark.parametrize("told", [INSTRUCTOR, LANGCHAIN])
def test_a_schema_in_the_prompt_counts(told: str) -> None:
    grammar = json_object_grammar([{"content": told}, {"content": "Ann is 5."}])
    assert accepts(grammar, '{"name": "Ann", "age": 5}')
    assert not accepts(grammar, '{"name": "Ann"}')
    assert not accepts(grammar, '{"other": 1}')


@pytest.mark.parametrize(
    "told",
    [
        'Reply in JSON like {"name": "Ann", "age": 5}.',
        'Describe {"properties": {"foo": ["bar"]}} in JSON.',
        'JSON {"properties": {"a": {"type": "banana"}}}',
        "JSON " + "{" * 10_000,
        "JSON {{{ {",
    ],
)
def test_other_braces_in_the_prompt_do_not(told: str) -> None:
    assert accepts(json_object_grammar([{"content": told}]), '{"any": "thing"}')
