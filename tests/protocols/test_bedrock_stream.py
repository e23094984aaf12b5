"""ConverseStream -> chunks: events, traps, failures."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.protocols.bedrock import Bedrock
from tests.chat.checker import Answer, check
from tests.chat.machine import machine, request
from tests.protocols import bedrock_streams as streams
from tests.protocols.aws_frames import (
    arguments,
    delta,
    end,
    error,
    event,
    exception,
    message,
    start,
    stop,
    text,
    thought,
    tool,
)

Document = dict[str, Any]
NAMES = sorted(streams.RECORDINGS)


def decode(data: bytes, *cuts: int) -> list[Document]:
    stream = Bedrock().open_stream("amazon.nova-2-lite-v1:0")
    places = [0, *cuts, len(data)]
    out = [chunk for a, b in itertools.pairwise(places) for chunk in stream.feed(data[a:b])]
    assert stream.is_whole
    assert stream.pending == []
    return out


def tell(data: bytes, **asked: Any) -> tuple[list[Document], Answer, Document | None]:
    """All that leaves the stream machine, its answer, and the usage."""
    ours = machine(**asked)
    out = [piece for chunk in decode(data) for piece in ours.feed(chunk)]
    out += ours.end()
    [answer] = check(out)
    return out, answer, ours.usage


def values(chunks: list[Document], key: str) -> list[Any]:
    """What the deltas say under a key, in order."""
    return [
        piece["choices"][0]["delta"][key]
        for piece in chunks
        if piece["choices"] and key in piece["choices"][0]["delta"]
    ]


def fails(data: bytes) -> tuple[UpstreamError, list[Document]]:
    stream = Bedrock().open_stream("m")
    with pytest.raises(UpstreamError) as caught:
        stream.feed(data)
    return caught.value, stream.pending


@pytest.mark.parametrize("name", NAMES)
def test_every_split_gives_the_same(name: str) -> None:
    data = streams.RECORDINGS[name]
    whole = decode(data)
    for cut in range(len(data)):
        assert decode(data, cut) == whole
    assert decode(data, *range(1, len(data))) == whole


@given(st.sampled_from(NAMES), st.data())
def test_any_chunking_gives_the_same(name: str, draw: st.DataObject) -> None:
    data = streams.RECORDINGS[name]
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=12)))
    assert decode(data, *cuts) == decode(data)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("name", NAMES)
def test_every_dialect_writes_them(name: str, dialect: str) -> None:
    out, answer, _ = tell(streams.RECORDINGS[name], include_usage=True)
    writer = DIALECTS[dialect].writer(request(include_usage=True), WriteOptions(strict=False, target="up/model"))
    written = [writer.chunk(copy.deepcopy(piece)) for piece in out]
    said = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in written if chunk["choices"])
    assert said == answer.content


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_cut_before_message_stop_is_not_whole(name: str) -> None:
    data = streams.RECORDINGS[name]
    reasons = [end(reason) for reason in ("end_turn", "tool_use", "guardrail_intervened")]
    last = next((data.index(frame) + len(frame) for frame in reasons if frame in data), None)
    for cut in range(0, last or 40, 7):
        stream = Bedrock().open_stream("m")
        stream.feed(data[:cut])
        assert not stream.is_whole


def test_text() -> None:
    _, answer, usage = tell(streams.PLAIN)
    assert (answer.content, answer.finish) == ("The sea is 𝄞 wide.", "stop")
    assert usage == {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def test_usage_is_the_last_chunk_and_has_no_choices() -> None:
    last = decode(streams.PLAIN)[-1]
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 18


def test_calls_are_counted_by_themselves_and_one_without_arguments_has_an_object() -> None:
    _, answer, _ = tell(streams.TWO_CALLS)
    assert [(call.id, call.name, call.arguments) for call in answer.tools] == [
        ("tooluse_A-1", "weather", '{"city":"Köln"}'),
        ("functions.clock:1", "clock", "{}"),
    ]
    assert answer.finish == "tool_calls"


def test_thinking_leaves_as_it_comes_and_whole_blocks_with_signatures_follow() -> None:
    out, answer, _ = tell(streams.THINKING)
    assert answer.reasoning == "They ask for the time."
    assert [block for blocks in values(out, "thinking_blocks") for block in blocks] == [
        {"index": 0, "type": "thinking", "thinking": "They ask for the time.", "signature": "c2ln+/=="},
        {"index": 1, "type": "redacted_thinking", "data": "aGlkZGVu"},
    ]


def test_an_empty_first_text_and_thinking_without_a_signature() -> None:
    out, answer, _ = tell(streams.UNSIGNED)
    assert (answer.reasoning, answer.content) == ("Hm.", "Hi.")
    assert values(out, "thinking_blocks") == []


def test_tools_that_bedrock_calls_itself_are_no_calls_of_the_client() -> None:
    out, answer, _ = tell(streams.SERVER_TOOL)
    assert answer.tools == []
    assert (answer.finish, answer.content) == ("stop", "It is 42.")
    assert [block for blocks in values(out, "content_parts") for block in blocks] == [
        {
            "index": 0,
            "type": "toolUse",
            "toolUse": {
                "toolUseId": "s1",
                "name": "nova_code_interpreter",
                "type": "server_tool_use",
                "input": {"snippet": "6*7"},
            },
        },
        {
            "index": 1,
            "type": "toolResult",
            "toolResult": {
                "toolUseId": "s1",
                "status": "success",
                "type": "result",
                "content": [{"json": {"stdOut": "42"}}],
            },
        },
    ]


def test_citations_are_annotations_of_their_block() -> None:
    out, answer, _ = tell(streams.CITED)
    assert answer.content == "Before. Paris is large."
    [[web, page]] = values(out, "annotations")
    assert web == {
        "type": "url_citation",
        "url_citation": {"url": "https://c.example/p", "title": "Cities", "start_index": 8, "end_index": 23},
    }
    assert page["type"] == "documentPage"
    assert page["documentPage"]["location"] == {"documentIndex": 0, "start": 3, "end": 4}
    assert page["documentPage"]["sourceContent"] == [{"text": "Paris"}]


def test_a_guardrail_fills_the_filter_results() -> None:
    out, answer, _ = tell(streams.BLOCKED)
    assert answer.finish == "content_filter"
    finish = next(piece["choices"][0] for piece in out if piece["choices"][0]["finish_reason"])
    assert finish["native_finish_reason"] == "guardrail_intervened"
    found = next(piece for piece in out if "content_filter_results" in piece["choices"][0])
    results = found["choices"][0]["content_filter_results"]
    assert results["violence"] == {"filtered": False, "severity": "medium"}
    assert results["profanity"] == {"filtered": False, "detected": True}
    assert results["custom_blocklists"] == {
        "filtered": True,
        "details": [
            {"id": "Loans", "filtered": True},
            {"id": "customWords", "filtered": True},
            {"id": "EMAIL", "filtered": False},
        ],
    }
    assert found["prompt_filter_results"] == [
        {
            "prompt_index": 0,
            "content_filter_results": {
                "hate": {"filtered": True, "severity": "high"},
                "jailbreak": {"filtered": True, "detected": True},
            },
        }
    ]


def test_metadata_before_the_end_waits_for_it() -> None:
    chunks = decode(streams.EARLY_METADATA)
    assert [bool(chunk["choices"]) for chunk in chunks] == [True, True, True, False]
    assert tell(streams.EARLY_METADATA)[2] == {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def test_unknown_events_and_deltas_are_passed_over() -> None:
    assert tell(streams.UNKNOWN_EVENTS)[1].content == "a"


def test_the_cache_stands_beside_the_input() -> None:
    out, answer, usage = tell(streams.LATE_FIELDS, include_usage=True)
    assert usage == {
        "prompt_tokens": 2005,
        "completion_tokens": 4,
        "total_tokens": 2009,
        "prompt_tokens_details": {
            "cached_tokens": 1500,
            "cache_creation_tokens": 500,
            "cache_creation_token_details": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 100},
        },
    }
    assert any(piece.get("additionalModelResponseFields") == {"stop_sequence": "###"} for piece in out)
    assert answer.finish == "stop"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("a_word_of_next_year", "stop"),
    ],
)
def test_every_reason_has_its_own_end(word: str, reason: str) -> None:
    out, answer, _ = tell(start() + text("a") + end(word))
    assert answer.finish == reason
    if word not in ("end_turn", "max_tokens"):
        assert any(piece["choices"][0].get("native_finish_reason") == word for piece in out)


@pytest.mark.parametrize("word", ["malformed_model_output", "malformed_tool_use"])
def test_an_answer_that_nobody_can_read_is_no_stop(word: str) -> None:
    failure, before = fails(start() + text("a") + end(word))
    assert (failure.status, failure.code) == (502, "upstream_malformed")
    assert [chunk["choices"][0]["delta"] for chunk in before][1] == {"content": "a"}


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("throttlingException", 429, "rate_limit_exceeded"),
        ("validationException", 400, None),
        ("serviceUnavailableException", 503, "upstream_error"),
        ("internalServerException", 502, "upstream_error"),
        ("modelStreamErrorException", 502, "upstream_error"),
        ("modelTimeoutException", 504, "timeout"),
        ("brandNewException", 502, "upstream_error"),
    ],
)
def test_exceptions_in_the_stream_are_errors(name: str, status: int, code: str | None) -> None:
    failure, before = fails(start() + text("a") + exception(name, {"message": "It is so.", "originalStatusCode": 500}))
    assert (failure.status, failure.code) == (status, code)
    assert failure.message == "It is so."
    assert len(before) == 2


def test_an_exception_that_a_long_prompt_caused_says_so() -> None:
    failure, _ = fails(
        start() + exception("validationException", {"message": "Input is too long for requested model."})
    )
    assert (failure.status, failure.code) == (400, "context_length_exceeded")


def test_an_error_without_a_payload() -> None:
    failure, _ = fails(start() + error("InternalError", "An internal server error occurred"))
    assert failure.status == 502
    assert failure.message == "An internal server error occurred"


def test_chunks_before_bytes_that_cannot_be_read_are_pending() -> None:
    failure, before = fails(start() + text("a") + b"\x00" * 16)
    assert failure.code == "upstream_malformed"
    assert [chunk["choices"][0]["delta"] for chunk in before] == [
        {"role": "assistant", "content": ""},
        {"content": "a"},
    ]


@pytest.mark.parametrize(
    "data",
    [
        start() + arguments(0, "{}"),  # of a call that nobody began
        start() + text("a") + start(),  # another answer within this one
        start() + event("contentBlockDelta", {"contentBlockIndex": "x", "delta": {"text": "a"}}),
        start() + event("contentBlockDelta", {"delta": {"text": 7}}),
        start() + event("contentBlockStop", {"contentBlockIndex": []}),
        start() + event("messageStop", {}),
        message({":event-type": "messageStart", ":message-type": "event"}, b"[1"),
        message({":event-type": "contentBlockDelta", ":message-type": "event"}, b"no"),
    ],
)
def test_what_is_no_answer_is_malformed(data: bytes) -> None:
    assert fails(data)[0].code == "upstream_malformed"


def test_a_repeated_start_before_anything_was_said_is_one() -> None:
    assert tell(start() + start() + text("a") + end())[1].content == "a"


def test_text_cut_inside_a_character_is_mended() -> None:
    broken = b'{"contentBlockIndex":0,"delta":{"text":"a\\ud83d"}}'
    frame = message({":event-type": "contentBlockDelta", ":message-type": "event"}, broken)
    assert tell(start() + frame + end())[1].content == "a\ufffd"


def test_a_block_that_begins_where_another_never_stopped_ends_it() -> None:
    data = (
        start()
        + thought(0, text="t", signature="s")
        + tool(0, "t1", "clock")
        + tool(0, "t2", "clock")
        + end("tool_use")
    )
    out, answer, _ = tell(data)
    assert [(call.id, call.arguments) for call in answer.tools] == [("t1", "{}"), ("t2", "{}")]
    assert len(values(out, "thinking_blocks")) == 1


def test_blocks_that_never_stop_end_with_the_message() -> None:
    data = start() + thought(0, text="t", signature="s") + tool(1, "t1", "clock") + end("tool_use")
    out, answer, _ = tell(data)
    assert answer.tools[0].arguments == "{}"
    assert values(out, "thinking_blocks") == [[{"index": 0, "type": "thinking", "thinking": "t", "signature": "s"}]]


@pytest.mark.parametrize(
    "data",
    [
        start() + thought(0, text="x" * 1_000_000) * 20,
        start() + b"".join(delta(index, {"citation": {}}) for index in range(12_000)),
    ],
)
def test_what_waits_is_bounded(data: bytes) -> None:
    assert fails(data)[0].code == "upstream_malformed"


def test_an_end_without_metadata_is_whole() -> None:
    assert tell(start() + text("a") + stop(0) + end())[2] is None
