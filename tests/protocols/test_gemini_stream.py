"""Gemini's streams, cut at every byte, through the decoder, the stream machine and each dialect."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.protocols.gemini import GEMINI
from antiphon.protocols.gemini.stream import GeminiStream
from tests.chat.checker import Answer, Tool, check
from tests.chat.machine import machine, request, run
from tests.protocols.gemini_recordings import COUNTS, RECORDINGS, SIGNATURE, call, end, event, frames, text

Document = dict[str, Any]


def read(data: bytes, *cuts: int) -> tuple[list[Document], GeminiStream]:
    stream = GEMINI.open_stream("asked")
    chunks = []
    at = 0
    for cut in (*cuts, len(data)):
        chunks += stream.feed(data[at:cut])
        at = cut
    return chunks, stream


def broken(data: bytes, cut: int) -> tuple[list[Document], UpstreamError]:
    """What came before the error, and the error."""
    stream = GEMINI.open_stream("asked")
    chunks: list[Document] = []
    try:
        for part in (data[:cut], data[cut:]):
            chunks += stream.feed(part)
    except UpstreamError as error:
        assert not stream.is_whole
        return chunks + stream.pending, error
    raise AssertionError("no error was read")


def answer(name: str, **fields: Any) -> Answer:
    chunks, stream = read(frames(RECORDINGS[name]))
    assert stream.is_whole
    return check(run(chunks, **fields))[0]


def told(chunks: list[Document], key: str) -> list[Any]:
    """All that the deltas say under a key."""
    return [item for chunk in chunks for choice in chunk["choices"] for item in choice["delta"].get(key, ())]


def usage(chunks: list[Document]) -> Any:
    return chunks[-1]["usage"]


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_every_cut_gives_the_same_chunks(name: str, newline: bytes) -> None:
    data = frames(RECORDINGS[name], newline)
    whole, _ = read(data)
    for cut in range(1, len(data)):
        chunks, stream = read(data, cut)
        assert chunks == whole
        assert stream.is_whole
    assert read(data, *range(1, len(data)))[0] == whole


@pytest.mark.parametrize("name", RECORDINGS)
def test_an_answer_is_whole_only_with_its_end(name: str) -> None:
    events = RECORDINGS[name]
    ends = next(
        place
        for place, one in enumerate(events)
        if "promptFeedback" in one or any("finishReason" in candidate for candidate in one.get("candidates", ()))
    )
    _, stream = read(frames(events[:ends]))
    assert not stream.is_whole
    _, stream = read(frames(events[: ends + 1])[:-6])
    assert not stream.is_whole


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_writes_it(name: str, dialect: str) -> None:
    chunks, _ = read(frames(RECORDINGS[name]))
    options = WriteOptions(strict=False, target="asked")
    writer = DIALECTS[dialect].writer(request(include_usage=True), options)
    stream = machine(include_usage=True)
    for piece in run(chunks, stream):
        json.dumps(writer.chunk(piece))
    assert stream.finished


def test_text() -> None:
    assert answer("text") == Answer("Grüße aus 北京 🎉\u2028", finish="stop")


def test_thoughts_are_reasoning_and_the_signature_of_the_last_part_is_told() -> None:
    assert answer("signature_on_an_empty_last_part") == Answer(
        "The Rhine is one.", reasoning="Three rivers", finish="stop"
    )
    chunks, _ = read(frames(RECORDINGS["signature_on_an_empty_last_part"]))
    assert told(chunks, "thinking_blocks") == [
        {"index": 0, "type": "thought_signature", "of": "text", "start": 17, "end": 17, "signature": SIGNATURE}
    ]


def test_a_call_that_ends_with_stop_is_a_call() -> None:
    assert answer("call_then_stop") == Answer(
        tools=[Tool("call_made1", "function", "get_weather", '{"city":"Zürich"}')], finish="tool_calls"
    )
    chunks, _ = read(frames(RECORDINGS["call_then_stop"]))
    [said] = told(chunks, "tool_calls")
    assert said["extra_content"] == {"google": {"thought_signature": SIGNATURE}}
    assert "id" not in said


def test_the_client_gets_the_signature() -> None:
    chunks, _ = read(frames(RECORDINGS["call_then_stop"]))
    pieces = run(chunks)
    assert [one["extra_content"] for one in told(pieces, "tool_calls") if "extra_content" in one] == [
        {"google": {"thought_signature": SIGNATURE}}
    ]
    assert [block["signature"] for block in told(pieces, "thinking_blocks")] == [SIGNATURE]


def test_parallel_calls_keep_their_ids_and_order() -> None:
    assert answer("parallel_calls") == Answer(
        reasoning="Both at once.",
        tools=[
            Tool("call_made1", "function", "add", '{"a":1,"b":2}'),
            Tool("call_made2", "function", "add", '{"a":3,"b":4}'),
            Tool("k3x9", "function", "now", "{}"),
        ],
        finish="tool_calls",
    )


def test_streamed_arguments_are_put_together() -> None:
    book = {"city": "Berlin", "nights": 3, "rooms": [{"name": "attic", "wide": True}, {"a key": None}]}
    tools = answer("streamed_arguments").tools
    assert [(tool.name, json.loads(tool.arguments)) for tool in tools] == [
        ("book", book),
        ("now", {}),
        ("last", {"x": "y"}),
    ]


@pytest.mark.parametrize("path", ["city", "$", "$.a[-1]", "$.a[*]", "$..a", "$.a[99999999]", "$.a[5]", "$.a" * 200, ""])
def test_arguments_at_odd_places_are_malformed(path: str) -> None:
    call = {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": path, "stringValue": "x"}]}}
    with pytest.raises(UpstreamError) as caught:
        read(frames([event([call])]))
    assert caught.value.code == "upstream_malformed"


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert answer("call_without_arguments").tools == [Tool("call_made1", "function", "ping", "{}")]


def test_ends() -> None:
    assert answer("length").finish == "length"
    assert answer("safety").finish == "content_filter"
    assert answer("armor").finish == "content_filter"
    assert answer("blocked_prompt") == Answer(finish="content_filter")


def test_ratings_are_findings() -> None:
    chunks, _ = read(frames(RECORDINGS["safety"]))
    [choice] = chunks[1]["choices"]
    assert choice["content_filter_results"] == {
        "hate": {"filtered": True, "severity": "high"},
        "sexual": {"filtered": False, "severity": "safe"},
    }
    assert choice["native_finish_reason"] == "SAFETY"


def test_every_piece_has_its_own_findings() -> None:
    chunks, _ = read(frames(RECORDINGS["rated"]))
    found = [chunk["choices"][0].get("content_filter_results") for chunk in chunks[:4]]
    low = {"hate": {"filtered": False, "severity": "low"}}
    assert found == [None, low, low, None]
    assert found[1] is not found[2]
    assert answer("rated") == Answer("abcd", finish="stop")


def test_sound() -> None:
    chunks, _ = read(frames(RECORDINGS["sound"]))
    assert [chunk["choices"][0]["delta"].get("audio") for chunk in chunks[:2]] == [
        {"mime_type": "audio/L16;rate=24000", "data": "YQ=="},
        {"data": "YmI="},
    ]


def test_a_blocked_prompt_is_told_with_its_ratings() -> None:
    chunks, stream = read(frames(RECORDINGS["blocked_prompt"]))
    assert stream.is_whole
    assert chunks[0]["prompt_filter_results"] == [
        {"prompt_index": 0, "content_filter_results": {"violence": {"filtered": True, "severity": "high"}}}
    ]
    assert usage(chunks)["prompt_tokens"] == 4


def test_usage_is_the_last_and_thoughts_are_part_of_the_completion() -> None:
    chunks, _ = read(frames(RECORDINGS["text"]))
    assert chunks[-1]["choices"] == []
    assert usage(chunks) == {
        "prompt_tokens": 13,
        "completion_tokens": 12,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 0, "text_tokens": 13},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }


def test_the_prompt_holds_what_tools_gave() -> None:
    chunks, _ = read(frames(RECORDINGS["grounded"]))
    assert usage(chunks)["prompt_tokens"] == 53
    assert usage(chunks)["prompt_tokens_details"]["tool_use_tokens"] == 40


@pytest.mark.parametrize("name", ["trailing_usage", "usage_before_the_end_only"])
def test_usage_is_found_wherever_it_stands(name: str) -> None:
    chunks, _ = read(frames(RECORDINGS[name]))
    stream = machine()
    run(chunks, stream)
    assert stream.usage is not None
    assert stream.usage["completion_tokens"] == 12


def test_sources_are_annotations_in_characters() -> None:
    chunks, _ = read(frames(RECORDINGS["grounded"]))
    said = "Es ist 21 °C. Morgen regnet es."
    spans = [(one["url_citation"], one["index"]) for one in told(chunks, "annotations")]
    assert [(said[at["start_index"] : at["end_index"]], at["title"]) for at, _ in spans] == [
        ("Es ist 21 °C.", "weather.example"),
        ("Morgen regnet es.", "weather.example"),
        ("Morgen regnet es.", "sky.example"),
    ]
    assert [index for _, index in spans] == [0, 1, 2]
    assert chunks[1]["choices"][0]["groundingMetadata"]["webSearchQueries"] == ["weather"]


def test_sources_that_come_again_are_told_once() -> None:
    events = copy.deepcopy(RECORDINGS["grounded"])
    sources = events[1]["candidates"][0]["groundingMetadata"]
    again = event([{"text": "!"}], candidate={"groundingMetadata": sources})
    chunks, _ = read(frames([events[0], again, events[1]]))
    assert len(told(chunks, "annotations")) == 3


def test_parts_without_a_place_are_kept_for_the_next_turn() -> None:
    chunks, _ = read(frames(RECORDINGS["code_and_image"]))
    assert [block["part"] for block in told(chunks, "thinking_blocks")] == [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": SIGNATURE},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
    ]
    assert told(chunks, "images") == [
        {
            "index": 0,
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64,aW1n"},
            "extra_content": {"google": {"thought_signature": SIGNATURE}},
        }
    ]
    assert answer("code_and_image") == Answer("It is 1.", finish="stop")


def test_what_is_unknown_is_passed_on_or_over() -> None:
    chunks, _ = read(frames(RECORDINGS["unknown_things"]))
    assert chunks[0]["heartbeat"] == 1
    assert chunks[1]["choices"][0]["freshKey"] == {"deep": [1]}
    assert answer("unknown_things") == Answer("ab", finish="stop")
    finish = next(one for chunk in chunks for one in chunk["choices"] if one["finish_reason"])
    assert finish["native_finish_reason"] == "FRESH_REASON"


def test_a_continuation_is_not_an_end_that_looks_like_one() -> None:
    chunks, _ = read(frames(RECORDINGS["continuation"]))
    [choice] = chunks[1]["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["native_finish_reason"] == "CONTINUATION"
    assert choice["continuationToken"] == "dG9rZW4="


def test_logprobs() -> None:
    assert answer("logprobs", logprobs=True).tokens == ["Yes"]


@pytest.mark.parametrize(
    "word",
    [
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"),
        *("NO_IMAGE", "IMAGE_OTHER", "OTHER"),
    ],
)
def test_an_end_that_failed_is_an_error(word: str) -> None:
    data = frames([text("Hm"), event(None, word, candidate={"finishMessage": "The call was not JSON."})])
    for cut in range(1, len(data)):
        chunks, error = broken(data, cut)
        assert (error.status, error.code) == (502, "upstream_malformed")
        assert "The call was not JSON." in error.message
        assert len(chunks) == 1


ERROR = {
    "error": {
        "code": 429,
        "message": "Too many requests.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}],
    }
}


@pytest.mark.parametrize(
    "tail",
    [
        frames([ERROR]),
        json.dumps(ERROR, indent=2).encode(),
        json.dumps([ERROR], indent=2).encode() + b"\r\n",
        json.dumps(ERROR).encode() + b"\n\n",
    ],
    ids=["event", "bare", "list", "line"],
)
@pytest.mark.parametrize("head", [b"", frames([text("Hm")])], ids=["first", "later"])
def test_an_error_in_the_stream(head: bytes, tail: bytes) -> None:
    data = head + tail
    for cut in range(1, len(data)):
        chunks, error = broken(data, cut)
        assert (error.status, error.retry_after) == (429, 35)
        assert len(chunks) == bool(head)


@pytest.mark.parametrize(
    "data",
    [
        b"data: nonsense\n\n",
        b"data: []\n\n",
        b'data: {"candidates": 3}\n\n',
        b'data: {"candidates": [{"content": {"parts": 3}}]}\n\n',
        b'data: {"candidates": [{"content": 3}]}\n\n',
        b'data: {"candidates": [{"index": -1}]}\n\n',
        b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"args": {"a": 1}}}]}}]}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
        b'{"candidates": []}',
        b"[\n" + b'"x",\n' * 100_000,
    ],
)
def test_other_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(UpstreamError) as caught:
        read(data)
    assert caught.value.code == "upstream_malformed"


def test_words_after_the_end_are_not_lost_in_silence() -> None:
    with pytest.raises(UpstreamError):
        read(frames([end(), text("more")]))
    with pytest.raises(UpstreamError):
        read(frames([end(), event([call("f", {})])]))
    chunks, stream = read(frames([text("Hi"), end(), end()]))
    assert stream.is_whole
    assert usage(chunks)["total_tokens"] == COUNTS["totalTokenCount"]
