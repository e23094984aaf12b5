"""Decision 1: what we do not know travels at every depth in every dialect; strict takes exactly that away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.dialects import DIALECTS, Writer

Document = dict[str, Any]


def mark(value: Any) -> int:
    """Puts an unknown field into every object below (and into this one); returns how many."""
    if isinstance(value, list):
        return sum(mark(item) for item in value)
    if not isinstance(value, dict):
        return 0
    marked = sum(mark(item) for item in value.values())
    value["foo"] = {"bar": [1, {"baz": None}]}
    return marked + 1


def marks(value: Any) -> int:
    if isinstance(value, list):
        return sum(marks(item) for item in value)
    if not isinstance(value, dict):
        return 0
    found = value.get("foo") == {"bar": [1, {"baz": None}]}
    return found + sum(marks(item) for key, item in value.items() if key != "foo")


TOKEN = {
    "token": "Hi",
    "logprob": -1.0,
    "bytes": [1],
    "top_logprobs": [{"token": "Hi", "logprob": -1.0, "bytes": None}],
}
SEVERITY = {"filtered": False, "severity": "safe"}
DETECTION = {"detected": False, "filtered": False}
CATEGORIES = dict.fromkeys(("hate", "self_harm", "sexual", "violence"), SEVERITY)


def copied(value: Any) -> Any:
    """Deep, and no two places share an object: each gets its own mark."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def completion() -> Document:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    custom = {"id": "call_2", "type": "custom", "custom": {"name": "g", "input": "x"}}
    message = {
        "role": "assistant",
        "content": "Hi",
        "refusal": None,
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x.example"}}],
        "tool_calls": [call, custom],
        "audio": {"id": "a", "expires_at": 1, "data": "", "transcript": ""},
    }
    results = {**CATEGORIES, "protected_material_code": DETECTION, "protected_material_text": DETECTION}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls",
        "logprobs": {"content": [TOKEN], "refusal": None},
        "content_filter_results": results,
    }
    document: Document = copied(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "prompt_filter_results": [
                {"prompt_index": 0, "content_filter_results": {**CATEGORIES, "jailbreak": DETECTION}}
            ],
            "usage": {
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "total_tokens": 2,
                "completion_tokens_details": {"reasoning_tokens": 0},
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        }
    )
    return document


def chunk() -> Document:
    document = completion()
    del document["usage"], document["prompt_filter_results"]
    choice = document["choices"][0]
    choice["delta"] = choice.pop("message")
    for index, call in enumerate(choice["delta"]["tool_calls"]):
        call["index"] = index
    document["object"] = "chat.completion.chunk"
    return document


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_lost_in_a_completion(dialect: str, judged: bool, render: Callable[..., Document]) -> None:
    document = completion()
    expected = mark(document)
    assert marks(render(dialect, document, judged=judged)) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_lost_in_a_chunk(dialect: str, make_writer: Callable[..., Writer]) -> None:
    document = chunk()
    expected = mark(document)
    written = make_writer(dialect, {"logprobs": True}).chunk(document)
    assert marks(written) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_strict_leaves_no_unknown_field(
    dialect: str, render: Callable[..., Document], make_writer: Callable[..., Writer]
) -> None:
    document = completion()
    if dialect == "crazyrouter":  # there the results are another vendor's map, passed on whole
        del document["prompt_filter_results"], document["choices"][0]["content_filter_results"]
    mark(document)
    written = render(dialect, document, strict=True)
    assert marks(written) == 0
    assert written["choices"][0]["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    piece = chunk()
    if dialect == "crazyrouter":
        del piece["choices"][0]["content_filter_results"]
    mark(piece)
    assert marks(make_writer(dialect, {"logprobs": True}, strict=True).chunk(piece)) == 0


def test_strict_leaves_free_maps_whole(render: Callable[..., Document], bare_completion: Document) -> None:
    free = {"metadata": {"anything": "x"}, "moderation": {"input": {"x": {"y": 1}}, "output": {}}}
    written = render("openai", {**bare_completion, **copied(free)}, strict=True)
    assert {key: written[key] for key in free} == free


@pytest.mark.parametrize("dialect", DIALECTS)
def test_strict_leaves_our_receipt(dialect: str, render: Callable[..., Document], bare_completion: Document) -> None:
    receipt = {"route": "r", "attempts": [{"upstream": "u"}]}
    written = render(dialect, {**bare_completion, "antiphon": copied(receipt)}, strict=True)
    assert written["antiphon"] == receipt


def test_azures_filter_keys_travel_in_openai_unless_strict(
    render: Callable[..., Document], make_writer: Callable[..., Writer]
) -> None:
    """I6."""
    loose = render("openai", completion())
    assert loose["prompt_filter_results"] == completion()["prompt_filter_results"]
    assert loose["choices"][0]["content_filter_results"] == completion()["choices"][0]["content_filter_results"]
    strict = render("openai", completion(), strict=True)
    assert "prompt_filter_results" not in strict
    assert "content_filter_results" not in strict["choices"][0]
    assert "content_filter_results" in make_writer("openai").chunk(chunk())["choices"][0]
    assert "content_filter_results" not in make_writer("openai", strict=True).chunk(chunk())["choices"][0]


def test_what_the_upstream_said_of_usage_stays_beside_our_count(
    render: Callable[..., Document], bare_completion: Document
) -> None:
    bare_completion["usage"] = {"queue_time": 0.25}
    written = render("openai", bare_completion)
    assert written["usage"]["queue_time"] == 0.25
    assert (written["usage"]["prompt_tokens"], written["usage"]["total_tokens"]) == (7, 15)
