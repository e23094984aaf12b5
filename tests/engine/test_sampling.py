"""What reaches the engine's sampler, and what is refused before."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.engine.sampling import PACKAGED_DEFAULTS, check_sampling, sampling
from antiphon.errors import RequestError

VOCABULARY = 49152


@pytest.mark.parametrize(
    ("document", "param", "code", "words"),
    [
        ({"top_k": "x"}, "top_k", "invalid_type", "expected an integer, but got a string instead"),
        ({"top_k": 1.5}, "top_k", "invalid_type", "expected an integer, but got a decimal number instead"),
        ({"top_k": True}, "top_k", "invalid_type", "got a boolean"),
        ({"top_k": -2}, "top_k", "integer_below_min_value", "Expected a value >= -1"),
        ({"top_k": 2**40}, "top_k", "integer_above_max_value", "Expected a value <= 2147483647"),
        ({"min_p": []}, "min_p", "invalid_type", "expected a decimal, but got an array instead"),
        ({"min_p": 1.1}, "min_p", "decimal_above_max_value", "Expected a value <= 1"),
        ({"repeat_penalty": 0}, "repeat_penalty", "decimal_below_min_value", "Expected a value >= 0.001"),
        ({"repeat_penalty": -1.0}, "repeat_penalty", "decimal_below_min_value", "Expected a value >= 0.001"),
        ({"repeat_penalty": "1"}, "repeat_penalty", "invalid_type", "expected a decimal, but got a string"),
        (
            {"logit_bias": {"49152": 1}},
            "logit_bias",
            None,
            "Invalid key in 'logit_bias': 49152. Maximum value is 49151",
        ),
        ({"logit_bias": {"9" * 5000: 1}}, "logit_bias", None, "Maximum value is 49151"),
        (
            {"logit_bias": {str(token): 1 for token in range(301)}},
            "logit_bias",
            "object_above_max_properties",
            "at most 300 properties, but got an object with 301",
        ),
    ],
)
def test_what_is_wrong_is_named(document: dict[str, Any], param: str, code: str | None, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        check_sampling(document, VOCABULARY)
    assert (refused.value.param, refused.value.code) == (param, code)
    assert words in refused.value.message


def test_what_is_right_reaches_the_engine() -> None:
    document = {"top_k": -1, "min_p": 0, "repeat_penalty": 1.1, "logit_bias": {"49151": -100, " word": 5}}
    check_sampling(document, VOCABULARY)
    order = sampling(document, 0)
    assert (order["top_k"], order["min_p"], order["repeat_penalty"]) == (-1, 0, 1.1)
    assert order["logit_bias"] == [[49151, -100], [" word", 5]]
    check_sampling({"top_k": None, "min_p": None, "repeat_penalty": None, "logit_bias": None}, VOCABULARY)


def test_the_packaged_models_defaults_fill_what_the_client_left_out() -> None:
    order = sampling({"temperature": 1.2, "min_p": 0.3}, 0, PACKAGED_DEFAULTS)
    assert (order["temperature"], order["min_p"]) == (1.2, 0.3)
    assert order["repeat_penalty"] > 1
    assert order["logit_bias"] == PACKAGED_DEFAULTS["logit_bias"]


def test_a_repeat_penalty_of_the_clients_replaces_all_of_ours() -> None:
    order = sampling({"repeat_penalty": 1.0}, 0, PACKAGED_DEFAULTS)
    assert order["repeat_penalty"] == 1.0
    assert not [name for name in order if name.startswith("dry_")]


def test_biases_of_the_clients_stand_beside_ours_and_win_over_it() -> None:
    ours = PACKAGED_DEFAULTS["logit_bias"]
    assert sampling({"logit_bias": {"7": 1}}, 0, PACKAGED_DEFAULTS)["logit_bias"] == [*ours, [7, 1]]
    assert sampling({"logit_bias": {"2": -100}}, 0, PACKAGED_DEFAULTS)["logit_bias"] == [[2, -100]]


def test_at_a_temperature_of_0_the_likeliest_token_is_taken() -> None:
    order = sampling({"temperature": 0, "presence_penalty": 1}, 0, PACKAGED_DEFAULTS)
    assert not {"repeat_penalty", "dry_multiplier", "logit_bias"} & order.keys()
    assert (order["temperature"], order["presence_penalty"]) == (0, 1)


def test_without_defaults_of_its_own_a_model_has_llama_cpps() -> None:
    assert sampling({}, 0) == {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05, "cache_prompt": True}
