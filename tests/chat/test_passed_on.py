"""Text completions and embeddings: whatever an upstream sends, what comes out is well-formed, or an UpstreamError."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat import embedding_answer, text_answer
from antiphon.chat.event import decode
from antiphon.chat.prompt_request import PromptRequest, parse_completion, parse_embedding
from antiphon.chat.text_stream import TextStream
from antiphon.errors import RequestError, UpstreamError
from tests.chat.machine import stamp

Document = dict[str, Any]


def asked(**fields: Any) -> PromptRequest:
    return parse_completion({"model": "m", "prompt": "Once", "stream": True, **fields}, strict=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([None, 0, 0, 1, 2, -1, 10**9, "0", True]),
        "text": st.sampled_from(["a", "Once", "On", "", None, 7]) | st.text(max_size=3),
        "finish_reason": st.sampled_from(
            [None, None, "", "stop", "length", "eos", "odd", "error", {"type": "stop"}, 3]
        ),
        "logprobs": JSON,
        "content_filter_results": JSON,
        "error": st.sampled_from([None, {}, {"message": "x"}]),
    },
)
CHUNKS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["cmpl-1", "", None, 7]),
        "object": JSON,
        "created": JSON,
        "model": st.sampled_from(["m", "", None, 7]),
        "choices": st.lists(CHOICES, max_size=3) | JSON,
        "usage": st.sampled_from([None, {"prompt_tokens": 1, "completion_tokens": 2}, {"total_tokens": 3}]) | JSON,
        "error": st.sampled_from([None, {}, {"message": "x"}]),
        "x_new": JSON,
    },
)


USUAL = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {"index": st.integers(0, 2), "text": st.sampled_from(["", "On", "ce ", "a"])},
                optional={"finish_reason": st.sampled_from([None, "", "stop", "eos"]), "x_choice": JSON},
            ),
            max_size=3,
        )
    },
    optional={"id": st.sampled_from(["cmpl-1", "cmpl-2", ""]), "usage": st.just({"total_tokens": 3}), "x_new": JSON},
)
ENDS = {"choices": [{"index": index, "finish_reason": "length"} for index in range(3)]}


@given(st.lists(CHUNKS | st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=4))
def test_a_stream_of_anything_ends_well_or_as_an_upstreams_error(documents: list[Document]) -> None:
    machine = TextStream(asked(), stamp())
    try:
        for document in documents:
            msgspec.json.encode(machine.feed(decode(json.dumps(document).encode())))
        machine.done()
    except UpstreamError:
        assert not machine.finished


@given(st.lists(USUAL, max_size=6), st.booleans())
def test_a_usual_stream_says_what_it_said(documents: list[Document], echo: bool) -> None:
    machine = TextStream(asked(echo=echo), stamp())
    out: list[Document] = []
    for document in [*documents, ENDS]:
        out += machine.feed(decode(json.dumps(document).encode()))
    out += machine.done()
    assert machine.finished
    assert machine.complete
    pieces = [choice for one in out for choice in one["choices"]]
    assert sorted(piece["index"] for piece in pieces if piece["finish_reason"] is not None) == [0, 1, 2]
    assert len({(one["id"], one["object"], one["created"], one["model"]) for one in out}) == 1
    assert all("usage" not in one and one["choices"] for one in out)
    for index in range(3):
        assert "".join(piece["text"] for piece in pieces if piece["index"] == index) == said(documents, index)
    news = [document["x_new"] for document in documents if "x_new" in document]
    assert not news or any("x_new" in one for one in out)


def said(documents: list[Document], index: int) -> str:
    """All that a choice said until its finish."""
    text = ""
    for document in documents:
        for choice in document["choices"]:
            if choice["index"] == index:
                text += str(choice["text"])
                if choice.get("finish_reason"):
                    return text
    return text


@given(CHUNKS)
def test_a_whole_answer_of_anything(document: Document) -> None:
    try:
        answered = text_answer.conform(decode(json.dumps(document).encode()), asked(), stamp())
    except UpstreamError:
        return
    msgspec.json.encode(answered.document)
    assert answered.document["object"] == "text_completion"
    assert all(isinstance(choice["finish_reason"], str) for choice in answered.document["choices"])


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "data": st.lists(st.dictionaries(st.sampled_from(["embedding", "index", "x"]), JSON), max_size=3) | JSON,
            "object": JSON,
            "model": JSON,
            "usage": st.fixed_dictionaries({}, optional={"prompt_tokens": JSON, "total_tokens": JSON}) | JSON,
            "error": JSON,
            "x_new": JSON,
        },
    ),
    st.booleans(),
)
def test_vectors_of_any_kind(document: Document, strict: bool) -> None:
    try:
        answered = embedding_answer.conform(embedding_answer.read(json.dumps(document).encode()), stamp())
    except UpstreamError:
        return
    usage = answered.usage or {"prompt_tokens": 9, "completion_tokens": 0}
    written = msgspec.json.decode(msgspec.json.encode(embedding_answer.write(answered.document, usage, strict=strict)))
    assert written["object"] == "list"
    assert isinstance(written["model"], str)
    assert written["usage"]["prompt_tokens"] == usage["prompt_tokens"]
    assert type(written["usage"]["total_tokens"]) is int
    if strict:
        assert set(written) <= {"object", "data", "model", "usage"}
    else:
        assert written["data"] == document["data"]
        assert written.get("x_new") == document.get("x_new")


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_vectors_of_any_bytes(body: bytes) -> None:
    with pytest.raises(UpstreamError):
        embedding_answer.read(body)


@given(st.dictionaries(st.sampled_from(["prompt", "input", "n", "best_of", "stream_options", "logprobs"]), JSON))
def test_a_request_of_anything_is_read_or_refused(document: Document) -> None:
    for parse in (parse_completion, parse_embedding):
        for strict in (False, True):
            try:
                read = parse({"model": "m", **document}, strict=strict)
            except RequestError:
                continue
            assert read.choices >= 1
            assert read.document == {"model": "m", **document}


def test_nulls_are_omitted_fields() -> None:
    nulls = dict.fromkeys(("prompt", "n", "best_of", "logprobs", "stop", "stream", "stream_options", "suffix", "user"))
    read = parse_completion({"model": "m", **nulls}, strict=True)
    assert (read.stream, read.choices, read.include_usage) == (False, 1, False)
    assert parse_embedding({"model": "m", "input": "x", "dimensions": None, "user": None}, strict=True).choices == 1


@pytest.mark.parametrize(
    ("document", "param"),
    [
        ({"x_new": 1, "prompt": 3}, "x_new"),  # unknown keys before the fields
        ({"top_p": 9, "prompt": 3}, "prompt"),  # the fields by name
        ({"n": 0, "best_of": 1}, "n"),
        ({"n": 10**5000, "best_of": 1}, "n"),
    ],
)
def test_the_first_fault_in_openais_order_is_told(document: Document, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_completion({"model": "m", **document}, strict=True)
    assert caught.value.param == param
