"""Turns on the fast path cannot be told from turns that take the whole way."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.sse import LIMIT
from antiphon.upstreams.scripted import Script, cut, error, hang, json_answer, raw
from tests.support.raw import call, connect, request
from tests.support.shapes import completion
from tests.turns.conftest import Start

WHOLE: dict[str, Any] = {"x_whole": True}  # no field of OpenAI's: a request that has it takes the whole way

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
HISTORY = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "u"}}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "nothing"},
]
ASKS: list[dict[str, Any]] = [
    {},
    {"tools": [TOOL], "tool_choice": "auto", "messages": HISTORY},
    {"stream": True},
    {"stream": True, "stream_options": {"include_usage": False}, "tools": [TOOL], "messages": HISTORY},
    {"temperature": 0, "seed": 0, "max_tokens": 7, "stop": "x"},
    {"x_unknown": {"model": "inner"}, "user": "model"},
    {"messages": [{"role": "user", "content": 'say "model":"m" twice'}]},
]
FULL: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "total_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    },
}


def full(finish: str, **message: Any) -> dict[str, Any]:
    """An answer as OpenAI itself sends it: nothing has to be added."""
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], **message}
    return {**FULL, "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}]}


ANSWERS: list[Script] = [
    json_answer(completion()),
    json_answer(full("stop", content="Hello")),
    json_answer(full("tool_calls", tool_calls=[CALL])),
    json_answer(full("stop", tool_calls=[CALL])),
    json_answer(full("tool_calls", content="Hello")),
    json_answer(full("tool_calls", tool_calls=[])),
    json_answer(full("stop", refusal="No")),
    json_answer(completion(id="other")),
    json_answer(completion(x_extra={"deep": [1]})),
    json_answer(completion(finish="eos")),
    json_answer(completion(content=[{"type": "text", "text": "parts"}])),
    json_answer(completion(finish=None)),
    error(429, None, {"retry-after": "4"}),
    error(500),
    raw(cut()),
    json_answer(b"nonsense"),
]


def comparable(answer: Any) -> Any:
    document = answer.json
    if "id" in document:
        document["id"] = document["id"].startswith("chatcmpl-")
    return answer.status, document, answer.headers.get("retry-after")


@pytest.mark.parametrize("ask", ASKS)
async def test_the_same_request_reaches_the_upstream(start: Start, ask: dict[str, Any]) -> None:
    running, upstream = await start(json_answer(completion()), json_answer(completion()))
    await running.post(**ask)
    await running.post(**ask, **WHOLE)
    fast, whole = (sent.document for sent in upstream.requests)
    assert {**fast, **WHOLE} == whole


@pytest.mark.parametrize("script", ANSWERS)
async def test_the_same_answer_reaches_the_client(start: Start, script: Script) -> None:
    running, _ = await start(script, script)
    assert comparable(await running.post()) == comparable(await running.post(**WHOLE))


@pytest.mark.parametrize("script", ANSWERS)
async def test_the_same_entry_is_left(start: Start, script: Script, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(script, script, access_log=str(log))
    await running.post()
    await running.post(**WHOLE)
    running.worker.log.flush()
    fast, whole = (json.loads(line) for line in log.read_text().splitlines())
    for entry in (fast, whole):
        for key in ("time", "request_id", "ms"):
            del entry[key]
    assert fast == whole


async def test_an_untouched_answer_is_passed_on_to_the_byte(start: Start) -> None:
    body = json.dumps(full("stop", content="caf\u00e9"), indent=1).encode()
    running, _ = await start(json_answer(body))
    assert (await running.post()).body == body


async def test_leaving_closes_the_upstream(start: Start) -> None:
    running, upstream = await start(Script((hang(),)))
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    await wire.send(request("POST", "/v1/chat/completions", body))
    await asyncio.wait_for(upstream.received(), 5)
    wire.close()
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)


async def test_a_stream_nobody_asked_for_with_an_endless_event_is_refused_once(start: Start, tmp_path: Path) -> None:
    """The event's limit is passed in mid-answer: what still comes of it must not be a second answer."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: "
    log = tmp_path / "access.log"
    running, upstream = await start(raw(head + b"x" * (LIMIT + 2**20), hang()), access_log=str(log))
    answer = await running.post()
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_malformed")
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)
    running.worker.log.flush()
    assert len(log.read_text().splitlines()) == 1


async def test_bodies_in_any_spelling(start: Start) -> None:
    running, upstream = await start(json_answer(completion()))
    body = b'\n{ "messages" : [ {"content":"\\u00e9 model","role":"user"} ] ,\t"model"\n:\n"m" }\n'
    assert (await call(running.port, "POST", "/v1/chat/completions", body=body)).status == 200
    assert upstream.requests[0].document == {"model": "target", "messages": [{"role": "user", "content": "é model"}]}
