"""Tools and structured answers on the real model: whatever it says, it is of the shape that was asked for."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import jsonschema
import pytest
from openai import BadRequestError, OpenAI

MODEL = "smollm2-135m-instruct"
CHAT = "/v1/chat/completions"


def function(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, "parameters": schema}


WEATHER = function("get_weather", "Get the current weather in a city", city={"type": "string"})
ADD = function("add", "Add two numbers", a={"type": "integer"}, b={"type": "integer"})
TOOLS: Any = [{"type": "function", "function": WEATHER}, {"type": "function", "function": ADD}]
PARAMETERS = {"get_weather": WEATHER["parameters"], "add": ADD["parameters"]}
PARIS = "What is the weather in Paris?"


def ask(client: OpenAI, said: str | list[Any], **more: Any) -> Any:
    messages: Any = [{"role": "user", "content": said}] if isinstance(said, str) else said
    settings = {"temperature": 0, "max_tokens": 100, **more}
    return client.chat.completions.create(model=MODEL, messages=messages, **settings).choices[0]


def arguments(call: Any) -> Any:
    """Those of a call, which must fit their schema."""
    parsed = json.loads(call.function.arguments)
    jsonschema.validate(parsed, PARAMETERS[call.function.name])
    return parsed


@pytest.mark.parametrize(
    ("said", "name", "wanted"),
    [(PARIS, "get_weather", {"city": "Paris"}), ("Add 12 and 30.", "add", {"a": 12, "b": 30})],
)
def test_auto_calls_the_tool_that_a_request_is_meant_for(
    client: OpenAI, said: str, name: str, wanted: dict[str, Any]
) -> None:
    choice = ask(client, said, tools=TOOLS)
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert (call.type, call.function.name, arguments(call)) == ("function", name, wanted)
    assert call.id.startswith("call_")


@pytest.mark.parametrize("said", ["Hello, who are you?", "Tell me a joke.", "Write a short poem about love."])
def test_auto_talks_where_no_tool_is_meant(client: OpenAI, said: str) -> None:
    choice = ask(client, said, tools=TOOLS, max_tokens=20)
    assert choice.message.tool_calls is None
    assert choice.message.content


def test_required_calls_whatever_was_said(client: OpenAI) -> None:
    choice = ask(client, "Hello!", tools=TOOLS, tool_choice="required")
    assert choice.finish_reason == "tool_calls"
    for call in choice.message.tool_calls:
        arguments(call)


def test_a_named_tool_is_called(client: OpenAI) -> None:
    choice = ask(client, PARIS, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "add"}})
    (call,) = choice.message.tool_calls
    assert call.function.name == "add"
    arguments(call)
    assert choice.finish_reason == "stop"  # as OpenAI has it where the client names the tool


def test_none_calls_nothing(client: OpenAI) -> None:
    choice = ask(client, PARIS, tools=TOOLS, tool_choice="none", max_tokens=10)
    assert choice.message.tool_calls is None
    assert choice.message.content


def test_only_one_call_where_parallel_calls_are_not_wanted(client: OpenAI) -> None:
    said = "What is the weather in Paris, and what is the weather in Rome?"
    choice = ask(client, said, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    assert len(choice.message.tool_calls) == 1


def test_several_calls_are_distinct_and_each_fits_its_schema(client: OpenAI) -> None:
    said = "What is the weather in Paris, and what is the weather in Rome?"
    choice = ask(client, said, tools=TOOLS, tool_choice="required", parallel_tool_calls=True, max_tokens=200)
    calls = choice.message.tool_calls
    seen = {(call.function.name, json.dumps(arguments(call))) for call in calls}
    assert len(seen) == len(calls) >= 1
    assert len({call.id for call in calls}) == len(calls)


def test_a_stream_of_calls_adds_up_to_the_whole_call(client: OpenAI) -> None:
    whole = ask(client, PARIS, tools=TOOLS).message.tool_calls[0]
    messages: Any = [{"role": "user", "content": PARIS}]
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=messages, tools=TOOLS, temperature=0, stream=True, max_tokens=100
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls: list[Any] = [call for delta in deltas for call in delta.tool_calls or ()]
    assert (calls[0].function.name, calls[0].type, calls[0].index) == ("get_weather", "function", 0)
    assert [call.id for call in calls[1:]] == [None] * (len(calls) - 1)
    assert len(calls) > 3  # piece by piece
    assert "".join(call.function.arguments or "" for call in calls) == whole.function.arguments
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"


def test_a_call_that_is_cut_says_so(client: OpenAI) -> None:
    choice = ask(client, PARIS, tools=TOOLS, tool_choice="required", max_tokens=2)
    assert choice.finish_reason == "length"


def test_after_a_tools_result_the_model_answers_from_it(client: OpenAI) -> None:
    asked = ask(client, PARIS, tools=TOOLS).message
    history = [{"role": "user", "content": PARIS}, asked]
    history += [
        {"role": "tool", "tool_call_id": call.id, "content": "21 degrees and sunny"} for call in asked.tool_calls
    ]
    choice = ask(client, history, tools=TOOLS, max_tokens=40)
    assert choice.message.tool_calls is None
    assert choice.finish_reason in ("stop", "length")
    assert "21" in choice.message.content or "sunny" in choice.message.content
    history += [choice.message, {"role": "user", "content": "Add 2 and 3."}]
    again = ask(client, history, tools=TOOLS)
    assert again.message.tool_calls[0].function.name == "add"


def test_legacy_functions(client: OpenAI) -> None:
    choice = ask(client, PARIS, functions=[WEATHER, ADD])
    assert choice.finish_reason == "function_call"
    assert choice.message.tool_calls is None
    assert choice.message.function_call.name == "get_weather"
    jsonschema.validate(json.loads(choice.message.function_call.arguments), WEATHER["parameters"])
    named = ask(client, PARIS, functions=[WEATHER, ADD], function_call={"name": "add"})
    assert named.message.function_call.name == "add"


def test_a_custom_tool_gets_its_input_as_text(http: httpx2.Client) -> None:
    tool = {"type": "custom", "custom": {"name": "note", "description": "Write down a note"}}
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Note that the milk is sour."}],
        "tools": [tool],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "temperature": 0,
        "max_tokens": 60,
    }
    (call,) = http.post(CHAT, json=body).json()["choices"][0]["message"]["tool_calls"]
    assert call["type"] == "custom"
    assert call["custom"]["name"] == "note"
    assert isinstance(call["custom"]["input"], str)


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "kind": {"enum": ["child", "adult"]},
        "friends": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age", "kind", "friends"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_a_json_schema_is_kept_to(http: httpx2.Client, strict: bool, stream: bool) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": strict}}
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Invent a person."}],
        "response_format": form,
        "temperature": 1,
        "seed": 3,
        "stream": stream,
    }
    answer = http.post(CHAT, json=body)
    if stream:
        payloads = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:7] == "data: {"]
        said = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in payloads if chunk["choices"])
    else:
        said = answer.json()["choices"][0]["message"]["content"]
    jsonschema.validate(json.loads(said), PERSON)


@pytest.mark.parametrize("said", ["Give me JSON about a cat", "List three colors as JSON."])
def test_json_object_is_an_object(client: OpenAI, said: str) -> None:
    choice = ask(client, said, response_format={"type": "json_object"}, max_tokens=400)
    assert choice.finish_reason == "stop"
    assert isinstance(json.loads(choice.message.content), dict)


def test_json_object_follows_a_schema_in_the_messages(client: OpenAI) -> None:
    system = f"Answer in JSON that matches this json_schema:\n{json.dumps(PERSON)}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Ada, 36, friends: Bob"}]
    choice = ask(client, messages, response_format={"type": "json_object"}, max_tokens=300)
    jsonschema.validate(json.loads(choice.message.content), PERSON)


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]},
            "unclosed group",
        ),
        ({"type": "object", "properties": {"a": {"type": "banana"}}, "required": ["a"]}, "banana"),
        ({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}, "required": ["a"]}, "nowhere"),
    ],
)
def test_a_schema_that_cannot_be_compiled_is_refused_with_its_fault(
    client: OpenAI, schema: dict[str, Any], fault: str
) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "thing", "schema": schema, "strict": True}}
    with pytest.raises(BadRequestError) as refused:
        ask(client, "Hi", response_format=form)
    assert refused.value.param == "response_format"
    assert "Invalid schema for response_format 'thing'" in str(refused.value)
    assert fault in str(refused.value)
    with pytest.raises(BadRequestError) as refused:
        ask(client, "Hi", tools=[{"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}])
    assert refused.value.param == "tools[0].function.parameters"
    assert "Invalid schema for function 'f'" in str(refused.value)


def test_a_tool_that_was_not_given_cannot_be_named(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        ask(client, "Hi", tools=TOOLS, tool_choice={"type": "function", "function": {"name": "nobody"}})
    assert refused.value.param == "tool_choice"


HEAVY = {"type": "string", "allOf": [{"pattern": f".*a{number}.*"} for number in range(30)]}


def test_a_schema_that_would_take_minutes_is_refused_and_holds_nobody_up(http: httpx2.Client) -> None:
    parameters = {"type": "object", "properties": {"a": HEAVY}, "required": ["a"]}
    tools = [TOOLS[0], {"type": "function", "function": {"name": "heavy", "parameters": parameters}}]
    messages = [{"role": "user", "content": PARIS}]
    began = time.monotonic()
    refused = http.post(CHAT, json={"model": MODEL, "messages": messages, "tools": tools})
    error = refused.json()["error"]
    assert refused.status_code == 400, refused.text
    assert (error["param"], error["code"]) == ("tools[1].function.parameters", "invalid_function_parameters")
    assert error["message"] == "Invalid schema for function 'heavy': schema is too complex."
    messages = [{"role": "user", "content": "Answer in JSON by the schema " + json.dumps(parameters)}]
    body = {"model": MODEL, "messages": messages, "response_format": {"type": "json_object"}, "max_tokens": 1}
    assert http.post(CHAT, json=body).status_code == 200
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_of_many_arguments_can_be_called(http: httpx2.Client, stream: bool) -> None:
    properties = {f"property_{number}": {"type": "string"} for number in range(800)}
    wide = {"name": "wide", "parameters": {"type": "object", "properties": properties, "required": ["property_7"]}}
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Set property_7 to blue."}],
        "tools": [{"type": "function", "function": wide}, TOOLS[0]],
        "tool_choice": "required",
        "max_tokens": 100,
        "stream": stream,
    }
    answer = http.post(CHAT, json=body)
    assert answer.status_code == 200
    assert "error" not in answer.text
