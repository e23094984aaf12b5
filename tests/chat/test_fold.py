"""A stream put together again is the answer it was taken from."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import chunks, conform
from antiphon.chat.fold import fold
from antiphon.chat.stream import ChatStream
from tests.chat.machine import request

STAMP = AnswerDefaults("m", 1, bool, lambda: "chatcmpl-new", lambda: "call_new")
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
TOKEN = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a":1}'},
    "extra_content": {"x": 1},
}
OTHER = {"id": "call_2", "type": "function", "function": {"name": "g", "arguments": "{}"}}


def answer(*messages: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    choices = [
        {"index": index, "message": {"role": "assistant", **message}, "logprobs": None, "finish_reason": finish, **more}
        for index, message in enumerate(messages)
    ]
    base = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m"}
    return {**base, "choices": choices, "usage": dict(USAGE), "x_top": {"deep": 1}}


ANSWERS = [
    answer({"content": "Hello"}),
    answer({"content": "Hello", "reasoning_content": "hm", "x_new": [1]}),
    answer({"content": None, "tool_calls": [CALL, OTHER]}, finish="tool_calls"),
    answer({"content": "text too", "tool_calls": [CALL]}, finish="tool_calls"),
    answer({"content": None, "refusal": "No."}),
    answer({"content": "Hi"}, logprobs={"content": [TOKEN], "refusal": None}),
    answer({"content": "one"}, {"content": "two"}),
    answer({"content": "cut"}, finish="length", stop_reason="x"),
    answer({"content": None, "audio": {"id": "a", "data": "AA==", "transcript": "hi", "expires_at": 9}}),
]


def folded(document: dict[str, Any]) -> dict[str, Any]:
    asked = request(n=len(document["choices"]))
    machine = ChatStream(asked, STAMP)
    out = []
    for chunk in chunks(document):
        out += machine.feed(chunk)
    return fold([*out, *machine.done()], machine.usage)


@pytest.mark.parametrize("document", ANSWERS)
def test_a_replayed_answer_folds_into_itself(document: dict[str, Any]) -> None:
    asked = request(n=len(document["choices"]))
    expected = conform(deepcopy(document), asked, STAMP).document
    again = conform(folded(deepcopy(document)), asked, STAMP).document
    assert without_nulls(again) == without_nulls(expected)


def without_nulls(value: Any) -> Any:
    """A key that is null and one that is missing mean the same (D9, §1.1)."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def test_text_and_arguments_of_many_pieces_are_joined() -> None:
    def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    machine = ChatStream(request(), STAMP)
    deltas: list[dict[str, Any]] = [
        {"content": "Hel"},
        {"content": "lo"},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
    ]
    out = [chunk for delta in deltas for chunk in machine.feed(piece(delta))]
    out += machine.feed(piece({}, "stop"))
    message = fold([*out, *machine.done()], None)["choices"][0]["message"]
    assert message["content"] == "Hello"
    assert message["tool_calls"] == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]


def folded_stream(*pieces: dict[str, Any]) -> dict[str, Any]:
    """`pieces`: the choices of chunks."""
    asked = request()
    machine = ChatStream(asked, STAMP)
    out = []
    for piece in (*pieces, {"delta": {}, "finish_reason": "stop"}):
        out += machine.feed({"id": "chatcmpl-1", "choices": [{"index": 0, **deepcopy(piece)}]})
    document = conform(fold([*out, *machine.done()], machine.usage), asked, STAMP).document
    message: dict[str, Any] = document["choices"][0]["message"]
    return message


@pytest.mark.parametrize("beside", [{"content": None}, {"content": ""}, "x", None, 7, [], {"content": "Hello world!"}])
def test_a_message_beside_deltas_takes_no_text_away(beside: Any) -> None:
    words = [{"delta": {"content": word}, "message": beside} for word in ("Hello", " world", "!")]
    assert folded_stream(*words)["content"] == "Hello world!"


def test_a_message_beside_deltas_fills_in_what_they_did_not_say() -> None:
    whole = {"role": "assistant", "content": "Hello", "x_cited": ["a"]}
    assert folded_stream({"delta": {"content": "Hello"}, "message": whole})["x_cited"] == ["a"]


@pytest.mark.parametrize("odd", [None, "x", 7, [], {}, [7], {"transcript": None, "data": 7}])
def test_odd_values_between_pieces_take_nothing_away(odd: Any) -> None:
    spoken = {"delta": {"audio": {"id": "a", "transcript": "hi"}}}
    message = folded_stream(spoken, {"delta": {"content_parts": odd, "audio": odd}}, spoken)
    assert message["audio"]["transcript"] == "hihi"
    parts = [{"index": 0, "type": "t", "text": "a"}]
    again = [{"index": 0, "type": "t", "text": "b"}]
    message = folded_stream(
        {"delta": {"content_parts": parts}}, {"delta": {"x": odd}}, {"delta": {"content_parts": again}}
    )
    assert message["content_parts"] == [{"type": "t", "text": "ab"}]
