"""Splicing gives the very document that the whole way gives, or nothing."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.splice import Splice


def chunk(text: Any, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}
    return {"id": "up", "created": 1, "choices": [choice], **more}


def written(text: str, **more: Any) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", **chunk(text, **more)}
    )


def taught(first: str = "first", **more: Any) -> Splice:
    splice = Splice([])
    splice.learn(json.dumps(chunk(first, **more)).encode(), written(first, **more))
    return splice


TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)
SPELLINGS = st.sampled_from([{"ensure_ascii": True}, {"ensure_ascii": False}])


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=5), SPELLINGS)
def test_the_text_alone_changes(first: str, texts: list[str], spelling: dict[str, Any]) -> None:
    splice = taught(first)
    for text in texts:
        spliced = splice.apply(json.dumps(chunk(text), **spelling).encode())
        if text:
            assert spliced is not None
            assert json.loads(spliced[6:]) == json.loads(written(text)[6:])
        else:
            assert spliced is None
    assert splice.texts == [text for text in texts if text]


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=30))
def test_whatever_stands_in_the_texts_place_is_one_string_or_refused(inside: bytes) -> None:
    splice = taught()
    head, foot = json.dumps(chunk("@")).encode().split(b"@")
    spliced = splice.apply(head + inside + foot)
    try:
        document = msgspec.json.decode(head + inside + foot)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        document = None
    if spliced is None:
        return
    text = document["choices"][0]["delta"]["content"]
    assert document == chunk(text)
    assert spliced[-2:] == b"\n\n"
    assert msgspec.json.decode(spliced[6:]) == msgspec.json.decode(written(text)[6:])


def test_any_other_difference_takes_the_whole_way() -> None:
    splice = taught()
    others: list[dict[str, Any]] = [
        chunk("x", usage={"a": 1}),
        chunk("x", id="other"),
        {**chunk("x"), "choices": []},
        chunk(None),
        chunk(["x"]),
    ]
    finished = chunk("x")
    finished["choices"][0]["finish_reason"] = "stop"
    for other in [*others, finished]:
        assert splice.apply(json.dumps(other).encode()) is None
    assert splice.apply(b"[DONE]") is None
    assert splice.apply(b"") is None


def test_forgetting() -> None:
    splice = taught()
    splice.forget()
    assert splice.apply(json.dumps(chunk("x")).encode()) is None


def test_an_ambiguous_chunk_is_not_learned() -> None:
    splice = taught(x_copy={"content": "first"})
    assert splice.apply(json.dumps(chunk("y", x_copy={"content": "first"})).encode()) is None
