"""Whole turns over real sockets with an upstream that speaks Gemini's generateContent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, cut, json_answer, sse
from tests.protocols.gemini_recordings import COUNTS, SIGNATURE, call, end, event, frames, text
from tests.support.foreign import finishes, in_stream_error, said
from tests.upstreams.conftest import Begin

Document = dict[str, Any]
MODEL = "gemini-3-flash"
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}


def stream(*events: Document, broken: bool = False) -> Script:
    return sse(frames(list(events)), *([cut()] if broken else []), done=False)


async def test_a_whole_answer(begin: Begin) -> None:
    answered = event([{"text": "Good day"}], "STOP", usageMetadata=COUNTS)
    gateway, fake = await begin("gemini", json_answer(answered), model=MODEL, prefix="/v1beta")
    answer = await gateway.post(temperature=0.5)
    document = answer.json
    assert document["choices"][0]["message"]["content"] == "Good day"
    assert document["choices"][0]["finish_reason"] == "stop"
    assert document["usage"]["prompt_tokens"] == 13
    assert document["usage"]["completion_tokens"] == 12  # thoughts are among them
    [asked] = fake.requests
    assert asked.path == f"/v1beta/models/{MODEL}:generateContent"
    assert asked.headers["x-goog-api-key"] == "sk-secret"
    assert "model" not in asked.document
    assert asked.document["generationConfig"]["temperature"] == 0.5


async def test_a_streamed_answer_with_counts_after_its_end(begin: Begin) -> None:
    late = {"usageMetadata": {**COUNTS, "candidatesTokenCount": 9, "totalTokenCount": 27}, "responseId": "r-Id_1"}
    gateway, fake = await begin(
        "gemini", stream(text("Grüße "), text("aus 北京"), end(), late), model=MODEL, prefix="/v1beta"
    )
    answer = await gateway.post(stream=True, stream_options={"include_usage": True})
    assert said(answer) == "Grüße aus 北京"
    assert finishes(answer) == ["stop"]
    assert answer.chunks[-1]["usage"]["completion_tokens"] == 14
    assert (fake.requests[0].path, fake.requests[0].query) == (
        f"/v1beta/models/{MODEL}:streamGenerateContent",
        "alt=sse",
    )


@pytest.mark.parametrize("streamed", [False, True])
async def test_calls_without_ids_get_one_and_their_signatures_come_back(begin: Begin, streamed: bool) -> None:
    """For a client that drops what it does not know."""
    signed = event([call("get_weather", {"city": "Bern"}, thoughtSignature=SIGNATURE)], "STOP", usageMetadata=COUNTS)
    first = stream(signed) if streamed else json_answer(signed)
    gateway, fake = await begin("gemini", first, json_answer(end()), model=MODEL, prefix="/v1beta")
    messages: list[Document] = [{"role": "user", "content": "Weather in Bern?"}]
    answer = await gateway.post(messages=messages, tools=[TOOL], stream=streamed)
    if streamed:
        assert finishes(answer) == ["tool_calls"]
        calls = [c for chunk in answer.chunks for ch in chunk["choices"] for c in ch["delta"].get("tool_calls", ())]
    else:
        calls = answer.json["choices"][0]["message"]["tool_calls"]
    call_id = calls[0]["id"]
    assert call_id.startswith("call_")
    function = {"name": "get_weather", "arguments": '{"city":"Bern"}'}
    messages += [
        {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "content": "sunny"},
    ]
    await gateway.post(messages=messages, tools=[TOOL])
    sent = fake.requests[1].document["contents"]
    assert sent[1]["parts"] == [
        {"functionCall": {"name": "get_weather", "args": {"city": "Bern"}}, "thoughtSignature": SIGNATURE}
    ]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_blocked_prompt(begin: Begin, streamed: bool) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    script = stream(blocked) if streamed else json_answer(blocked)
    gateway, _ = await begin("gemini", script, model=MODEL, prefix="/v1beta")
    answer = await gateway.post(stream=streamed)
    assert answer.status == 200
    reasons = finishes(answer) if streamed else [answer.json["choices"][0]["finish_reason"]]
    assert reasons == ["content_filter"]


async def test_a_cut_stream_and_an_error_in_it(begin: Begin) -> None:
    failed = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    gateway, _ = await begin(
        "gemini",
        stream(text("Half"), broken=True),
        stream(text("Half")),
        stream(text("Half"), failed),
        model=MODEL,
        prefix="/v1beta",
    )
    for code in ("upstream_truncated", "upstream_truncated", "upstream_error"):
        answer = await gateway.post(stream=True)
        assert in_stream_error(answer)["code"] == code


async def test_too_many_requests_tell_when_to_come_back(begin: Begin) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}]
    error = {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": details}
    wrong_key = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
    gateway, _ = await begin(
        "gemini",
        json_answer([{"error": error}], 429),
        json_answer({"error": wrong_key}, 400),
        model=MODEL,
        prefix="/v1beta",
    )
    answer = await gateway.post(stream=True)
    assert (answer.status, answer.headers["retry-after"]) == (429, "35")
    answer = await gateway.post()
    assert answer.status == 502
    assert "credential" in answer.json["error"]["message"]


async def test_odd_values_are_no_fault_of_ours(begin: Begin) -> None:
    odd = {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT", "details": [{"reason": [1]}, {"reason": {}}]}
    gateway, _ = await begin("gemini", json_answer({"error": odd}, 400), model=MODEL, prefix="/v1beta")
    url = {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": []}
    answer = await gateway.post(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": url}]}])
    assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")


async def test_choices_of_a_fan_out_draw_with_seeds_of_their_own(begin: Begin) -> None:
    scripts = [stream(text(word), end()) for word in ("one", "two")]
    gateway, fake = await begin("gemini", *scripts, model=MODEL, prefix="/v1beta")
    answer = await gateway.post(n=2, seed=7, stream=True)
    words = {
        ch["index"]: ch["delta"]["content"] for c in answer.chunks for ch in c["choices"] if ch["delta"].get("content")
    }
    assert sorted(words) == [0, 1]
    assert sorted(request.document["generationConfig"]["seed"] for request in fake.requests) == [7, 8]


async def test_the_models_that_it_has(begin: Begin) -> None:
    listed = {"models": [{"name": "models/gemini-3-flash", "inputTokenLimit": 1000, "outputTokenLimit": 10}, {"no": 1}]}
    gateway, fake = await begin(
        "gemini",
        json_answer(listed),
        prefix="/v1beta",
        more='[[route]]\nmodel = "gemini-*"\ntargets = [{ upstream = "up" }]\n',
    )
    answer = await gateway.get("/v1/models")
    assert "gemini-3-flash" in [row["id"] for row in answer.json["data"]]
    assert (fake.requests[0].method, fake.requests[0].path) == ("GET", "/v1beta/models")
    assert fake.requests[0].headers["x-goog-api-key"] == "sk-secret"
    assert json.loads(answer.body)["object"] == "list"
