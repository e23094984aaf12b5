"""Whole answers: what reaches the upstream, what comes back."""

from __future__ import annotations

import re
from typing import Any

import pytest

from antiphon.upstreams.scripted import json_answer, sse
from tests.support.raw import call
from tests.support.shapes import USAGE, chunk, completion, hello
from tests.turns.conftest import Start

ZEROS = {
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
}


async def test_a_plain_answer_has_exactly_the_keys_of_openai(start: Start) -> None:
    running, upstream = await start(json_answer(completion(system_fingerprint="fp_1")))
    answer = await running.post()
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch("req_[0-9a-f]{32}", answer.headers["x-request-id"])
    assert answer.headers["openai-version"] == "2020-10-01"
    assert int(answer.headers["openai-processing-ms"]) >= 0
    message: dict[str, Any] = {"role": "assistant", "content": "Hi!", "refusal": None, "annotations": []}
    assert answer.json == {
        "id": "chatcmpl-up1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "target-2026",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {**USAGE, **ZEROS},
        "system_fingerprint": "fp_1",
    }
    assert upstream.requests[0].path == "/v1/chat/completions"
    assert upstream.requests[0].document == {"model": "target", "messages": [{"role": "user", "content": "Hello"}]}


async def test_unknown_parameters_and_explicit_zeros_reach_the_upstream(start: Start) -> None:
    running, upstream = await start(json_answer(completion()))
    ask: dict[str, Any] = {
        "temperature": 0,
        "seed": 9223372036854775807,
        "top_p": 0.1,
        "x_vendor": {"deep": [None, 0, ""]},
        "stop": None,
    }
    assert (await running.post(**ask)).status == 200
    sent = upstream.requests[0].document
    assert {key: sent[key] for key in ask} == ask
    assert b"9223372036854775807" in upstream.requests[0].body


async def test_no_client_header_travels_but_those_allowed(start: Start) -> None:
    running, upstream = await start(
        json_answer(completion()),
        upstream='credential = "env:UP_KEY"\nforward_headers = ["x-team"]',
        environ={"UP_KEY": "sk-upstream-secret"},
    )
    headers = {
        "authorization": "Bearer sk-client-secret",
        "x-api-key": "sk-client-secret",
        "cookie": "a=b",
        "traceparent": "00-abc-def-01",
        "idempotency-key": "once",
        "x-team": "blue",
        "x-other": "no",
    }
    assert (await running.post(headers=headers)).status == 200
    seen = upstream.requests[0].headers
    assert seen["authorization"] == "Bearer sk-upstream-secret"
    assert (seen["traceparent"], seen["idempotency-key"], seen["x-team"]) == ("00-abc-def-01", "once", "blue")
    assert not {"cookie", "x-api-key", "x-other"} & set(seen)
    assert "sk-client-secret" not in str(seen)


@pytest.mark.parametrize("named", ["x-team", "keep-alive, X-Team", "close,x-team", "X-TEAM ,traceparent"])
async def test_a_header_that_connection_names_ends_here(start: Start, named: str) -> None:
    running, upstream = await start(json_answer(completion()), upstream='forward_headers = ["x-team", "x-other"]')
    headers = {"connection": named, "x-team": "blue", "x-other": "yes", "traceparent": "00-abc-def-01"}
    assert (await running.post(headers=headers)).status == 200
    seen = upstream.requests[0].headers
    assert seen["x-other"] == "yes"
    assert "x-team" not in seen
    assert ("traceparent" in seen) == ("traceparent" not in named)


