"""What the scripted upstream says when nobody scripts it, over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.request import Request, urlopen

import jsonschema
import pytest

from antiphon.upstreams.scripted import ScriptedUpstream

Ask = Any  # what the fixture gives: async (document) -> completion or list of chunks

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "days": {"type": "integer", "minimum": 2},
            },
            "required": ["city"],
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    upstream = ScriptedUpstream()
    url = await upstream.start()

    def post(document: dict[str, Any]) -> Any:
        request = Request(
            f"{url}/chat/completions", json.dumps(document).encode(), {"content-type": "application/json"}
        )
        with urlopen(request, timeout=5) as answer:
            body = answer.read().decode()
        if not document.get("stream"):
            return json.loads(body)
        events = body.removesuffix("\n\n").split("\n\n")
        assert events[-1] == "data: [DONE]"
        return [json.loads(event.removeprefix("data: ")) for event in events[:-1]]

    yield lambda document: asyncio.to_thread(post, document)
    await upstream.stop()


async def test_echoes_the_last_user_message_and_always_alike(ask: Ask) -> None:
    first, second = await ask(user("Hello there")), await ask(user("Hello there"))
    choice = first["choices"][0]
    assert choice["message"]["content"] == "This is the scripted upstream. You said: Hello there"
    assert choice["finish_reason"] == "stop"
    assert first["choices"] == second["choices"]
    assert first["id"] != second["id"]
    assert first["id"].startswith("chatcmpl-")
    chunks = [await ask(user("Hello there", stream=True)) for _ in range(2)]
    ids = [{chunk["id"] for chunk in stream} for stream in chunks]
    assert [len(own) for own in ids] == [1, 1]
    assert ids[0] != ids[1]
    usage = first["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


async def test_a_stream_says_the_same_as_the_whole(ask: Ask) -> None:
    whole = await ask(user("Hi\n  ünï 世界!", logprobs=True, top_logprobs=2))
    chunks = await ask(user("Hi\n  ünï 世界!", logprobs=True, top_logprobs=2, stream=True))
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    tokens = [token for chunk in chunks for token in (chunk["choices"][0]["logprobs"] or {}).get("content", [])]
    assert tokens == whole["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == text
    assert all(len(token["top_logprobs"]) == 2 for token in tokens)
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert all("usage" not in chunk for chunk in chunks)


async def test_usage_chunk_where_asked(ask: Ask) -> None:
    chunks = await ask(user("Hi", stream=True, stream_options={"include_usage": True}))
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == (await ask(user("Hi")))["usage"]


async def test_n_choices_differ_and_interleave(ask: Ask) -> None:
    whole = await ask(user("Hi", n=3))
    assert [choice["index"] for choice in whole["choices"]] == [0, 1, 2]
    assert len({choice["message"]["content"] for choice in whole["choices"]}) == 3
    chunks = await ask(user("Hi", n=2, stream=True))
    assert [chunk["choices"][0]["index"] for chunk in chunks[:4]] == [0, 1, 0, 1]


async def test_stop_and_limit(ask: Ask) -> None:
    stopped = await ask(user("one two three", stop=["two"]))
    assert stopped["choices"][0]["message"]["content"] == "This is the scripted upstream. You said: one "
    assert stopped["choices"][0]["finish_reason"] == "stop"
    for key in ("max_tokens", "max_completion_tokens"):
        cut = await ask(user("one two three", **{key: 4}))
        assert cut["choices"][0]["message"]["content"] == "This is the scripted"
        assert cut["choices"][0]["finish_reason"] == "length"
        assert cut["usage"]["completion_tokens"] == 4


@pytest.mark.parametrize(
    ("choice", "text", "called", "finish"),
    [
        ("auto", "Hi", [], "stop"),
        ("auto", "Please get weather for me", ["get_weather"], "tool_calls"),
        ("auto", "get_weather and clock", ["get_weather", "clock"], "tool_calls"),
        ("none", "get_weather", [], "stop"),
        ("required", "Hi", ["get_weather"], "tool_calls"),
        ({"type": "function", "function": {"name": "clock"}}, "Hi", ["clock"], "stop"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "clock"}}]},
            },
            "Hi",
            ["clock"],
            "tool_calls",
        ),
    ],
)
async def test_which_tools_are_called(ask: Ask, choice: Any, text: str, called: list[str], finish: str) -> None:
    request = user(text, tools=[WEATHER, CLOCK], tool_choice=choice)
    answer = (await ask(request))["choices"][0]
    calls = answer["message"].get("tool_calls", [])
    assert [call["function"]["name"] for call in calls] == called
    assert answer["finish_reason"] == finish
    chunks = await ask({**request, "stream": True})
    streamed: dict[int, dict[str, str]] = {}
    for chunk in chunks:
        for call in chunk["choices"][0]["delta"].get("tool_calls", []):
            known = streamed.setdefault(
                call["index"], {"id": call.get("id"), "name": call["function"].get("name"), "a": ""}
            )
            known["a"] += call["function"]["arguments"]
    assert list(streamed.values()) == [
        {"id": c["id"], "name": c["function"]["name"], "a": c["function"]["arguments"]} for c in calls
    ]


async def test_arguments_follow_the_schema(ask: Ask) -> None:
    answer = await ask(user("Hi", tools=[WEATHER], tool_choice="required"))
    arguments = answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"city": "city", "unit": "C", "days": 2}


async def test_a_tool_result_gets_text_and_a_loop_ends(ask: Ask) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "get_weather"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ]
    answer = await ask({"model": "scripted", "messages": history, "tools": [WEATHER]})
    assert answer["choices"][0]["message"]["content"] == "This is the scripted upstream. The tool said: sunny"
    required = {"model": "scripted", "messages": history, "tools": [WEATHER, CLOCK], "tool_choice": "required"}
    call = (await ask(required))["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["name"] == "clock"


async def test_legacy_functions_and_custom_tools(ask: Ask) -> None:
    legacy = await ask(user("call f", functions=[{"name": "f", "parameters": {}}]))
    assert legacy["choices"][0]["message"]["function_call"] == {"name": "f", "arguments": "{}"}
    assert legacy["choices"][0]["finish_reason"] == "function_call"
    custom = await ask(user("Hi", tools=[{"type": "custom", "custom": {"name": "sql"}}], tool_choice="required"))
    call = custom["choices"][0]["message"]["tool_calls"][0]
    assert (call["type"], call["custom"]) == ("custom", {"name": "sql", "input": "Hi"})


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a", "b"]},
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}, "required": ["a"]},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 3},
    {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}},
    {"allOf": [{"properties": {"a": {"const": 5}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}}}]},
    {"type": ["null", "string"], "minLength": 8, "maxLength": 9},
    {"type": "integer", "exclusiveMinimum": 10, "maximum": 20, "multipleOf": 7},
    {"type": "number", "maximum": -3},
    {"type": "integer", "maximum": -3, "multipleOf": 2},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "integer", "exclusiveMaximum": -5},
    {"type": "string", "format": "date-time"},
    {"enum": ["x", "y"]},
    {},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
async def test_json_schema_is_kept(ask: Ask, schema: dict[str, Any]) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema, "strict": True}}
    answer = await ask(user("Hi", response_format=form))
    jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), schema)


async def test_json_object(ask: Ask) -> None:
    answer = await ask(user("Hi", response_format={"type": "json_object"}, n=2))
    for choice in answer["choices"]:
        assert json.loads(choice["message"]["content"]) == {"upstream": "scripted", "said": "Hi"}
