"""Whole turns over real sockets with an upstream that speaks Anthropic Messages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, cut, json_answer, sse, wait
from tests.protocols.anthropic_recordings import call, end, start, text, thinking, wire
from tests.support.foreign import finishes, in_stream_error, said
from tests.upstreams.conftest import Begin

Document = dict[str, Any]
MODEL = "claude-sonnet-4-5"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def message(*content: Document, stop_reason: str = "end_turn", **more: Any) -> Script:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 7}
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": list(content)}
    return json_answer({**answer, "stop_reason": stop_reason, "stop_sequence": None, "usage": usage, **more})


def stream(*events: Document, broken: bool = False) -> Script:
    data = wire(list(events))
    return sse(data, cut(), done=False) if broken else sse(data, done=False)


async def test_a_whole_answer(begin: Begin) -> None:
    gateway, fake = await begin("anthropic", message({"type": "text", "text": "Good day"}), model=MODEL)
    messages = [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]
    answer = await gateway.post(messages=messages, max_tokens=9)
    assert answer.status == 200
    document = answer.json
    assert document["object"] == "chat.completion"
    assert document["choices"][0]["message"]["content"] == "Good day"
    assert document["choices"][0]["finish_reason"] == "stop"
    assert document["usage"]["prompt_tokens"] == 17
    assert document["usage"]["completion_tokens"] == 7
    assert document["usage"]["prompt_tokens_details"]["cached_tokens"] == 5
    [asked] = fake.requests
    assert (asked.method, asked.path) == ("POST", "/v1/messages")
    assert asked.headers["x-api-key"] == "sk-secret"
    assert "authorization" not in asked.headers
    assert asked.headers["anthropic-version"] == "2026-10-21"
    assert asked.document == {
        "model": MODEL,
        "system": "Be kind",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 9,
    }


async def test_a_streamed_answer(begin: Begin) -> None:
    events = [start(), *text(0, "Good ", "day", "! 😀"), *end("end_turn")]
    gateway, fake = await begin("anthropic", stream(*events), model=MODEL)
    answer = await gateway.post(stream=True, stream_options={"include_usage": True})
    assert answer.status == 200
    assert said(answer) == "Good day! 😀"
    assert finishes(answer) == ["stop"]
    assert answer.chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert answer.chunks[-1]["usage"]["completion_tokens"] == 30
    assert len({chunk["id"] for chunk in answer.chunks}) == 1
    assert fake.requests[0].document["stream"] is True


async def test_the_stream_leaves_as_it_comes_and_its_end_is_not_waited_for(begin: Begin) -> None:
    """The upstream keeps the connection open after its last event."""
    events = wire([start(), *text(0, "Good ", "day"), *end("end_turn")])
    gateway, _ = await begin("anthropic", sse(events, wait(asyncio.Event()), done=False), model=MODEL)
    assert said(await gateway.post(stream=True)) == "Good day"


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_a_stream_may_be_cut_into_reads_anywhere(begin: Begin, size: int) -> None:
    data = wire([start(), *thinking(0, "c2ln", "Let me ", "see."), *text(1, "Zürich ", "😀"), *end("end_turn")])
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    gateway, _ = await begin("anthropic", sse(*pieces, done=False), model=MODEL)
    answer = await gateway.post(stream=True)
    assert (said(answer), said(answer, "reasoning_content")) == ("Zürich 😀", "Let me see.")


async def test_tools_with_thinking_over_three_turns_for_a_client_that_drops_what_it_does_not_know(begin: Begin) -> None:
    first = stream(
        start(),
        *thinking(0, "c2lnbmF0dXJl", "I need ", "the weather."),
        *call(1, "toolu_1", "get_weather", '{"city"', ': "Bern"}'),
        *end("tool_use"),
    )
    second = message(
        {"type": "thinking", "thinking": "And now Basel.", "signature": "c2Vjb25k"},
        {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Basel"}},
        stop_reason="tool_use",
    )
    third = message({"type": "text", "text": "Both are sunny."})
    gateway, fake = await begin("anthropic", first, second, third, model=MODEL)
    messages: list[Document] = [{"role": "user", "content": "Weather in Bern and Basel?"}]
    ask: Document = {"tools": [WEATHER], "reasoning_effort": "low", "max_tokens": 4000}

    answer = await gateway.post(messages=messages, stream=True, **ask)
    assert finishes(answer) == ["tool_calls"]
    calls = [c for chunk in answer.chunks for ch in chunk["choices"] for c in ch["delta"].get("tool_calls", ())]
    assert calls[0]["id"] == "toolu_1"
    assert calls[0]["index"] == 0
    assert "".join(c["function"].get("arguments", "") for c in calls) == '{"city": "Bern"}'
    messages += [assistant("toolu_1", "Bern"), {"role": "tool", "tool_call_id": "toolu_1", "content": "sunny"}]

    answer = await gateway.post(messages=messages, **ask)
    [said_call] = answer.json["choices"][0]["message"]["tool_calls"]
    assert json.loads(said_call["function"]["arguments"]) == {"city": "Basel"}
    messages += [assistant("toolu_2", "Basel"), {"role": "tool", "tool_call_id": "toolu_2", "content": "sunny too"}]

    answer = await gateway.post(messages=messages, **ask)
    assert answer.json["choices"][0]["message"]["content"] == "Both are sunny."
    sent = fake.requests[2].document["messages"]
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "tool_use"]
    assert sent[1]["content"][0] == {
        "type": "thinking",
        "thinking": "I need the weather.",
        "signature": "c2lnbmF0dXJl",
    }
    assert sent[3]["content"][0]["signature"] == "c2Vjb25k"
    assert sent[4]["content"][0]["type"] == "tool_result"


def assistant(call_id: str, city: str) -> Document:
    """As a client that keeps no vendor's fields sends it back."""
    function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


