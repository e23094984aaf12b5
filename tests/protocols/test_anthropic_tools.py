"""Tools and structured output, said in a Messages request."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.flow.ports import Change
from antiphon.protocols.facts import ModelFacts
from tests.protocols.anthropic_encoding import (
    ADAPTIVE,
    ALWAYS,
    HELLO,
    LOOK,
    Document,
    body,
    changed,
    encode,
    refused,
)

ADD: Document = {"type": "function", "function": {"name": "add", "description": "Adds."}}

# Tools.


def test_tools_keep_their_order_and_keys() -> None:
    sent = body(tools=[LOOK, ADD])["tools"]
    assert sent == [
        {"name": "look", "input_schema": {"type": "object"}},
        {"name": "add", "description": "Adds.", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert [tool["name"] for tool in body(tools=[ADD, LOOK])["tools"]] == ["add", "look"]
    schema = {"zebra": 1, "properties": {"b": {}, "a": {}}, "alpha": 2}
    [tool] = body(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}])["tools"]
    assert list(tool["input_schema"]) == ["type", "zebra", "properties", "alpha"]
    assert list(tool["input_schema"]["properties"]) == ["b", "a"]


def test_the_vendors_own_keys_of_a_tool_travel() -> None:
    cached = {"type": "ephemeral"}
    tool = {**LOOK, "cache_control": cached, "function": {**LOOK["function"], "defer_loading": True, "strict": None}}
    [sent] = body(tools=[tool])["tools"]
    assert (sent["cache_control"], sent["defer_loading"]) == (cached, True)
    assert "strict" not in sent
    own = {"type": "bash_20250124", "name": "bash"}
    assert body(tools=[own])["tools"] == [own]


def test_strict_tools() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": closed, "strict": True}}
    [sent] = body(tools=[tool])["tools"]
    assert (sent["strict"], sent["input_schema"]) == (True, closed)
    lax = encode(ModelFacts(takes_schema=False), tools=[tool])
    assert "strict" not in lax.body["tools"][0]
    assert changed(lax) == [("tools[0].function.strict", "dropped")]


def test_custom_tools_are_functions_of_one_text() -> None:
    encoded = encode(tools=[{"type": "custom", "custom": {"name": "say"}}])
    assert encoded.body["tools"][0]["input_schema"]["required"] == ["input"]
    assert changed(encoded) == [("tools[0]", "rewritten")]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "look"}}, {"type": "tool", "name": "look"}),
        ({"type": "tool", "name": "look"}, {"type": "tool", "name": "look"}),
    ],
)
def test_tool_choice(choice: Any, sent: Document) -> None:
    assert body(tools=[LOOK], tool_choice=choice)["tool_choice"] == sent
    alone = body(tools=[LOOK], tool_choice=choice, parallel_tool_calls=False)["tool_choice"]
    assert alone == (sent if choice == "none" else {**sent, "disable_parallel_tool_use": True})


def test_one_call_at_a_time_needs_a_choice() -> None:
    sent = body(tools=[LOOK], parallel_tool_calls=False)["tool_choice"]
    assert sent == {"type": "auto", "disable_parallel_tool_use": True}
    assert "tool_choice" not in body(tools=[LOOK], parallel_tool_calls=True)


def test_allowed_tools_are_the_only_ones_sent() -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "add"}}]}
    encoded = encode(tools=[LOOK, ADD], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert [tool["name"] for tool in encoded.body["tools"]] == ["add"]
    assert encoded.body["tool_choice"] == {"type": "any"}


def test_a_model_that_cannot_be_made_to_call() -> None:
    for choice in ("required", {"type": "function", "function": {"name": "look"}}):
        encoded = encode(ALWAYS, tools=[LOOK], tool_choice=choice)
        assert encoded.body["tool_choice"] == {"type": "auto"}
        assert changed(encoded) == [("tool_choice", "rewritten")]
    assert refused(ALWAYS, tools=[LOOK], tool_choice="required").param == "tool_choice"


def test_a_choice_without_tools_is_left_out() -> None:
    assert encode(tool_choice="auto", tools=[]).body == body()


def test_functions_are_tools() -> None:
    sent = body(functions=[LOOK["function"]], function_call={"name": "look"})
    assert sent["tools"] == body(tools=[LOOK])["tools"]
    assert sent["tool_choice"] == {"type": "tool", "name": "look"}


def test_web_search() -> None:
    place = {"type": "approximate", "approximate": {"city": "Rom", "country": "IT"}}
    options = {"user_location": place, "search_context_size": "low"}
    encoded = encode(tools=[LOOK], web_search_options=options)
    search = encoded.body["tools"][1]
    assert search["user_location"] == {"type": "approximate", "city": "Rom", "country": "IT"}
    assert changed(encoded) == [("web_search_options.search_context_size", "dropped")]
    own = {"type": "web_search_20260318", "name": "web_search"}
    assert body(tools=[own], web_search_options=options)["tools"] == [own]


# Structured output.

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def schema_format(schema: Document) -> Document:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def test_a_schema() -> None:
    encoded = encode(ADAPTIVE, response_format=schema_format(CLOSED), reasoning_effort="low")
    form = {"type": "json_schema", "schema": CLOSED}
    assert encoded.body["output_config"] == {"format": form, "effort": "low"}
    assert encoded.changes == ()


def test_keywords_that_the_vendor_lacks_stand_in_descriptions() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "How many."},
            "kind": {"oneOf": [{"type": "string", "format": "color"}, {"type": "null"}]},
            "items": {"type": "array", "items": {"type": "number", "maximum": 5}, "minItems": 1},
        },
        "additionalProperties": True,
    }
    encoded = encode(response_format=schema_format(schema))
    sent = encoded.body["output_config"]["format"]["schema"]
    assert sent["properties"]["n"] == {"type": "integer", "description": 'How many.\n\n{"minimum":1}'}
    assert sent["properties"]["kind"]["anyOf"][0] == {"type": "string", "description": '{"format":"color"}'}
    assert sent["properties"]["items"]["items"] == {"type": "number", "description": '{"maximum":5}'}
    assert sent["properties"]["items"]["minItems"] == 1
    assert sent["additionalProperties"] is False
    assert changed(encoded) == [("response_format.json_schema.schema", "rewritten")]
    assert refused(response_format=schema_format(schema)).param == "response_format.json_schema.schema"


def test_json_is_asked_in_words_where_there_is_no_other_way() -> None:
    for facts, form in (
        (ModelFacts(), {"type": "json_object"}),
        (ModelFacts(takes_schema=False), schema_format(CLOSED)),
    ):
        messages = [{"role": "system", "content": "Be kind."}, *HELLO]
        encoded = encode(facts, response_format=form, messages=messages)
        assert "output_config" not in encoded.body
        kind, told = encoded.body["system"]
        assert kind["text"] == "Be kind."
        assert "JSON" in told["text"]
        assert encoded.changes[0] == Change("response_format", "rewritten", encoded.changes[0].reason)
        assert refused(facts, response_format=form).param == "response_format"
