"""Annotations stand in seed S3's place among the keys, whoever put them there and wherever it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.chat.stream import ChatStream
from antiphon.dialects import DIALECTS, Writer
from antiphon.dialects.text_writer import TextWriter

Document = dict[str, Any]

RESULTS = {"hate": {"filtered": False, "severity": "safe"}}
PROMPT = [{"prompt_index": 0, "content_filter_results": RESULTS}]
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def placed(document: Document, key: str, value: Any, place: int) -> Document:
    """The document with one more key, at this place."""
    items = list(document.items())
    items.insert(place, (key, value))
    return dict(items)


@pytest.mark.parametrize("place", [0, 2, 9])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_whole_answers_annotations(
    dialect: str, place: int, render: Callable[..., Document], bare_completion: Document
) -> None:
    bare_completion["service_tier"] = "default"
    bare_completion["x_new"] = 1
    choice = placed(bare_completion["choices"][0], "content_filter_results", RESULTS, place)
    document = placed({**bare_completion, "choices": [choice]}, "prompt_filter_results", PROMPT, place)
    written = render(dialect, document)
    keys = list(written)
    assert keys[keys.index("usage") - 1] == "prompt_filter_results"
    assert list(written["choices"][0])[-1] == "content_filter_results"
    others = [key for key in keys if key != "prompt_filter_results"]
    assert others[:6] == ["id", "object", "created", "model", "choices", "usage"]
    assert "x_new" in others


def test_skytells_own_annotations_stand_there_too(render: Callable[..., Document], bare_completion: Document) -> None:
    written = render("skytells", {**bare_completion, "service_tier": "default"})
    keys = list(written)
    assert keys[keys.index("usage") - 1] == "prompt_filter_results"
    assert list(written["choices"][0])[-1] == "content_filter_results"


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("place", [0, 2, 9])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_chunks_annotations(
    dialect: str, place: int, asked: bool, make_writer: Callable[..., Writer], bare_chunk: Document
) -> None:
    choice = placed(bare_chunk["choices"][0], "content_filter_results", RESULTS, place)
    chunk = placed({**bare_chunk, "choices": [choice]}, "prompt_filter_results", PROMPT, place)
    written = make_writer(dialect, {"include_usage": asked}).chunk(chunk)
    assert list(written["choices"][0])[-1] == "content_filter_results"
    if dialect == "skytells":
        assert "prompt_filter_results" not in written  # the opening has told it
    else:
        assert list(written)[-1 - ("usage" in written)] == "prompt_filter_results"


@pytest.mark.parametrize("place", [0, 2, 9])
def test_skytells_opening(place: int, make_writer: Callable[..., Writer], bare_chunk: Document) -> None:
    own = placed({**bare_chunk, "system_fingerprint": "fp"}, "prompt_filter_results", PROMPT, place)
    for envelope in (own, {**bare_chunk, "choices": []}):
        [opening] = make_writer("skytells").opening(envelope)
        assert list(opening)[-2:] == ["prompt_filter_results", "usage"]
        assert list(opening["choices"][0]) == [
            *("index", "delta", "logprobs", "finish_reason"),
            "content_filter_results",
        ]


def test_an_upstreams_own_through_the_machine(
    make_writer: Callable[..., Writer], make_stream: Callable[..., ChatStream], bare_chunk: Document
) -> None:
    bare_chunk["choices"][0]["content_filter_results"] = RESULTS
    first, text = make_stream("openai").feed(
        {**bare_chunk, "prompt_filter_results": PROMPT, "system_fingerprint": "fp"}
    )
    writer = make_writer("openai", {"include_usage": True})
    assert list(writer.chunk(first))[-3:] == ["choices", "prompt_filter_results", "usage"]
    assert list(writer.chunk(text)["choices"][0])[-1] == "content_filter_results"


def test_text_completions_have_the_same_order() -> None:
    choice = {"content_filter_results": RESULTS, "index": 0, "text": "Hi", "logprobs": None, "finish_reason": "stop"}
    document = {"prompt_filter_results": PROMPT, "id": "cmpl-1", "choices": [choice], "usage": dict(USAGE), "x": 1}
    written = TextWriter(usage_asked=True, strict=False).completion(dict(document), dict(USAGE))
    assert list(written) == ["id", "choices", "prompt_filter_results", "usage", "x"]
    assert list(written["choices"][0])[-1] == "content_filter_results"
    del document["usage"]
    written = TextWriter(usage_asked=True, strict=False).chunk(document)
    assert list(written) == ["id", "choices", "x", "prompt_filter_results", "usage"]
