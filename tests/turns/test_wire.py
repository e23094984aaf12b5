"""Rules of the wire over sockets: marks before JSON, calls that are not there, words that the upstream judges."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import ScriptedUpstream, json_answer, sse
from tests.support.gateway import Running
from tests.support.raw import Answer, call
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start

MARK = b"\xef\xbb\xbf"
HELLO = [{"role": "user", "content": "Hello"}]
PARIS = '{"city": "Paris"}'


async def send(running: Running, path: str, document: dict[str, Any]) -> Answer:
    return await call(running.port, "POST", path, body=MARK + json.dumps({"model": "m", **document}).encode())


@pytest.mark.parametrize("stream", [False, True])
async def test_a_mark_before_the_clients_body_is_skipped(start: Start, stream: bool) -> None:
    running, upstream = await start(sse(*hello()) if stream else json_answer(completion()))
    answer = await send(running, "/v1/chat/completions", {"messages": HELLO, "stream": stream})
    assert answer.status == 200
    assert upstream.requests[0].document["messages"] == HELLO


async def test_a_mark_before_the_other_endpoints_bodies_is_skipped(start: Start) -> None:
    vectors = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "e"}
    text = {"id": "cmpl-1", "choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]}
    marked = [json_answer(MARK + json.dumps(document).encode()) for document in (vectors, text)]
    running, _ = await start(*marked)
    embedded = await send(running, "/v1/embeddings", {"input": "Hello"})
    assert (embedded.status, embedded.json["data"]) == (200, vectors["data"])
    completed = await send(running, "/v1/completions", {"prompt": "Hello"})
    assert (completed.status, completed.json["choices"][0]["text"]) == (200, "Hi")


async def test_a_mark_before_the_upstreams_body_is_skipped(start: Start) -> None:
    body = MARK + json.dumps(completion()).encode()
    events = [b"data: " + MARK + json.dumps(event).encode() + b"\n\n" for event in hello()]
    running, _ = await start(json_answer(body), json_answer(body), sse(*events))
    assert (await running.post()).json["choices"][0]["message"]["content"] == "Hi!"
    for said in ("Hi!", "Hello"):  # a whole answer though a stream was asked for; marks in every event
        chunks = (await running.post(stream=True)).chunks
        assert "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks) == said


@pytest.mark.parametrize("calls", [{}, {"tool_calls": []}, {"tool_calls": None}])
async def test_no_call_no_tool_calls(start: Start, calls: dict[str, Any]) -> None:
    whole = completion("Hi", "tool_calls")
    whole["choices"][0]["message"].update(calls)
    streamed = [chunk({"role": "assistant", "content": "Hi"}), chunk(calls, "tool_calls")]
    running, _ = await start(json_answer(whole), sse(*streamed))
    assert (await running.post()).json["choices"][0]["finish_reason"] == "stop"
    assert (await running.post(stream=True)).chunks[-1]["choices"][0]["finish_reason"] == "stop"


async def test_an_empty_object_before_the_arguments_is_removed(start: Start) -> None:
    def fragment(words: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "function": {"arguments": words}}]}

    first = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    whole = completion(None, "tool_calls")
    whole["choices"][0]["message"]["tool_calls"] = [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}" + PARIS}}
    ]
    streamed = [
        chunk({"role": "assistant", "content": None, "tool_calls": [first]}),
        chunk(fragment(PARIS[:8])),
        chunk(fragment(PARIS[8:])),
        chunk({}, "tool_calls"),
    ]
    running, _ = await start(json_answer(whole), sse(*streamed))
    [made] = (await running.post()).json["choices"][0]["message"]["tool_calls"]
    assert made["function"]["arguments"] == PARIS
    chunks = (await running.post(stream=True)).chunks
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    words = [
        entry["function"].get("arguments", "")
        for one in chunks
        for entry in one["choices"][0]["delta"].get("tool_calls", ())
    ]
    assert "".join(words) == PARIS


async def test_what_belongs_to_the_end_rides_on_the_finish_chunk(start: Start) -> None:
    last = chunk({"content": "!"}, "stop")
    last["choices"][0]["stop_reason"] = "###"
    running, _ = await start(sse(chunk({"role": "assistant", "content": "Hi"}), last))
    text, finish = (await running.post(stream=True)).chunks[-2:]
    assert "stop_reason" not in text["choices"][0]
    assert finish["choices"][0]["stop_reason"] == "###"


TRAVELS: list[dict[str, Any]] = [
    {"response_format": {"type": "json_object"}},
    {"reasoning_effort": "unseen"},
    {"service_tier": "unseen"},
    {"verbosity": "unseen"},
    {"tool_choice": "unseen"},
    {"tools": [{"type": "unseen", "unseen": {}}]},
    {"functions": [{"name": "f"}], "function_call": "unseen"},
    {"modalities": ["text", "unseen"]},
    {"audio": {"format": "unseen", "voice": "v"}},
    {"prompt_cache_retention": "unseen"},
    {"web_search_options": {"search_context_size": "unseen"}},
    {"messages": [{"role": "user", "content": [{"type": "unseen", "unseen": {}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u", "detail": "unseen"}}]}]},
    {"max_tokens": 0},
]
BASES = ("/openai/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api")


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("asked", TRAVELS)
async def test_what_only_the_upstream_can_know_reaches_it(start: Start, asked: dict[str, Any], base: str) -> None:
    running, upstream = await start(json_answer(completion()), json_answer(completion()))
    path = f"{base}/chat/completions"
    assert (await running.post(path, **asked)).status == 200
    [received] = sent(upstream, asked)
    assert received == asked
    refused = await running.post(path, **asked, headers={"x-antiphon-strict": "1"})
    if "max_tokens" in asked:
        assert refused.status == 200
        return
    assert refused.status == 400
    if base != "/crazyrouter/v1":  # its errors have no `param`
        named = "messages" if "response_format" in asked else list(asked)[-1]  # JSON has to be spoken of in a message
        error = refused.json.get("error", refused.json)
        assert error["param"].startswith(named)


def sent(upstream: ScriptedUpstream, asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: request.document[key] for key in asked} for request in upstream.requests]
