"""Skytells' safety fields until something judges: S3's keys, all of them, and `error` beside every placeholder."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from antiphon.dialects import Writer
from antiphon.dialects.filters import choice_results, prompt_results

Document = dict[str, Any]

SAFE = {"filtered": False, "severity": "safe"}
CLEAR = {"detected": False, "filtered": False}
FOUR: Document = dict.fromkeys(("hate", "self_harm", "sexual", "violence"), SAFE)
SIX: Document = {**FOUR, "protected_material_code": CLEAR, "protected_material_text": CLEAR}
FIVE: Document = {**FOUR, "jailbreak": CLEAR}
ERROR = {"code": "content_filter_error", "message": "The contents are not filtered"}


@pytest.mark.parametrize("own", [None, {}, [], "x"])
def test_placeholders_say_so_where_nobody_judged(own: object) -> None:
    assert choice_results(deepcopy(own), judged=False) == {**SIX, "error": ERROR}
    expected = [{"prompt_index": 0, "content_filter_results": {**FIVE, "error": ERROR}}]
    assert prompt_results(deepcopy(own), judged=False) == expected


@pytest.mark.parametrize("own", [None, {}, [], "x"])
def test_what_our_policy_has_off_is_spelled_safe_without_a_word(own: object) -> None:
    assert choice_results(deepcopy(own), judged=True) == SIX
    assert prompt_results(deepcopy(own), judged=True) == [{"prompt_index": 0, "content_filter_results": FIVE}]


@pytest.mark.parametrize("judged", [False, True])
def test_a_complete_result_is_left_alone(judged: bool) -> None:
    own = {**SIX, "violence": {"filtered": True, "severity": "high"}, "profanity": {"filtered": False}}
    assert choice_results(deepcopy(own), judged=judged) == own


def test_holes_are_filled_and_told() -> None:
    own = {"hate": {"filtered": True, "severity": "medium"}, "violence": {"filtered": False}, "sexual": None}
    assert choice_results(deepcopy(own), judged=False) == {
        **SIX,
        "hate": {"filtered": True, "severity": "medium"},
        "error": ERROR,
    }


def test_an_error_of_the_upstream_is_kept_unless_empty() -> None:
    own_error = {"code": "timeout", "message": "slow"}
    assert choice_results({"error": dict(own_error)}, judged=False)["error"] == own_error
    assert choice_results({"error": {"code": "", "message": ""}}, judged=False)["error"] == ERROR
    complete = {**deepcopy(SIX), "error": {"code": "", "message": ""}}
    assert choice_results(deepcopy(complete), judged=False) == complete


def test_every_prompt_keeps_its_index() -> None:
    own = [{"prompt_index": 0, "content_filter_results": deepcopy(FIVE)}, {"content_filter_results": deepcopy(FIVE)}]
    results = prompt_results(own, judged=False)
    assert [entry["prompt_index"] for entry in results] == [0, 1]
    assert [entry["content_filter_results"] for entry in results] == [FIVE, FIVE]


def test_placeholders_are_not_shared_between_answers() -> None:
    first = choice_results(None, judged=False)
    first["hate"]["severity"] = "high"
    first["error"]["code"] = "changed"
    assert choice_results(None, judged=False) == {**SIX, "error": ERROR}


def test_they_stand_on_every_choice_of_every_chunk(
    make_writer: Callable[..., Writer], render: Callable[..., Document], bare_completion: Document
) -> None:
    writer = make_writer("skytells")
    deltas: list[tuple[Document, str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "Hi"}, None),
        ({}, "stop"),
    ]
    for delta, finish in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        written = writer.chunk({"id": "c", "created": 1, "model": "m", "choices": [choice]})
        assert written["choices"][0]["content_filter_results"] == {**SIX, "error": ERROR}
    completion = render("skytells", bare_completion)
    assert completion["choices"][0]["content_filter_results"] == {**SIX, "error": ERROR}


def test_strict_drops_other_vendors_categories(render: Callable[..., Document], bare_completion: Document) -> None:
    own = {**deepcopy(SIX), "profanity": {"detected": True, "filtered": True}}
    bare_completion["choices"][0]["content_filter_results"] = own
    written = render("skytells", bare_completion, strict=True)
    assert written["choices"][0]["content_filter_results"] == SIX
