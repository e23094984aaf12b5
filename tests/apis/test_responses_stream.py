"""Chat chunks as events of the Responses API: valid, in order, and the same answer as the whole one."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.apis.api import ApiCall, ApiRequest, StoringRequest
from antiphon.apis.responses import RESPONSES
from antiphon.apis.responses.reasoning import unsealed
from antiphon.chat.fold import fold
from antiphon.errors import UpstreamError
from tests.support.responses import check_response, fold_events, read_events

USAGE = {
    "prompt_tokens": 5,
    "completion_tokens": 2,
    "total_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 1},
}


def asked(**fields: Any) -> ApiRequest:
    numbers = count()
    call = ApiCall(RESPONSES, {}, False, lambda prefix: f"{prefix}{next(numbers)}", lambda: 1.0)
    return RESPONSES.read({"model": "m", "input": "Hi", **fields}, call)


def chunk(delta: Any, finish: str | None = None, **choice: Any) -> Any:
    entry = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **choice}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "t", "choices": [entry]}


def usage() -> Any:
    return {**chunk({}), "choices": [], "usage": USAGE}


def stream(*chunks: Any, **fields: Any) -> list[Any]:
    writer = asked(stream=True, **fields).stream()
    return read_events(b"".join([*map(writer.take, [*chunks, usage()]), writer.end()]))


def opened(index: int, name: str, kind: str = "function") -> Any:
    words = "arguments" if kind == "function" else "input"
    return chunk({"tool_calls": [{"index": index, "id": f"c{index}", "type": kind, kind: {"name": name, words: ""}}]})


def more(index: int, words: str, kind: str = "function") -> Any:
    key = "arguments" if kind == "function" else "input"
    return chunk({"tool_calls": [{"index": index, kind: {key: words}}]})


def without_ids(output: list[Any]) -> list[Any]:
    return [{**item, "id": None} for item in output]


PIECES = st.lists(st.text(min_size=1, max_size=4), max_size=4)


@st.composite
def answers(draw: Any) -> list[Any]:
    """Reasoning, text, a refusal and calls, each in pieces."""
    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"reasoning_content": words}) for words in draw(PIECES)]
    chunks += [chunk({"content": words}) for words in draw(PIECES)]
    chunks += [chunk({"refusal": words}) for words in draw(PIECES)]
    kinds = draw(st.lists(st.sampled_from(["function", "custom"]), max_size=3))
    chunks += [opened(index, f"t{index}", kind) for index, kind in enumerate(kinds)]
    pieces = [(index, kind, words) for index, kind in enumerate(kinds) for words in draw(PIECES)]
    chunks += [more(index, words, kind) for index, kind, words in draw(st.permutations(pieces))]
    finish = draw(st.sampled_from(["stop", "length", "content_filter", "tool_calls"]))
    return [*chunks, chunk({}, finish)]


@settings(max_examples=60, deadline=None)
@given(
    answers(), st.sampled_from([{}, {"reasoning": {"summary": "auto"}}, {"include": ["reasoning.encrypted_content"]}])
)
def test_the_events_put_together_are_the_whole_answer(chunks: list[Any], fields: Any) -> None:
    whole = asked(**fields).whole(fold(chunks, USAGE))
    check_response(whole)
    events = stream(*chunks, **fields)
    response = events[-1]["response"]
    assert fold_events(events) == response["output"]
    assert without_ids(response["output"]) == without_ids(whole["output"])
    for key in ("status", "incomplete_details", "usage", "error", "completed_at"):
        assert response[key] == whole[key]


@settings(max_examples=60, deadline=None)
@given(answers(), st.data())
def test_an_answer_may_break_off_anywhere(chunks: list[Any], data: Any) -> None:
    writer = asked(stream=True).stream()
    end = data.draw(st.integers(0, len(chunks) - 1))
    told = {"message": "Gone.", "code": "upstream_error", "param": None, "type": "server_error"}
    body = b"".join(map(writer.take, chunks[:end])) + writer.fail(UpstreamError("Gone."), {"error": told})
    events = read_events(body)
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    response = events[-1]["response"]
    assert response["error"] == {"code": "server_error", "message": "Gone."}
    said = [{**item, "status": None} for item in fold_events(events)]
    assert [{**item, "status": None} for item in response["output"]] == said


def test_reasoning_is_a_summary_where_one_was_asked_for() -> None:
    chunks = [chunk({"reasoning_content": "Hm"}), chunk({"reasoning_content": "."}), chunk({"content": "Yes"}, "stop")]
    plain = [event["type"] for event in stream(*chunks)]
    assert plain[2:8] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
    ]
    summary = [event["type"] for event in stream(*chunks, reasoning={"summary": "auto"})]
    assert summary[3:8] == [
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
    ]


def test_signed_reasoning_is_sealed_also_where_it_comes_late() -> None:
    block = {"type": "thought_signature", "of": "call", "call": 0, "signature": "sig"}
    late = chunk({"thinking_blocks": [block]})
    events = stream(
        chunk({"reasoning_content": "Hm."}),
        opened(0, "look"),
        late,
        chunk({}, "tool_calls"),
        include=["reasoning.encrypted_content"],
    )
    thought, call, signature = events[-1]["response"]["output"]
    assert unsealed(thought["encrypted_content"]) == {"reasoning_content": "Hm."}
    assert call["type"] == "function_call"
    assert unsealed(signature["encrypted_content"]) == {"thinking_blocks": [block]}


def test_tokens_citations_and_what_vendors_add() -> None:
    token = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": []}
    citation = {"start_index": 0, "end_index": 2, "url": "https://a.example", "title": "A"}
    events = stream(
        chunk({"content": "Hi"}, logprobs={"content": [token], "refusal": None}),
        chunk({"annotations": [{"type": "url_citation", "url_citation": citation}], "images": [1]}),
        {**chunk({}, "stop", native_finish_reason="eos"), "provider": "p", "service_tier": "flex"},
        top_logprobs=1,
    )
    response = events[-1]["response"]
    [item] = response["output"]
    [part] = item["content"]
    assert part["logprobs"] == [token]
    assert part["annotations"] == [{"type": "url_citation", **citation}]
    assert item["images"] == [1]
    assert (response["provider"], response["native_finish_reason"], response["service_tier"]) == ("p", "eos", "flex")
    assert response["usage"]["input_tokens_details"] == {"cached_tokens": 3, "cache_write_tokens": 0}
    assert fold_events(events) == [item]


def test_a_tool_of_a_namespace_is_told_as_it_was_offered() -> None:
    tools = [{"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", "name": "c"}]}]
    [item] = stream(opened(0, "n__c"), chunk({}, "tool_calls"), tools=tools)[-1]["response"]["output"]
    assert (item["name"], item["namespace"]) == ("c", "n")


def test_an_answer_that_could_not_be_kept_says_so() -> None:
    numbers = count()
    call = ApiCall(RESPONSES, {}, False, lambda prefix: f"{prefix}{next(numbers):048}", lambda: 1.0, stored={})
    request = RESPONSES.read({"model": "m", "input": "Hi", "stream": True}, call)
    assert isinstance(request, StoringRequest)
    writer = request.stream()
    body = b"".join(map(writer.take, [chunk({"content": "Yes"}, "stop"), usage()]))
    kept = read_events(body + writer.end())[-1]["response"]
    stored = request.to_store()
    assert stored is not None
    assert (kept["store"], json.loads(stored.answer)) == (True, kept)
    request.was_not_stored()
    assert read_events(body + writer.end())[-1]["response"] == {**kept, "store": False}