async def test_missing_usage_is_counted_and_marked(start: Start) -> None:
    running, _ = await start(json_answer(completion("one two three", model="gpt-4o", usage=None)))
    answer = await running.post(headers={"x-antiphon-receipt": "1"})
    usage = answer.json["usage"]
    assert usage["completion_tokens"] > 0
    assert usage["prompt_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert answer.json["antiphon"]["usage"]["source"] == "estimated"
    assert answer.json["antiphon"]["usage"]["tokenizer"]


async def test_an_explicit_zero_is_a_report(start: Start) -> None:
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    running, _ = await start(json_answer(completion(usage=zero)))
    answer = await running.post(headers={"x-antiphon-receipt": "1"})
    assert answer.json["usage"]["total_tokens"] == 0
    assert answer.json["antiphon"]["usage"] == {"source": "reported"}


async def test_the_receipt_says_what_happened(start: Start) -> None:
    running, _ = await start(json_answer(completion(id="weird-id")), upstream='lacks = ["logprobs"]')
    answer = await running.post(headers={"x-antiphon-receipt": "1"}, logprobs=True)
    receipt = answer.json["antiphon"]
    assert receipt["request_id"] == answer.headers["x-request-id"]
    assert receipt["route"] == "m"
    assert receipt["upstream_id"] == "weird-id"
    assert answer.json["id"].startswith("chatcmpl-")
    (attempt,) = receipt["attempts"]
    assert (attempt["upstream"], attempt["model"], attempt["outcome"]) == ("up", "target", "answered")
    assert attempt["ms"] >= 0
    assert [change["param"] for change in receipt["dropped"]] == ["logprobs"]
    assert [change["param"] for change in receipt["rewritten"]] == ["model"]


@pytest.mark.parametrize("stream", [False, True])
async def test_the_receipt_names_calls_whose_arguments_are_not_json(start: Start, stream: bool) -> None:
    calls = [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "good", "arguments": '{}{"city": "Paris"}'}},
        {"index": 1, "id": "c2", "type": "function", "function": {"name": "bad", "arguments": '{"city": '}},
    ]
    whole = completion(None, finish="tool_calls")
    whole["choices"][0]["message"]["tool_calls"] = [dict(call) for call in calls]
    script = sse(chunk({"tool_calls": calls}), chunk({}, "tool_calls")) if stream else json_answer(whole)
    running, _ = await start(script)
    answer = await running.post(stream=stream, headers={"x-antiphon-receipt": "1"})
    receipt = answer.chunks[-1]["antiphon"] if stream else answer.json["antiphon"]
    assert receipt["unparsed_arguments"] == ["bad"]


async def test_no_receipt_unless_asked(start: Start) -> None:
    running, _ = await start(json_answer(completion()))
    assert "antiphon" not in (await running.post()).json


async def test_n_is_fanned_out_where_the_upstream_lacks_it(start: Start) -> None:
    running, upstream = await start(
        json_answer(completion("a")),
        json_answer(completion("b")),
        json_answer(completion("c")),
        upstream='lacks = ["n"]',
    )
    answer = (await running.post(n=3, seed=7)).json
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert sorted(choice["message"]["content"] for choice in answer["choices"]) == ["a", "b", "c"]
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (5, 6)
    assert sorted(sent.document["seed"] for sent in upstream.requests) == [7, 8, 9]
    assert not any("n" in sent.document for sent in upstream.requests)


async def test_models_come_from_the_routes(start: Start) -> None:
    more = """
[[route]]
model = "org/a:b"
targets = [{ upstream = "up" }]
[[route]]
model = "*"
targets = [{ upstream = "up" }]
"""
    running, _ = await start(more=more)
    listed = await running.get("/v1/models")
    assert listed.json["object"] == "list"
    assert [model["id"] for model in listed.json["data"]] == ["m", "org/a:b"]
    for path in ("/v1/models/org/a:b", "/v1/models/org%2Fa%3Ab"):
        assert (await running.get(path)).json["id"] == "org/a:b"
    missing = await running.get("/v1/models/none")
    assert (missing.status, missing.json["error"]["code"]) == (404, "model_not_found")
    assert (await running.get("/crazyrouter/v1/models")).json["success"] is True


async def test_health_and_readiness(start: Start) -> None:
    running, _ = await start()
    assert (await running.get("/healthz")).status == 200
    assert (await running.get("/readyz")).status == 200
    assert (await call(running.port, "HEAD", "/healthz")).status == 200


@pytest.mark.parametrize("ask", [{}, {"logprobs": False}])
async def test_a_stream_that_was_not_asked_for_is_put_together(start: Start, ask: dict[str, Any]) -> None:
    running, _ = await start(sse(*hello()))
    answer = (await running.post(**ask)).json
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"]["content"] == "Hello"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["total_tokens"] == 7


@pytest.mark.parametrize("ask", [{}, {"logprobs": False}])
async def test_one_that_is_cut_is_an_error(start: Start, ask: dict[str, Any]) -> None:
    running, _ = await start(sse(*hello()[:3], done=False))
    answer = await running.post(**ask)
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_truncated")


async def test_streams_of_a_fan_out_are_put_together(start: Start) -> None:
    running, _ = await start(sse(*hello()), sse(*hello(), done=False), upstream='lacks = ["n"]')
    answer = (await running.post(n=2)).json
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["Hello", "Hello"]
    assert answer["usage"]["completion_tokens"] == 4


async def test_another_word_for_success_is_one(start: Start) -> None:
    running, _ = await start(json_answer(completion(), 201))
    assert (await running.post()).status == 200
