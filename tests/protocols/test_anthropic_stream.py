"""Streams of the Messages API, read in pieces of any size, through the stream machine and every dialect's writer."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import UpstreamError
from antiphon.protocols.anthropic import FLAVORS, Anthropic
from tests.chat.checker import Answer, check
from tests.chat.machine import machine
from tests.protocols.anthropic_recordings import (
    MODEL,
    ON_PAGE,
    PING,
    REFUSAL,
    SEARCHED,
    STREAMS,
    WEB_RESULT,
    block,
    call,
    end,
    start,
    text,
    thinking,
    wire,
)

Document = dict[str, Any]
NAMES = sorted(STREAMS)


def read(data: bytes, *cuts: int) -> list[Document]:
    """The chunks of a whole stream, fed in the pieces between the cuts."""
    stream = Anthropic().open_stream("asked")
    chunks = []
    places = [0, *cuts, len(data)]
    for begin, stop in pairwise(places):
        chunks += stream.feed(data[begin:stop])
    assert stream.is_whole
    return chunks


def canonical(chunks: list[Document]) -> list[Document]:
    """Through the stream machine, as the flow does it."""
    reader = machine(include_usage=True)
    out = [piece for chunk in copy.deepcopy(chunks) for piece in reader.feed(chunk)]
    return out + reader.end()


def answer(name: str) -> Answer:
    [found] = check(canonical(read(wire(STREAMS[name]))))
    return found


def said(chunks: list[Document], key: str) -> list[Any]:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return [delta[key] for delta in deltas if key in delta]


def merged(chunks: list[Document], key: str) -> list[Any]:
    return [entry for entries in said(chunks, key) for entry in entries]


def last_choice(chunks: list[Document]) -> Document:
    return next(chunk["choices"][0] for chunk in reversed(chunks) if chunk["choices"])


def usage_of(name: str) -> Document:
    last = read(wire(STREAMS[name]))[-1]
    assert last["choices"] == []
    usage: Document = last["usage"]
    return usage


# Any chunking.


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_split_at_every_byte_reads_the_same(name: str) -> None:
    data = wire(STREAMS[name])
    whole = read(data)
    for cut in range(len(data)):
        assert read(data, cut) == whole
    assert read(data, *range(1, len(data))) == whole


@given(name=st.sampled_from(NAMES), cuts=st.lists(st.integers(0, 5000), max_size=12), padded=st.booleans())
def test_any_chunking_reads_the_same(name: str, cuts: list[int], padded: bool) -> None:
    data = wire(STREAMS[name], padded=padded)
    assert read(data, *sorted(cut for cut in cuts if cut < len(data))) == read(wire(STREAMS[name]))


@pytest.mark.parametrize("name", NAMES)
def test_lines_may_end_as_they_like_and_events_may_have_no_name(name: str) -> None:
    data = wire(STREAMS[name])
    assert read(data.replace(b"\n", b"\r\n")) == read(data)
    bare = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in STREAMS[name])
    assert read(bare) == read(data)


@pytest.mark.parametrize("name", NAMES)
def test_the_machine_takes_every_stream(name: str) -> None:
    check(canonical(read(wire(STREAMS[name]))))


# What the client sees.


def test_text() -> None:
    found = answer("text")
    assert (found.content, found.finish) == ("Good day! 😀 é", "stop")
    chunks = read(wire(STREAMS["text"]))
    assert {chunk["model"] for chunk in chunks} == {MODEL}
    assert {chunk["id"] for chunk in chunks} == {"msg_rec1"}
    assert {chunk["service_tier"] for chunk in chunks} == {"default"}


def test_pings_and_unknown_events_say_nothing() -> None:
    assert answer("pings everywhere").content == "ab"
    assert answer("unknown events and deltas").content == "a"


def test_thinking_is_told_as_it_comes_and_kept_whole_with_its_signature() -> None:
    chunks = read(wire(STREAMS["thinking"]))
    assert said(chunks, "reasoning_content") == ["Let me ", "see."]
    kept = [{"index": 0, "type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}]
    assert merged(chunks, "thinking_blocks") == kept
    assert merged(canonical(chunks), "thinking_blocks") == kept
    assert answer("thinking").reasoning == "Let me see."


def test_thinking_whose_text_is_left_out_keeps_its_signature() -> None:
    chunks = read(wire(STREAMS["thinking without its text"]))
    [kept] = merged(chunks, "thinking_blocks")
    assert (kept["thinking"], kept["signature"]) == ("", "c2ln")


def test_thinking_without_a_signature_is_text_only() -> None:
    events = [start(), *block(0, {"type": "thinking", "thinking": "hm"}), *text(1, "a"), *end("end_turn")]
    chunks = read(wire(events))
    assert said(chunks, "reasoning_content") == ["hm"]
    assert said(chunks, "thinking_blocks") == []


def test_redacted_blocks_are_kept_in_their_order() -> None:
    kept = merged(canonical(read(wire(STREAMS["redacted"]))), "thinking_blocks")
    assert [(entry["index"], entry["data"]) for entry in kept] == [(0, "ZGF0YQ=="), (1, "bW9yZQ==")]


def test_calls_count_calls_and_not_blocks() -> None:
    found = answer("calls after text")
    assert [(tool.id, tool.name, tool.arguments) for tool in found.tools] == [
        ("toolu_a", "weather", '{"city": "Paris"}'),
        ("toolu_b", "weather", '{"city": "Rom"}'),
    ]
    assert found.finish == "tool_calls"
    calls = merged(read(wire(STREAMS["calls after text"])), "tool_calls")
    assert {entry["index"] for entry in calls} == {0, 1}


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert [tool.arguments for tool in answer("call without arguments").tools] == ["{}"]


def test_a_call_may_have_its_input_in_its_start() -> None:
    assert [tool.arguments for tool in answer("call with its input in the start").tools] == ['{"city":"Oslo"}']


def test_who_made_a_call_is_kept_for_the_next_turn() -> None:
    [first, *_] = merged(canonical(read(wire(STREAMS["call by a program"]))), "tool_calls")
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    assert first["extra_content"] == {"anthropic": {"caller": caller}}


def test_a_call_that_the_limit_cut_is_length() -> None:
    found = answer("call cut by the limit")
    assert found.finish == "length"
    assert found.tools[0].arguments == '{"city": "Pa'


def test_blocks_of_the_vendors_own_tools_are_no_calls_and_are_kept() -> None:
    chunks = canonical(read(wire(STREAMS["web search with citations"])))
    [found] = check(chunks)
    assert found.tools == []
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tower height"}}
    assert merged(chunks, "content_parts") == [
        {"index": 1, "text_offset": 10, **asked},
        {"index": 2, "text_offset": 10, **WEB_RESULT},
    ]


def test_citations_are_annotations_with_the_span_that_they_support() -> None:
    chunks = canonical(read(wire(STREAMS["web search with citations"])))
    [found] = check(chunks)
    first, second = merged(chunks, "annotations")
    assert (first["index"], second["index"]) == (0, 1)
    assert first["type"] == "url_citation"
    address = first["url_citation"]
    assert (address["url"], address["title"]) == (SEARCHED["url"], SEARCHED["title"])
    assert found.content[address["start_index"] : address["end_index"]] == "324 m"
    assert second["type"] == "page_location"
    place = second["page_location"]
    assert found.content[place["start_index"] : place["end_index"]] == " and rent."
    assert place["start_page_number"] == ON_PAGE["start_page_number"]


def test_a_pause_is_no_plain_stop() -> None:
    chunks = canonical(read(wire(STREAMS["paused"])))
    last = last_choice(chunks)
    assert (last["finish_reason"], last["native_finish_reason"]) == ("stop", "pause_turn")
    assert [entry["type"] for entry in merged(chunks, "content_parts")] == ["server_tool_use"]


def test_blocks_of_betas_are_kept_whole() -> None:
    [fallback] = merged(read(wire(STREAMS["fallback to another model"])), "content_parts")
    assert (fallback["from"], fallback["to"]) == ({"model": "a"}, {"model": "b"})
    [compaction] = merged(read(wire(STREAMS["compaction"])), "content_parts")
    assert compaction["content"] == "So far: much."


def test_a_refusal_is_a_filter_with_the_vendors_reason() -> None:
    chunks = canonical(read(wire(STREAMS["refusal before any block"])))
    [found] = check(chunks)
    assert (found.finish, found.refusal) == ("content_filter", "This is not allowed.")
    last = last_choice(chunks)
    assert last["stop_details"] == REFUSAL
    assert last["content_filter_results"] == {"cyber": {"filtered": True, "detected": True}}


def test_a_refusal_without_a_reason_says_that_it_is_one() -> None:
    found = answer("refusal after text")
    assert (found.content, found.finish) == ("First you ", "content_filter")
    assert found.refusal


@pytest.mark.parametrize(
    ("name", "finish", "native"),
    [
        ("stop sequence", "stop", "stop_sequence"),
        ("context window", "length", "model_context_window_exceeded"),
        ("text", "stop", "end_turn"),
    ],
)
def test_the_vendors_word_for_the_end_stays(name: str, finish: str, native: str) -> None:
    last = last_choice(canonical(read(wire(STREAMS[name]))))
    assert (last["finish_reason"], last["native_finish_reason"]) == (finish, native)


def test_the_sequence_that_stopped_it_is_told() -> None:
    assert last_choice(canonical(read(wire(STREAMS["stop sequence"]))))["stop_sequence"] == ", 3"


def test_what_several_ends_say_adds_up() -> None:
    chunks = read(wire(STREAMS["several ends"]))
    assert [chunk["container"] for chunk in chunks if "container" in chunk] == [{"id": "box"}]
    assert chunks[-1]["usage"]["completion_tokens"] == 4
    assert [chunk for chunk in read(wire(STREAMS["compaction"])) if chunk.get("context_management")]


# Usage.


def test_the_last_counts_win_and_the_cache_is_part_of_the_prompt() -> None:
    usage = usage_of("counts corrected at the end")
    assert usage["prompt_tokens"] == 61 + 100 + 20
    assert usage["completion_tokens"] == 50
    assert usage["total_tokens"] == 231
    assert usage["prompt_tokens_details"] == {"cached_tokens": 100, "cache_creation_tokens": 20}
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 40}
    assert usage["cache_creation"] == {"ephemeral_5m_input_tokens": 7}


def test_counts_that_the_end_does_not_repeat_stay() -> None:
    assert usage_of("text")["prompt_tokens"] == 12


def test_counts_of_each_model_and_of_tools_travel() -> None:
    assert len(usage_of("fallback to another model")["iterations"]) == 2
    assert usage_of("web search with citations")["server_tool_use"] == {"web_search_requests": 1}


# What goes wrong.


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_cut_at_any_byte_before_its_end_is_not_whole(name: str) -> None:
    events = STREAMS[name]
    last = next(place for place, event in enumerate(events) if event["type"] == "message_stop")
    data = wire(events[: last + 1])
    for cut in range(0, len(data) - 1, 7):
        stream = Anthropic().open_stream("asked")
        chunks = stream.feed(data[:cut])
        assert not stream.is_whole
        assert not any(choice["finish_reason"] for chunk in chunks for choice in chunk["choices"])


def test_an_end_without_a_reason_is_malformed() -> None:
    with pytest.raises(UpstreamError):
        read(wire([start(), *text(0, "a"), {"type": "message_stop"}]))


def failed(events: list[Document]) -> tuple[list[Document], UpstreamError]:
    stream = Anthropic().open_stream("asked")
    with pytest.raises(UpstreamError) as caught:
        stream.feed(wire(events))
    return stream.pending, caught.value


ERRORS = [
    ("overloaded_error", 503, "overloaded"),
    ("rate_limit_error", 429, "rate_limit_exceeded"),
    ("api_error", 502, "upstream_error"),
    ("timeout_error", 504, "timeout"),
    ("authentication_error", 502, "upstream_error"),
    ("billing_error", 429, "insufficient_quota"),
]


@pytest.mark.parametrize(("kind", "status", "code"), ERRORS)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_an_error_in_the_stream_ends_it(kind: str, status: int, code: str, place: int) -> None:
    events = STREAMS["text"][:place]
    error = {"type": "error", "error": {"type": kind, "message": "Oh."}, "request_id": "req_1"}
    pending, caught = failed([*events, error])
    assert (caught.status, caught.code) == (status, code)
    assert "".join(said(pending, "content")) == ("Good " if place == 3 else "")


def test_before_the_first_block_nothing_has_left() -> None:
    stream = Anthropic().open_stream("asked")
    assert stream.feed(wire([start(), PING])) == []


@pytest.mark.parametrize(
    "events",
    [
        [start(), *text(0, "a"), start()],
        [start(), start(id="msg_other")],
        [start(), *call(0, "toolu_a", "weather", '{"city": "Spark')[:-1], start(id="msg_other"), *text(0, "b")],
    ],
)
def test_an_answer_that_begins_anew_is_not_glued_to_the_first(events: list[Document]) -> None:
    _, caught = failed(events)
    assert caught.code == "upstream_malformed"


@pytest.mark.parametrize(
    "events",
    [
        text(0, "no start"),
        [{"type": "message_start", "message": None}],
        [start(), {"type": "content_block_start", "index": 0, "content_block": "text"}],
        [start(), {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}],
        [start(), *text(0)[:1], {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta"}}],
        [
            start(),
            *text(0)[:1],
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        ],
        [start(), *block(0, {"type": "tool_use", "id": "a", "name": None})],
    ],
)
def test_what_cannot_be_read_is_malformed(events: list[Document]) -> None:
    _, caught = failed(events)
    assert (caught.status, caught.code) == (502, "upstream_malformed")


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: 5\n\n", b"data: [1,2]\n\n", b"data: \xff\n\n"])
def test_bytes_that_are_no_events_are_malformed(data: bytes) -> None:
    stream = Anthropic().open_stream("asked")
    with pytest.raises(UpstreamError) as caught:
        stream.feed(data)
    assert caught.value.code == "upstream_malformed"


def test_a_host_may_frame_its_events_otherwise() -> None:
    """Bedrock: each frame holds one event."""
    protocol = Anthropic(FLAVORS["bedrock"], lambda: lambda data: data.splitlines())
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in STREAMS["calls after text"])
    assert protocol.open_stream("asked").feed(lines) == read(wire(STREAMS["calls after text"]))


HALVES = (b"\\ud83d", b"\\ude00")


def test_a_character_cut_between_two_deltas_is_put_together() -> None:
    events = [start(), *thinking(0, "c2ln", "H1", "H2"), *text(1, "T1", "T2"), *end("end_turn")]
    data = wire(events)
    for mark in (b"H", b"T"):
        data = data.replace(mark + b"1", HALVES[0]).replace(mark + b"2", HALVES[1])
    chunks = canonical(read(data))
    [found] = check(chunks)
    assert (found.reasoning, found.content) == ("😀", "😀")
    assert merged(chunks, "thinking_blocks")[0]["thinking"] == "😀"


ODD_VALUES: list[Any] = [None, True, -1, 0, "", "a", [], [None], {}, {"type": "text"}, {"type": 5}, {"id": {}}, [{}]]
JSON = st.sampled_from(ODD_VALUES)
ODD = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
                *("message_delta", "message_stop", "ping", "error", "odd"),
            ]
        )
    },
    optional={
        "index": st.integers(0, 2) | JSON,
        "message": JSON | st.just(start()["message"]),
        "content_block": JSON | st.sampled_from([{"type": "text"}, {"type": "tool_use", "name": "f"}, {"type": "odd"}]),
        "delta": JSON | st.sampled_from([{"type": "text_delta", "text": "a"}, {"type": "odd_delta", "x": "y"}]),
        "usage": JSON,
        "error": JSON,
    },
)


@given(st.lists(ODD | st.sampled_from([event for stream in STREAMS.values() for event in stream]), max_size=12))
def test_whatever_comes_is_read_or_an_upstream_error(events: list[Document]) -> None:
    stream = Anthropic().open_stream("asked")
    reader = machine()
    try:
        for event in events:
            for chunk in stream.feed(wire([event])):
                reader.feed(chunk)
    except UpstreamError:
        pass
