"""Usage: what is read, added and settled."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.chat.usage import add_usage, read_usage, settle_usage

ZEROS = {
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
}


@pytest.mark.parametrize(
    ("reported", "counts"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, (3, 4, 7)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 99}, (3, 4, 99)),
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4, None)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (0, 0, 0)),
        ({"prompt_tokens": 3.0, "completion_tokens": 4.0}, (3, 4, None)),
        ({"prompt_tokens": 3, "total_tokens": 10}, (3, 7, 10)),
        ({"completion_tokens": 4, "total_tokens": 10}, (6, 4, 10)),
        ({"prompt_tokens": 3, "completion_tokens": None, "total_tokens": None}, (3, None, None)),
        ({"prompt_tokens": -1, "completion_tokens": 2}, (None, 2, None)),
        ({"prompt_tokens": 1.5, "completion_tokens": 2}, (None, 2, None)),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4, None)),
    ],
)
def test_counts_are_read(reported: dict[str, Any], counts: tuple[int | None, ...]) -> None:
    """What was not told is not there; a total is the upstream's until it is settled."""
    usage = read_usage(reported)
    assert usage is not None
    keys = ("prompt_tokens", "completion_tokens", "total_tokens")
    assert tuple(usage.get(key) for key in keys) == counts
    assert all(type(usage[key]) is int for key in keys if key in usage)


def reported(prompt: Any, completion: Any, total: Any, reasoning: Any) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    usage: dict[str, Any] = {key: value for key, value in counts.items() if value is not None}
    return {**usage, "completion_tokens_details": {"reasoning_tokens": reasoning, "foo": 1}}


@pytest.mark.parametrize(
    ("told", "completion"),
    [
        ((10, 5, 115, 100), 105),  # xAI: total = prompt + completion + reasoning
        ((10, 100, 115, 5), 105),
        ((10, 5, 15, 100), 105),  # more reasoning than completion: it cannot be part of it
        ((10, 5, None, 100), 105),
        ((None, 5, None, 100.0), 105),
        ((10, 105, 115, 100), 105),  # OpenAI: reasoning is part of the completion
        ((10, 100, 110, 100), 100),
        ((10, 5, 15, 0), 5),
        ((10, None, 115, 100), 105),
        ((10, 50, 99, 20), 50),  # a total that proves nothing
        ((10, 5, 15, None), 5),
        ((10, 5, 15, "x"), 5),
    ],
)
def test_reasoning_counted_beside_the_completion_is_added_to_it(told: tuple[Any, ...], completion: int) -> None:
    usage = reported(*told)
    for _ in range(2):  # reading again changes nothing
        read = read_usage(usage)
        assert read is not None
        assert read["completion_tokens"] == completion
        assert read["completion_tokens_details"] == {"reasoning_tokens": told[3], "foo": 1}
    settled = settle_usage(usage, details=True)
    assert settled["total_tokens"] == settled["prompt_tokens"] + completion
    assert settled["completion_tokens_details"]["reasoning_tokens"] <= completion


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "12",
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": True, "completion_tokens": True},
        {"total_tokens": 5},
    ],
)
def test_what_is_no_count_is_none(value: object) -> None:
    assert read_usage(value) is None


def test_unknown_keys_survive_reading_adding_and_settling() -> None:
    a = read_usage({"prompt_tokens": 1, "completion_tokens": 2, "foo": {"bar": 1}})
    b = read_usage({"prompt_tokens": 1, "completion_tokens": 2, "only_here": 3})
    assert a is not None
    assert b is not None
    for details in (True, False):
        settled = settle_usage(add_usage(a, b), details=details)
        assert settled["foo"] == {"bar": 1}
        assert settled["only_here"] == 3


def test_fan_out_counts_the_prompt_once() -> None:
    a = {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "total_tokens": 7,
        "completion_tokens_details": {"reasoning_tokens": 1},
        "prompt_tokens_details": {"cached_tokens": 4},
        "cost": 0.5,
    }
    b = {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "completion_tokens_details": {"reasoning_tokens": 2, "text_tokens": 1},
        "prompt_tokens_details": {"cached_tokens": 4},
        "cost": 0.25,
    }
    assert add_usage(a, b) == {
        "prompt_tokens": 5,
        "completion_tokens": 5,
        "total_tokens": 10,
        "completion_tokens_details": {"reasoning_tokens": 3, "text_tokens": 1},
        "prompt_tokens_details": {"cached_tokens": 4},
        "cost": 0.75,
    }


def test_a_count_that_one_answer_lacks_is_lacking_in_the_sum() -> None:
    whole = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    assert add_usage(whole, {"prompt_tokens": 5}) == {"prompt_tokens": 5}
    assert add_usage({"completion_tokens": 1}, whole) == {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
    }


def test_the_total_is_always_the_sum() -> None:
    settled = settle_usage({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 99}, details=False)
    assert settled == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def test_adding_where_one_side_has_no_details() -> None:
    a = {"prompt_tokens": 5, "completion_tokens": 2, "completion_tokens_details": None}
    b = {"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}}
    assert add_usage(a, b)["completion_tokens_details"] == {"reasoning_tokens": 2}
    assert add_usage(b, a)["completion_tokens_details"] == {"reasoning_tokens": 2}


def test_missing_details_are_zeros_when_the_dialect_shows_them() -> None:
    counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert settle_usage(dict(counts), details=True) == {**counts, **ZEROS}
    assert settle_usage(dict(counts), details=False) == counts
    assert settle_usage({**counts, "prompt_tokens_details": None}, details=True) == {**counts, **ZEROS}


def test_known_details_are_kept_and_holes_filled() -> None:
    usage = {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1, "audio_tokens": None, "image_tokens": 9},
    }
    settled = settle_usage(usage, details=True)
    assert settled["prompt_tokens_details"] == {"cached_tokens": 1, "audio_tokens": 0, "image_tokens": 9}
    untouched = settle_usage(usage, details=False)
    assert untouched["prompt_tokens_details"] == {"cached_tokens": 1, "audio_tokens": None, "image_tokens": 9}
    assert "completion_tokens_details" not in untouched
