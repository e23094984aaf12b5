"""The stream machine: ends, errors, what cannot be read; and that its fast path tells the same [no-invented-stop]."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from antiphon.chat.stream import ChatStream
from antiphon.errors import UpstreamError
from tests.chat.checker import Answer, check
from tests.chat.machine import USAGE, bare, chunk, fails, hold, machine, run, token

Document = dict[str, Any]


# Ends and errors


@pytest.mark.parametrize("chunks", [[], [bare(usage=USAGE)], [bare()], [{}], [chunk({"content": "a"})], [chunk({})]])
def test_an_end_without_a_finish_is_an_error(chunks: list[Document]) -> None:
    for close in ("done", "end"):
        stream = machine()
        for document in chunks:
            stream.feed(dict(document))
        with pytest.raises(UpstreamError) as caught:
            getattr(stream, close)()
        assert (caught.value.status, caught.value.code) == (502, "upstream_truncated")
        assert not stream.finished


def test_ends_that_are_well() -> None:
    stream = hold()
    stream.feed(chunk({}, "stop"))
    assert not stream.finished
    assert stream.end() == []
    assert stream.finished
    assert stream.done() == []
    assert stream.feed(chunk({"content": "late"})) == []
    assert stream.feed({"error": {"message": "late"}}) == []


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"error": {"message": "m", "code": 400}}, 400),
        ({"object": "error", "message": "m", "code": 404}, 404),
        ({**chunk({"content": ""}, "error"), "error": {"message": "m", "code": 429}}, 429),
        (chunk({}, "error"), 502),
        (chunk({}, "error", choice={"error": {"message": "m", "code": 503}}), 503),
        ({"detail": "m"}, 502),
        ({"error": "m"}, 502),
    ],
)
def test_an_error_inside_the_stream(document: Document, status: int) -> None:
    for stream in (machine(), hold()):
        with pytest.raises(UpstreamError) as caught:
            stream.feed(copy.deepcopy(document))
        assert caught.value.status == status


@pytest.mark.parametrize(
    "document",
    [
        {"choices": "x"},
        {"choices": 5},
        {"choices": ["x"]},
        {"choices": [[]]},
        {"choices": [{"delta": [1]}]},
        {"choices": [{"delta": 5}]},
        {"choices": [{"delta": {"tool_calls": ["x"]}}]},
        {"choices": [{"delta": {"tool_calls": "x"}}]},
        {"choices": [{"delta": {"function_call": "x"}}]},
        {"choices": [{"index": 0}] * 129},
    ],
)
def test_what_cannot_be_read(document: Document) -> None:
    assert fails([document]).code == "upstream_malformed"


def test_what_can_be_read_though_it_is_odd() -> None:
    assert check(run([{"choices": {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}}])) == [
        Answer("a", finish="stop")
    ]
    assert check(run([{"choices": [None, {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}])) == [
        Answer("a", finish="stop")
    ]


def test_nesting_without_bottom() -> None:
    deep: Any = "x"
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(UpstreamError) as caught:
        machine().feed(chunk({"content": {"type": "thinking", "thinking": deep}}))
    assert caught.value.code == "upstream_malformed"


# The fast path gives what the whole way gives


def test_both_ways_agree() -> None:
    """The same chunks, once with the keys turned round each time so that no two look alike."""
    parts = [{"content": t} for t in "abcdefgh"]
    parts[5] = {"role": "assistant", "content": "f", "refusal": ""}
    documents = [chunk(part, foo=1, usage=None, service_tier="x", choice={"bar": n}) for n, part in enumerate(parts)]
    turned = [dict(reversed(document.items())) if n % 2 else document for n, document in enumerate(documents)]
    end = chunk({}, "stop")
    assert run([*documents, end]) == run([*turned, end])


@pytest.mark.parametrize(
    "edit",
    [
        {"index": True},
        {"index": 0.0},
        {"index": [0]},
        {"index": 5},
        {"delta": None},
        {"delta": []},
        {"delta": "text"},
        {"delta": {"content": ["x"]}},
        {"delta": {"content": 5}},
        {"delta": {"content": ""}},
        {"delta": {"content": "x", "tool_calls": [{"function": {"name": "f"}}]}},
        {"finish_reason": "stop"},
        {"logprobs": {"content": [token("x")]}},
        {"logprobs": {}},
        {"logprobs": 0},
    ],
)
def test_what_only_looks_like_the_last_chunk_takes_the_whole_way(edit: Document) -> None:
    def outcome(stream: ChatStream) -> Any:
        try:
            return stream.feed(chunk({"content": "x"}, choice=copy.deepcopy(edit)))
        except UpstreamError as error:
            return error.code

    warm, cold = hold(), hold()
    warm.feed(chunk({"content": "b"}))
    cold.feed(dict(reversed(chunk({"content": "b"}).items())))
    assert outcome(warm) == outcome(cold)


@pytest.mark.parametrize(
    "choices", [None, [], {}, "x", ["x"], [None], [["index", "delta", "logprobs", "finish_reason"]], 5]
)
def test_choices_that_only_look_like_the_last(choices: Any) -> None:
    stream = hold()
    stream.feed(chunk({"content": "b"}))
    odd = {**chunk(), "choices": choices}
    if not choices or choices == [None]:
        assert stream.feed(odd) == []
        return
    with pytest.raises(UpstreamError) as caught:
        stream.feed(odd)
    assert caught.value.code == "upstream_malformed"