async def test_one_keys_blocks_are_not_anothers(begin: Begin) -> None:
    first = message(
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Bern"}},
        stop_reason="tool_use",
    )
    keys = '[[key]]\nname = "a"\nsecret = "env:A"\n[[key]]\nname = "b"\nsecret = "env:B"\n'
    environ = {"A": "sk-a-a-a-a-a-a-a-a", "B": "sk-b-b-b-b-b-b-b-b"}
    final = message({"type": "text", "text": "ok"})
    gateway, fake = await begin(
        "anthropic", first, final, final, model=MODEL, more=keys, server="auth = true", environ=environ
    )
    messages: list[Document] = [{"role": "user", "content": "Weather?"}]
    ask: Document = {"tools": [WEATHER], "reasoning_effort": "low", "max_tokens": 4000}
    await gateway.post(messages=messages, headers={"authorization": f"Bearer {environ['A']}"}, **ask)
    messages += [assistant("toolu_1", "Bern"), {"role": "tool", "tool_call_id": "toolu_1", "content": "sunny"}]
    for key, kinds in (("B", ["tool_use"]), ("A", ["thinking", "tool_use"])):
        answer = await gateway.post(messages=messages, headers={"authorization": f"Bearer {environ[key]}"}, **ask)
        assert answer.status == 200
        assert [block["type"] for block in fake.requests[-1].document["messages"][1]["content"]] == kinds


async def test_a_cut_stream_is_an_error(begin: Begin) -> None:
    gateway, _ = await begin(
        "anthropic",
        stream(start(), *text(0, "Half an ans"), broken=True),
        stream(start(), *text(0, "Half an ans")),
        model=MODEL,
    )
    for _ in range(2):
        answer = await gateway.post(stream=True)
        assert answer.status == 200
        assert in_stream_error(answer)["code"] == "upstream_truncated"


async def test_an_error_in_the_stream_before_a_block_is_a_real_status(begin: Begin) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    gateway, _ = await begin(
        "anthropic", stream(start(), overloaded), stream(start(), *text(0, "Good "), overloaded), model=MODEL
    )
    answer = await gateway.post(stream=True)
    assert (answer.status, answer.json["error"]["code"]) == (503, "overloaded")
    answer = await gateway.post(stream=True)
    assert answer.status == 200
    assert in_stream_error(answer)["code"] == "overloaded"


