"""Turns on the express lane cannot be told from turns that take the whole way."""

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

ASKS: list[dict[str, Any]] = [
    {},
    {"temperature": 0, "seed": 0, "max_tokens": 7, "stop": "x"},
    {"x_unknown": {"model": "inner"}, "user": "model"},
    {"messages": [{"role": "user", "content": 'say "model":"m" twice'}]},
]
ANSWERS: list[Script] = [
    json_answer(completion()),
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
    await running.post(**ask, logprobs=None)
    express, whole = (sent.document for sent in upstream.requests)
    assert {**express, "logprobs": None} == whole


@pytest.mark.parametrize("script", ANSWERS)
async def test_the_same_answer_reaches_the_client(start: Start, script: Script) -> None:
    running, _ = await start(script, script)
    assert comparable(await running.post()) == comparable(await running.post(logprobs=None))


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
