"""What `response_format` demands becomes a grammar; a schema may stand in the conversation itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.engine.response_format import answer_grammar
from antiphon.engine.schema.narrow import SMALL
from antiphon.errors import RequestError
from tests.engine.here import Here
from tests.engine.walk import accepts, draw


async def asked(form: dict[str, Any] | None, *said: str) -> str | None:
    messages = [{"role": "user", "content": text} for text in said or ("Reply in JSON.",)]
    return await answer_grammar({"response_format": form, "messages": messages}, messages, Here(), SMALL)


async def told_object(*said: str) -> str:
    grammar = await asked({"type": "json_object"}, *said)
    assert grammar is not None
    return grammar


async def test_text_has_no_grammar() -> None:
    assert await asked(None) is None
    assert await asked({"type": "text"}) is None


async def test_a_schema_is_kept_to() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    grammar = await asked({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}})
    assert grammar is not None
    assert accepts(grammar, '{"n": 5}')
    assert not accepts(grammar, '{"n": "5"}')


async def test_a_schema_may_be_missing() -> None:
    grammar = await asked({"type": "json_schema", "json_schema": {"name": "reply"}})
    assert grammar is not None
    assert isinstance(json.loads(draw(grammar, 1)), dict)


async def test_a_vendors_format_is_refused() -> None:
    with pytest.raises(RequestError, match="'response_format' of type 'ebnf' is not supported") as caught:
        await asked({"type": "ebnf", "ebnf": "root ::= x"})
    assert caught.value.param == "response_format"


async def test_any_object_is_small() -> None:
    grammar = await asked({"type": "json_object"})
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
async def test_a_schema_in_the_prompt_counts(told: str) -> None:
    grammar = await told_object(told, "Ann is 5.")
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
async def test_other_braces_in_the_prompt_do_not(told: str) -> None:
    assert accepts(await told_object(told), '{"any": "thing"}')
