"""Upstreams that speak the Responses API: requests go as they are; what is done with answers is done with theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, cut, json_answer, stream
from tests.support.judge import WordJudge
from tests.support.raw import Answer, call
from tests.support.responses import check_response, fold_events, read_events
from tests.turns.conftest import Start

NATIVE = 'offers = ["responses"]'
FILTER = '[safety]\nmode = "filter"'
USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 14,
}
THOUGHT = {
    "id": "rs_up",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAA",
}
SEARCH = {
    "id": "ws_up",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "cats"},
}
CALL = {
    "id": "fc_up",
    "type": "function_call",
    "status": "completed",
    "call_id": "c1",
    "name": "look",
    "arguments": "{}",
}


def said(text: str, **more: Any) -> Any:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_up", "type": "message", "status": "completed", "role": "assistant", "content": [part], **more}


def response(*output: Any, status: str = "completed", **more: Any) -> Any:
    base = {"id": "resp_up", "object": "response", "created_at": 1, "model": "target-2026", "status": status}
    return {**base, "error": None, "incomplete_details": None, "output": list(output), "usage": USAGE, **more}


def events(*items: Any, status: str = "completed", ends: bool = True, **more: Any) -> Script:
    """A stream of these items, as OpenAI sends one."""
    told: list[Any] = [{"type": "response.created", "response": response(status="in_progress", usage=None)}]
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        told.append(
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "content": [], "summary": []},
            }
        )
        if item["type"] == "reasoning":
            words = [("response.reasoning_summary_text", item["summary"][0]["text"])]
        elif item["type"] == "message":
            words = [("response.output_text", item["content"][0]["text"])]
        elif item["type"] == "function_call":
            words = [("response.function_call_arguments", item["arguments"])]
        else:
            words = []
        for name, text in words:
            told += ({"type": f"{name}.delta", "delta": piece, **at} for piece in (text[:2], text[2:]) if piece)
            told.append({"type": f"{name}.done", **at})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    if ends:
        told.append({"type": f"response.{status}", "response": response(*items, status=status, **more)})
    frames = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in told]
    ending = () if ends else (cut(),)
    return stream({"content-type": "text/event-stream"}, *frames, *ending)


async def ask(port: int, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
    return await call(port, "POST", "/v1/responses", {"model": "m", "input": "Hello", **fields}, headers=headers)


def without_ids(output: list[Any]) -> list[Any]:
    return [{key: value for key, value in item.items() if key != "id"} for item in output]


async def test_the_request_goes_as_it_is(start: Start) -> None:
    running, upstream = await start(json_answer(response(SEARCH, said("Cats."))), upstream=NATIVE)
    fields = {
        "tools": [{"type": "web_search"}],
        "truncation": "auto",
        "reasoning": {"effort": "low", "summary": "auto"},
        "client_metadata": {"a": "b"},
    }
    answer = await ask(running.port, {"x-antiphon-receipt": "1"}, **fields)
    assert answer.status == 200, answer.body
    assert upstream.requests[0].path == "/v1/responses"
    assert upstream.requests[0].document == {"model": "target", "input": "Hello", "store": False, **fields}
    told = check_response(answer.json)
    assert without_ids(told["output"]) == without_ids([SEARCH, said("Cats.")])
    assert told["usage"] == USAGE
    assert told["antiphon"]["dropped"] == []


@pytest.mark.parametrize(
    "parts", [[THOUGHT, said("Hello")], [THOUGHT, CALL], [SEARCH, said("Cats.", phase="final_answer")]]
)
async def test_a_stream(start: Start, parts: list[Any]) -> None:
    running, _ = await start(events(*parts), upstream=NATIVE)
    asked: Any = {"stream": True, "reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}
    found = read_events((await ask(running.port, **asked)).body)
    told = found[-1]["response"]
    assert found[-1]["type"] == "response.completed"
    assert fold_events(found) == told["output"]
    assert without_ids(told["output"]) == without_ids([{**part, "status": "completed"} for part in parts])
    assert told["usage"] == USAGE


async def test_reasoning_goes_back_as_the_upstream_encrypted_it(start: Start) -> None:
    running, upstream = await start(json_answer(response(said("Yes."))), upstream=NATIVE)
    own = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "antiphon.1.e30="}
    output = {"type": "function_call_output", "call_id": "c1", "output": "42"}
    await ask(running.port, input=[{"role": "user", "content": "Hi"}, THOUGHT, own, CALL, output])
    called = {key: value for key, value in CALL.items() if key not in ("id", "status")}
    assert upstream.requests[0].document["input"] == [{"role": "user", "content": "Hi"}, THOUGHT, called, output]


@pytest.mark.parametrize("streams", [False, True])
async def test_an_incomplete_and_a_failed_answer(start: Start, streams: bool) -> None:
    more: Any = {"incomplete_details": {"reason": "max_output_tokens"}}
    broken = {"error": {"code": "server_error", "message": "Broken."}}
    cut_short, failed = said("Hel", status="incomplete"), response(status="failed", **broken)
    if streams:
        failing = json.dumps({"type": "response.failed", "response": failed}).encode()
        scripts = [
            events(cut_short, status="incomplete", **more),
            stream({"content-type": "text/event-stream"}, b"event: response.failed\ndata: " + failing + b"\n\n"),
        ]
    else:
        scripts = [json_answer(response(cut_short, status="incomplete", **more)), json_answer(failed)]
    running, _ = await start(*scripts, upstream=NATIVE)
    answer = await ask(running.port, stream=streams)
    told = read_events(answer.body)[-1]["response"] if streams else answer.json
    assert (told["status"], told["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    answer = await ask(running.port, stream=streams)  # nothing has been said: it is an error, not a stream
    assert (answer.status, answer.json["error"]["message"]) == (502, "Broken.")


async def test_a_stream_that_is_cut_has_failed(start: Start) -> None:
    running, _ = await start(events(said("Hello"), ends=False), upstream=NATIVE)
    found = read_events((await ask(running.port, stream=True)).body)
    assert [event["type"] for event in found[-2:]] == ["error", "response.failed"]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("item", [said("kill them"), {**SEARCH, "action": {"type": "search", "query": "kill them"}}])
async def test_what_is_blocked_does_not_leave(start: Start, streams: bool, item: Any) -> None:
    script = events(item, said("Hello")) if streams else json_answer(response(item, said("Hello")))
    running, _ = await start(script, upstream=NATIVE, judge=WordJudge(), more=FILTER)
    answer = await ask(running.port, stream=streams)
    assert b"kill them" not in answer.body
    assert b"them" not in answer.body
    told = read_events(answer.body)[-1]["response"] if streams else answer.json
    assert (told["status"], told["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})


async def test_items_of_built_in_tools_are_judged(start: Start) -> None:
    running, upstream = await start(
        json_answer(response(said("Yes."))), upstream=NATIVE, judge=WordJudge(), more=FILTER
    )
    item = {"type": "mcp_call", "id": "x", "name": "f", "server_label": "s", "arguments": "{}", "output": "kill them"}
    answer = await ask(running.port, input=[{"role": "user", "content": "Hi"}, item])
    assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")
    assert upstream.requests == []
