"""Cohere's streams -> chunks."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.protocols.cohere import Cohere
from tests.chat.checker import Answer, check
from tests.chat.machine import machine, request
from tests.protocols import cohere_streams as streams
from tests.protocols.cohere_streams import arguments, begin, call, end, event, start, text

Document = dict[str, Any]
NAMES = sorted(streams.RECORDINGS)
USAGE = {
    "prompt_tokens": 300,
    "completion_tokens": 8,
    "total_tokens": 308,
    "prompt_tokens_details": {"cached_tokens": 256},
    "billed_units": {"input_tokens": 4.0, "output_tokens": 6.0},
}


def decode(data: bytes, *cuts: int) -> list[Document]:
    stream = Cohere().open_stream("command-a")
    places = [0, *cuts, len(data)]
    out = [chunk for a, b in itertools.pairwise(places) for chunk in stream.feed(data[a:b])]
    assert stream.is_whole
    assert stream.pending == []
    return out


def tell(data: bytes, **asked: Any) -> tuple[list[Document], Answer, Document | None]:
    ours = machine(**asked)
    out = [piece for chunk in decode(data) for piece in ours.feed(chunk)]
    out += ours.end()
    [answer] = check(out)
    return out, answer, ours.usage


def fails(data: bytes) -> tuple[UpstreamError, list[Document]]:
    stream = Cohere().open_stream("m")
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
def test_a_stream_cut_before_message_end_is_not_whole(name: str) -> None:
    data = streams.RECORDINGS[name]
    for cut in range(0, len(data) - 1, 11):
        stream = Cohere().open_stream("m")
        stream.feed(data[:cut])
        assert not stream.is_whole


def test_text_and_usage() -> None:
    _, answer, usage = tell(streams.PLAIN)
    assert (answer.content, answer.finish) == ("The sea is 𝄞 wide.", "stop")
    assert usage == USAGE
    assert decode(streams.PLAIN)[0]["id"] == "0f-1"
    assert decode(streams.PLAIN)[-1]["choices"] == []


def test_a_plan_is_reasoning_and_calls_follow() -> None:
    _, answer, _ = tell(streams.TWO_CALLS)
    assert answer.reasoning == "I look twice."
    assert [(tool.id, tool.name, tool.arguments) for tool in answer.tools] == [
        ("weather_x1", "weather", '{"city":"Köln"}'),
        ("clock_x2", "clock", "{}"),
    ]
    assert answer.finish == "tool_calls"


def test_calls_without_arguments_have_an_object() -> None:
    _, answer, _ = tell(streams.NULL_CALLS)
    assert [(tool.id, tool.arguments) for tool in answer.tools] == [("a", "{}"), ("b", "{}"), ("c", "{}")]


def test_thinking() -> None:
    _, answer, _ = tell(streams.THINKING)
    assert (answer.reasoning, answer.content) == ("Two and two is four.", "4")


def test_citations() -> None:
    out, answer, _ = tell(streams.CITED)
    assert answer.content == "Before. Paris is large."
    [[web, tool]] = [
        piece["choices"][0]["delta"]["annotations"] for piece in out if "annotations" in piece["choices"][0]["delta"]
    ]
    assert web == {
        "type": "url_citation",
        "url_citation": {"url": "https://c.example/p", "title": "Cities", "start_index": 8, "end_index": 13},
    }
    assert tool["citation"]["sources"] == [streams.TOOL]
    assert (tool["citation"]["start_index"], tool["citation"]["end_index"]) == (17, 22)


def test_log_probabilities() -> None:
    data = (
        start() + begin() + text("Hi", logprobs={"text": "Hi", "token_ids": [1, 2], "logprobs": [-0.25, -0.5]}) + end()
    )
    [tokens] = [
        chunk["choices"][0]["logprobs"]
        for chunk in decode(data)
        if chunk["choices"] and "logprobs" in chunk["choices"][0]
    ]
    assert tokens["content"] == [{"token": "Hi", "logprob": -0.75, "bytes": [72, 105], "top_logprobs": []}]
    assert tell(data)[1].tokens == ["Hi"]


@pytest.mark.parametrize(
    ("word", "reason"),
    [("COMPLETE", "stop"), ("STOP_SEQUENCE", "stop"), ("MAX_TOKENS", "length"), ("A_NEW_WORD", "stop")],
)
def test_reasons(word: str, reason: str) -> None:
    assert tell(start() + begin() + text("a") + end(word))[1].finish == reason


def test_an_answer_that_ends_in_an_error() -> None:
    failure, before = fails(start() + begin() + text("a") + end("ERROR", error="The model broke."))
    assert (failure.status, failure.message) == (502, "The model broke.")
    assert len(before) == 2
    assert fails(start() + end("TIMEOUT"))[0].code == "timeout"


def test_an_error_in_the_stream() -> None:
    failure, _ = fails(start() + b'data: {"id": "x", "message": "internal server error"}\n\n')
    assert failure.message == "internal server error"
    assert failure.status == 502
    assert fails(b'event: error\ndata: {"message": "rate limit", "status_code": 429}\n\n')[0].status == 429


@pytest.mark.parametrize(
    "data",
    [
        start() + begin() + text("a") + start(),
        start() + arguments(0, "{}"),
        start() + event("tool-call-start", index=0, delta={"message": {"tool_calls": {"id": "x"}}}),
        start() + event("content-start", index=[]),
        start() + event("message-end", delta={}),
        b"data: {no\n\n",
        start() + b"".join(begin(index) for index in range(10_001)),
        start() + b"".join(call(index, f"c{index}", "f") for index in range(10_001)),
    ],
)
def test_what_is_no_answer_is_malformed(data: bytes) -> None:
    assert fails(data)[0].code == "upstream_malformed"


def test_an_event_without_an_end_is_bounded() -> None:
    stream = Cohere().open_stream("m")
    with pytest.raises(UpstreamError):
        stream.feed(b"data: " + b"x" * (17 * 1024 * 1024))


def test_text_cut_inside_a_character_is_mended() -> None:
    cut = b'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a\\ud83d"}}}}\n\n'
    assert tell(start() + begin() + cut + end())[1].content == "a\ufffd"
