"""The Responses API, end to end: what the client sees on its socket, and what the upstream is asked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, cut, error, json_answer, sse, wait
from tests.support.judge import WordJudge
from tests.support.raw import Answer, call, connect, request
from tests.support.responses import check_response, fold_events, read_events
from tests.support.shapes import chunk, completion, hello, usage_chunk
from tests.turns.conftest import Start

FILTER = '[safety]\nmode = "filter"'
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}


async def ask(port: int, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
    return await call(port, "POST", "/v1/responses", {"model": "m", "input": "Hello", **fields}, headers=headers)


def kinds(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


def called(*words: str) -> Script:
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}
    more = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": word}}]}) for word in words]
    begin = chunk({"role": "assistant", "content": None, "tool_calls": [first]})
    return sse(begin, *more, chunk({}, "tool_calls"), usage_chunk())


async def test_a_whole_answer(start: Start) -> None:
    running, upstream = await start(json_answer(completion("Hi!")))
    answer = await ask(
        running.port, instructions="Be brief.", max_output_tokens=50, metadata={"a": "b"}, reasoning={"effort": "low"}
    )
    assert answer.status == 200
    response = check_response(answer.json)
    assert response["status"] == "completed"
    assert response["model"] == "target-2026"
    assert response["instructions"] == "Be brief."
    assert response["metadata"] == {"a": "b"}
    assert response["id"].startswith("resp_")
    [item] = response["output"]
    assert item["content"] == [{"type": "output_text", "text": "Hi!", "annotations": [], "logprobs": []}]
    assert response["usage"] == {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
    sent = upstream.requests[0].document
    assert sent == {
        "model": "target",
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "max_completion_tokens": 50,
        "reasoning_effort": "low",
    }


async def test_a_stream(start: Start) -> None:
    running, _ = await start(sse(*hello()))
    answer = await ask(running.port, stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = read_events(answer.body)
    assert kinds(events) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    response = events[-1]["response"]
    assert fold_events(events) == response["output"]
    assert response["output"][0]["content"][0]["text"] == "Hello"
    assert response["usage"]["total_tokens"] == 7


async def test_a_call_and_its_output(start: Start) -> None:
    running, upstream = await start(called('{"a"', ":1}"), json_answer(completion("Found.")))
    events = read_events((await ask(running.port, stream=True, tools=[TOOL], tool_choice="required")).body)
    assert kinds(events)[2:] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    [item] = events[-1]["response"]["output"]
    assert fold_events(events) == [item]
    assert (item["type"], item["call_id"], item["name"], item["arguments"]) == (
        "function_call",
        "call_1",
        "look",
        '{"a":1}',
    )
    output = {"type": "function_call_output", "call_id": "call_1", "output": "42"}
    asked: list[Any] = [{"role": "user", "content": "Hello"}, item, output]
    answer = await ask(running.port, input=asked, tools=[TOOL])
    assert answer.json["output"][0]["content"][0]["text"] == "Found."
    first, second = (request.document for request in upstream.requests)
    assert first["tools"] == [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}, "strict": False}}
    ]
    assert first["tool_choice"] == "required"
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
    assert second["messages"] == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "42"},
    ]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
async def test_an_answer_that_is_cut_is_incomplete(start: Start, stream: bool, finish: str, reason: str) -> None:
    script = sse(chunk({"role": "assistant", "content": "Hel"}), chunk({}, finish), usage_chunk())
    running, _ = await start(script if stream else json_answer(completion("Hel", finish)))
    answer = await ask(running.port, stream=stream)
    response = answer.json if not stream else read_events(answer.body)[-1]["response"]
    check_response(response)
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": reason}
    assert response["output"][0]["status"] == "incomplete"


# Errors


async def test_errors_before_the_answer_have_the_apis_names(start: Start) -> None:
    running, upstream = await start()
    for fields, param in (
        ({"input": None}, "input"),
        ({"input": 5}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"type": "nothing"}]}, "input[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "name": "not a name"}]}, "tools[0].name"),
        ({"temperature": 9}, "temperature"),
        ({"max_output_tokens": "many"}, "max_output_tokens"),
        ({"reasoning": {"effort": 5}}, "reasoning.effort"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"text": {"format": {"type": "json_schema", "name": "x y", "schema": {}}}}, "text.format.name"),
        ({"messages": []}, "messages"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"),
        ({"stream": "yes"}, "stream"),
    ):
        answer = await ask(running.port, **fields)
        assert (answer.status, answer.json["error"]["param"]) == (400, param), answer.body
        assert "messages[" not in answer.json["error"]["message"]
    assert upstream.requests == []


async def test_other_errors(start: Start) -> None:
    running, _ = await start(error(429, {"error": {"message": "Slow down.", "type": "requests", "code": None}}))
    answer = await ask(running.port, model="nobody")
    assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found")
    answer = await ask(running.port, stream=True)
    assert (answer.status, answer.json["error"]["message"]) == (429, "Slow down.")
    answer = await call(running.port, "GET", "/v1/responses")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


async def test_an_answer_that_breaks_off_has_failed(start: Start) -> None:
    running, _ = await start(sse(*hello()[:2], cut()))
    events = read_events((await ask(running.port, stream=True)).body)
    assert kinds(events)[-2:] == ["error", "response.failed"]
    response = events[-1]["response"]
    assert response["status"] == "failed"
    assert response["error"]["code"] == "server_error"
    assert response["output"][0]["status"] == "incomplete"
    assert response["usage"] is None


# Safety


@pytest.mark.parametrize("stream", [False, True])
async def test_a_blocked_prompt(start: Start, stream: bool) -> None:
    running, upstream = await start(json_answer(completion()), judge=WordJudge(), more=FILTER)
    answer = await ask(running.port, input="Please kill them", stream=stream)
    assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")
    assert upstream.requests == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_blocked_answer_is_incomplete_and_says_nothing_of_it(start: Start, stream: bool) -> None:
    words = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in ("kill ", "them"))]
    script = sse(*words, chunk({}, "stop"), usage_chunk()) if stream else json_answer(completion("kill them"))
    running, _ = await start(script, judge=WordJudge(), more=FILTER)
    answer = await ask(running.port, stream=stream)
    assert answer.status == 200
    assert b"them" not in answer.body
    response = answer.json if not stream else read_events(answer.body)[-1]["response"]
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "content_filter"}


# What is told beside


async def test_the_receipt_names_what_could_not_be_sent(start: Start) -> None:
    running, _ = await start(json_answer(completion()), sse(*hello()))
    asked = {"truncation": "auto", "context_management": [{"type": "compaction"}], "text": {"other": 1}}
    for stream in (False, True):
        answer = await ask(running.port, {"x-antiphon-receipt": "1"}, stream=stream, **asked)
        response = read_events(answer.body)[-1]["response"] if stream else answer.json
        receipt = response["antiphon"]
        assert receipt["dialect"] == "responses"
        assert [each["param"] for each in receipt["dropped"]] == ["text.other", "context_management", "truncation"]


async def test_silence_is_a_comment_and_a_late_error_is_told(start: Start) -> None:
    more = asyncio.Event()
    running, _ = await start(sse(wait(more), cut()), server="keepalive_comment = 1")
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "input": "x", "stream": True}).encode()
    await wire.send(request("POST", "/v1/responses", body))
    assert (await wire.head())[0] == 200
    assert await wire.chunk() == b": keep-alive\n\n"
    more.set()
    rest = b""
    while piece := await wire.chunk():
        rest += piece
    wire.close()
    assert kinds(read_events(rest)) == ["response.created", "response.in_progress", "error", "response.failed"]


# Compaction


async def test_a_conversation_becomes_one_item_that_stands_for_it(start: Start) -> None:
    running, upstream = await start(
        json_answer(completion("We launch on Tuesday.")), json_answer(completion("Tuesday."))
    )
    asked = {"model": "m", "input": [{"role": "user", "content": "We launch on Tuesday."}], "tools": [TOOL]}
    answer = await call(running.port, "POST", "/v1/responses/compact", asked)
    compacted = answer.json
    assert (answer.status, compacted["object"]) == (200, "response.compaction")
    [item] = compacted["output"]
    assert item["type"] == "compaction"
    assert compacted["usage"]["total_tokens"] == 7
    first = upstream.requests[0].document
    assert "tools" not in first
    assert "Summarize" in first["messages"][-1]["content"]
    await ask(running.port, input=[item, {"role": "user", "content": "When?"}])
    assert upstream.requests[1].document["messages"] == [
        {"role": "user", "content": "Summary of the conversation so far:\n\nWe launch on Tuesday."},
        {"role": "user", "content": "When?"},
    ]


async def test_half_a_summary_is_none(start: Start) -> None:
    running, _ = await start(json_answer(completion("We la", "length")))
    for fields, status, param in (({"stream": True}, 400, "stream"), ({"model": ""}, 400, None), ({}, 502, None)):
        answer = await call(running.port, "POST", "/v1/responses/compact", {"model": "m", "input": "Hi", **fields})
        assert (answer.status, answer.json["error"]["param"]) == (status, param)
    other = {"type": "compaction", "id": "x", "encrypted_content": "gAAA"}
    answer = await ask(running.port, input=[other, {"role": "user", "content": "Hi"}])
    assert (answer.status, answer.json["error"]["param"]) == (400, "input[0].type")


@pytest.mark.parametrize("native", [False, True])
async def test_long_texts_reach_both_sides_whole(start: Start, native: bool) -> None:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
    }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {"id": "resp_1", "created_at": 1, "model": "t", "status": "completed", "output": [said], "usage": usage}
    script = json_answer(whole if native else completion())
    running, upstream = await start(script, upstream='offers = ["responses"]' if native else "")
    long = "Be \u00fcseful and br\\ief. " * 40_000
    answer = await ask(running.port, instructions=long, input=[{"role": "user", "content": long + "?"}])
    assert answer.status == 200
    assert answer.json["instructions"] == long
    sent = upstream.requests[0].document
    texts = [sent["instructions"], sent["input"][0]["content"]] if native else [m["content"] for m in sent["messages"]]
    assert texts == [long, long + "?"]
