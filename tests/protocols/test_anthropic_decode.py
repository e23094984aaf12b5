"""Whole answers of the Messages API, through `conform` and every dialect's writer; they agree with the streams."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.completion import conform
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.protocols.anthropic import Anthropic
from tests.chat.machine import machine, request, stamp
from tests.protocols.anthropic_recordings import MODEL, ON_PAGE, REFUSAL, SEARCHED, STREAMS, WEB_RESULT, wire

Document = dict[str, Any]
TEXT: Document = {"type": "text", "text": "Good day"}
THOUGHT: Document = {"type": "thinking", "thinking": "So.", "signature": "c2ln"}
HIDDEN: Document = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
CALL: Document = {"type": "tool_use", "id": "toolu_a", "name": "look", "input": {"b": 1, "a": "é"}}
SEARCH: Document = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
NAMES = sorted(STREAMS)


def answer(*blocks: Document, reason: Any = "end_turn", **more: Any) -> Document:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(blocks),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 7},
        **more,
    }


def decode(document: Document) -> Document:
    before = copy.deepcopy(document)
    decoded = Anthropic().decode(document, "asked")
    assert document == before
    return conform(decoded, request(stream=False), stamp()).document


def choice_of(*blocks: Document, **more: Any) -> Document:
    [choice] = decode(answer(*blocks, **more))["choices"]
    return dict(choice)


def message_of(*blocks: Document, **more: Any) -> Document:
    message: Document = choice_of(*blocks, **more)["message"]
    return message


def whole(events: list[Document]) -> Document:
    """What the vendor would have answered without a stream."""
    message: Document = copy.deepcopy(next(event["message"] for event in events if event["type"] == "message_start"))
    for event in copy.deepcopy(events):
        kind = event["type"]
        if kind == "content_block_start":
            message["content"].append(event["content_block"])
        elif kind == "content_block_delta":
            _grow(message["content"][-1], event["delta"])
        elif kind == "content_block_stop" and isinstance(message["content"][-1].get("input"), str):
            message["content"][-1]["input"] = json.loads(message["content"][-1]["input"] or "{}")
        elif kind == "message_delta":
            message.update(event["delta"])
            message["usage"].update(event["usage"] or {})
            message.update({key: event[key] for key in event if key not in ("type", "delta", "usage")})
    return message


def _grow(block: Document, delta: Document) -> None:
    if delta["type"] == "citations_delta":
        block.setdefault("citations", []).append(delta["citation"])
        return
    for key, value in delta.items():
        if key == "partial_json":
            block["input"] = (block["input"] or "") + value
        elif key != "type":
            block[key] = (block.get(key) or "") + value


# The same answer, whole and streamed.


@pytest.mark.parametrize("name", [name for name in NAMES if name != "call cut by the limit"])
def test_a_whole_answer_says_what_its_stream_says(name: str) -> None:
    said = Anthropic().decode(whole(STREAMS[name]), "asked")
    [choice] = said["choices"]
    folded = _folded(Anthropic().open_stream("asked").feed(wire(STREAMS[name])))
    for entry in folded["message"].get("annotations", ()):
        del entry["index"]
    calls = choice["message"].get("tool_calls", [])
    assert [(call["id"], call["function"]["name"]) for call in calls] == folded["calls"]
    for key in ("content", "refusal", "reasoning_content", "thinking_blocks", "content_parts", "annotations"):
        assert choice["message"].get(key) == folded["message"].get(key), key
    assert {key: value for key, value in choice.items() if key not in ("index", "message")} == folded["ending"]
    assert said["usage"] == folded["usage"]


def _folded(chunks: list[Document]) -> Document:
    message: Document = {"content": None}
    calls: list[tuple[str, str]] = []
    for chunk in chunks[:-1]:
        [choice] = chunk["choices"]
        for key, value in choice["delta"].items():
            if key == "tool_calls":
                calls += ((call["id"], call["function"]["name"]) for call in value if "id" in call)
            elif key != "role" and value:
                message[key] = value if message.get(key) is None else message[key] + value
    ending = {key: value for key, value in choice.items() if key not in ("index", "delta")}
    return {"message": message, "calls": calls, "ending": ending, "usage": chunks[-1]["usage"]}


# What stands where.


def test_text() -> None:
    document = decode(answer(TEXT, {"type": "text", "text": "!"}))
    assert document["model"] == MODEL
    assert document["choices"][0]["message"] == {"role": "assistant", "content": "Good day!"}
    assert document["choices"][0]["finish_reason"] == "stop"


def test_calls_beside_text() -> None:
    choice = choice_of(TEXT, CALL, {**CALL, "id": "toolu_b", "input": {}}, reason="tool_use")
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Good day"
    assert [call["function"]["arguments"] for call in choice["message"]["tool_calls"]] == ['{"b":1,"a":"é"}', "{}"]
    assert message_of(CALL, reason="tool_use")["content"] is None


def test_thinking() -> None:
    message = message_of(THOUGHT, HIDDEN, TEXT)
    assert message["reasoning_content"] == "So."
    assert message["thinking_blocks"] == [{"index": 0, **THOUGHT}, {"index": 1, **HIDDEN}]


def test_thinking_without_a_signature_is_text_only() -> None:
    message = message_of({"type": "thinking", "thinking": "So.", "signature": ""}, TEXT)
    assert message["reasoning_content"] == "So."
    assert "thinking_blocks" not in message


def test_the_vendors_own_blocks_are_no_calls() -> None:
    message = message_of(TEXT, SEARCH, WEB_RESULT, TEXT)
    assert "tool_calls" not in message
    assert message["content_parts"] == [
        {"index": 1, "text_offset": 8, **SEARCH},
        {"index": 2, "text_offset": 8, **WEB_RESULT},
    ]


def test_citations() -> None:
    cited = {"type": "text", "text": "324 m", "citations": [SEARCHED, ON_PAGE]}
    first, second = message_of(TEXT, cited)["annotations"]
    span = {"start_index": 8, "end_index": 13}
    assert first["url_citation"].items() >= {**span, "url": SEARCHED["url"], "title": "Towers"}.items()
    assert second["page_location"].items() >= span.items()
    found = {"type": "search_result_location", "source": "https://a.example", "title": None, "cited_text": "x"}
    [third] = message_of({"type": "text", "text": "x", "citations": [found]})["annotations"]
    assert third["url_citation"]["url"] == "https://a.example"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("a_new_word", "stop"),
    ],
)
def test_finishes(reason: str, finish: str) -> None:
    choice = choice_of(TEXT, reason=reason)
    assert (choice["finish_reason"], choice["native_finish_reason"]) == (finish, reason)


def test_a_refusal() -> None:
    choice = choice_of(reason="refusal", stop_details=REFUSAL)
    assert choice["message"]["refusal"] == "This is not allowed."
    assert choice["message"]["content"] is None
    assert choice["content_filter_results"] == {"cyber": {"filtered": True, "detected": True}}
    assert message_of(reason="refusal", stop_details=None)["refusal"]


def test_usage() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_1h_input_tokens": 30},
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 45},
        "server_tool_use": {"web_search_requests": 2},
        "service_tier": "priority",
        "inference_geo": None,
    }
    document = decode(answer(TEXT, usage=usage))
    assert document["usage"] == {
        "prompt_tokens": 240,
        "completion_tokens": 50,
        "total_tokens": 290,
        "prompt_tokens_details": {"cached_tokens": 200, "cache_creation_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 45},
        "cache_creation": {"ephemeral_1h_input_tokens": 30},
        "server_tool_use": {"web_search_requests": 2},
    }
    assert document["service_tier"] == "priority"


def test_what_is_unknown_travels() -> None:
    document = decode(answer(TEXT, container={"id": "box"}, novelty=[1], diagnostics=None))
    assert (document["container"], document["novelty"]) == ({"id": "box"}, [1])
    assert "diagnostics" not in document


# What goes wrong.


@pytest.mark.parametrize(
    "document",
    [
        {},
        answer("text"),  # type: ignore[arg-type]
        {**answer(), "content": None},
        answer({"type": "text"}),
        answer({"type": "tool_use", "id": "a", "input": {}}),
        answer(TEXT, reason=None),
    ],
)
def test_what_is_no_answer(document: Document) -> None:
    with pytest.raises(UpstreamError) as caught:
        decode(document)
    assert caught.value.status == 502


def test_an_error_in_place_of_an_answer() -> None:
    with pytest.raises(UpstreamError) as caught:
        decode({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert (caught.value.status, caught.value.code) == (503, "overloaded")


ODD_VALUES: list[Any] = [None, 5, "a", [], {}, [{}], {"type": "text"}, {"type": 5}, [None]]
ODD = st.sampled_from(ODD_VALUES)


@given(
    content=st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "odd", None, 5])},
            optional=dict.fromkeys(("text", "thinking", "signature", "data", "id", "name", "input", "citations"), ODD),
        )
        | ODD,
        max_size=3,
    ),
    more=st.dictionaries(st.sampled_from(["stop_details", "usage", "id", "model", "stop_reason", "error"]), ODD),
)
def test_whatever_comes_is_read_or_an_upstream_error(content: list[Any], more: Document) -> None:
    try:
        decode({**answer(), "content": content, **more})
    except UpstreamError:
        pass


# Dialects.


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_dialect_writes_them(dialect: str, name: str) -> None:
    asked = request(include_usage=True)
    options = WriteOptions(strict=False, target="up/model")
    writer = DIALECTS[dialect].writer(asked, options)
    reader = machine(include_usage=True)
    chunks = Anthropic().open_stream("asked").feed(wire(STREAMS[name]))
    written = [writer.chunk(piece) for chunk in chunks for piece in reader.feed(chunk)]
    written += [writer.chunk(piece) for piece in reader.end()]
    assert reader.usage is not None
    assert sum(choice["finish_reason"] is not None for chunk in written for choice in chunk["choices"]) == 1
    document = decode(whole(STREAMS[name])) if name != "call cut by the limit" else decode(answer(TEXT))
    spoken = writer.completion(document, dict(document["usage"]))
    assert spoken["usage"]["prompt_tokens"] == document["usage"]["prompt_tokens"]