@pytest.mark.parametrize(
    ("status", "kind", "expected", "code"),
    [
        (400, "invalid_request_error", 400, None),
        (401, "authentication_error", 502, "upstream_error"),
        (404, "not_found_error", 404, "model_not_found"),
        (429, "rate_limit_error", 429, "rate_limit_exceeded"),
        (529, "overloaded_error", 503, "overloaded"),
        (500, "api_error", 502, "upstream_error"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_errors(begin: Begin, status: int, kind: str, expected: int, code: str | None, streamed: bool) -> None:
    words = f"model: {MODEL}" if status == 404 else "Something is wrong with sk-secret"
    body = {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}
    script = json_answer(body, status, {"retry-after": "17"})
    gateway, _ = await begin("anthropic", script, model=MODEL)
    answer = await gateway.post(stream=streamed)
    assert answer.status == expected
    assert answer.json["error"]["code"] == code
    assert b"sk-secret" not in answer.body
    assert answer.headers.get("retry-after") == ("17" if expected in (429, 503) else None)


async def test_choices_are_fanned_out_and_what_is_lacking_is_named(begin: Begin) -> None:
    scripts = [message({"type": "text", "text": word}) for word in ("one", "two")]
    gateway, fake = await begin("anthropic", *scripts, model=MODEL)
    answer = await gateway.post(n=2, seed=5, logit_bias={"1": 1}, headers={"x-antiphon-receipt": "1"})
    assert sorted(choice["message"]["content"] for choice in answer.json["choices"]) == ["one", "two"]
    assert answer.json["usage"]["completion_tokens"] == 14
    receipt = answer.json["antiphon"]
    assert {change["param"] for change in receipt["dropped"]} == {"seed", "logit_bias"}
    assert {change["param"] for change in receipt["rewritten"]} == {"model", "n"}
    assert receipt["upstream_id"] == "msg_1"
    assert all("seed" not in request.document for request in fake.requests)


async def test_strict_refuses_what_cannot_be_said(begin: Begin) -> None:
    gateway, fake = await begin("anthropic", model=MODEL, server="strict = true")
    answer = await gateway.post(logit_bias={"1": 1})
    assert answer.status == 400
    assert (answer.json["error"]["param"], answer.json["error"]["code"]) == ("logit_bias", "unsupported_parameter")
    assert fake.requests == []


async def test_the_models_that_it_has(begin: Begin) -> None:
    listed = {"data": [{"type": "model", "id": "claude-opus-5-5", "display_name": "x"}], "has_more": False}
    gateway, fake = await begin(
        "anthropic", json_answer(listed), more='[[route]]\nmodel = "claude-*"\ntargets = [{ upstream = "up" }]\n'
    )
    answer = await gateway.get("/v1/models")
    assert "claude-opus-5-5" in [row["id"] for row in answer.json["data"]]
    [asked] = fake.requests
    assert (asked.path, asked.headers["x-api-key"]) == ("/v1/models", "sk-secret")
    assert asked.headers["anthropic-version"] == "2023-06-01"


async def test_an_upstream_that_streams_unasked_or_answers_whole_is_read(begin: Begin) -> None:
    events = [start(), *thinking(0, "c2ln", "Hm."), *thinking(1, "c2lnMg==", "Hm!"), *text(2, "Good day")]
    gateway, _ = await begin(
        "anthropic",
        stream(*events, *end("end_turn")),
        message({"type": "text", "text": "Good day"}),
        model=MODEL,
    )
    whole = (await gateway.post()).json["choices"][0]["message"]
    assert whole["content"] == "Good day"
    assert [block["signature"] for block in whole["thinking_blocks"]] == ["c2ln", "c2lnMg=="]
    assert said(await gateway.post(stream=True)) == "Good day"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"type":"message"}', b"\xff\xfe", b'{"content":[1]}'])
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_is_no_answer_is_an_error(begin: Begin, body: bytes, streamed: bool) -> None:
    gateway, _ = await begin("anthropic", json_answer(body), model=MODEL)
    answer = await gateway.post(stream=streamed)
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_malformed")
