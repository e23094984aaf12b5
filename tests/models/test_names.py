"""Which keys a name leads to."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.models.names import exact_keys, family_keys, key_of, line_keys, vendor_of

CLAUDE = "claude-sonnet-4-5"
PIECES = [
    "us.",
    "anthropic.",
    "claude",
    "gpt-4o",
    "-v1:0",
    "-2024-01-01",
    "-latest",
    "@",
    "/",
    ":",
    "-",
    "models/",
    "arn:",
    "ft:",
]


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("gpt-4o", "gpt-4o"),
        ("GPT-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4.1-mini", "gpt-4-1-mini"),
        ("chatgpt-4o-latest", "chatgpt-4o"),
        ("claude-sonnet-4-5-20250929", CLAUDE),
        ("claude-sonnet-4.5", CLAUDE),
        ("claude-sonnet-4-5-latest", CLAUDE),
        ("anthropic/claude-sonnet-4.5", CLAUDE),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        ("claude-sonnet-4-5@20250929", CLAUDE),
        ("claude-sonnet-4-5@default", CLAUDE),
        ("projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929", CLAUDE),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2-5-pro"),
        ("models/gemini-2.5-pro", "gemini-2-5-pro"),
        ("models/gemini-1.5-pro-002", "gemini-1-5-pro"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        ("apac.anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0:200k", CLAUDE),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE),
        (
            "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            CLAUDE,
        ),
        ("arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.anthropic.claude-sonnet-4-5-v1:0", CLAUDE),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("amazon.nova-pro-v1:0", "nova-pro"),
        ("anthropic.claude-v2:1", "claude-v2-1"),  # its version is its name
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-v3p1-8b-instruct"),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "llama-3-3-70b-instruct-turbo"),
        ("azureml://registries/azure-openai/models/gpt-4o/versions/2024-11-20", "gpt-4o"),
        ("command-a-03-2025", "command-a"),
        ("grok-4.20-0309", "grok-4-20"),  # 20-0309 is no month
        ("embed-v4.0", "embed-v4-0"),
        ("ft:gpt-4o-mini-2024-07-18:acme::AbC", "ft-gpt-4o-mini"),
        ("  gpt-4o ", "gpt-4o"),
    ],
)
def test_the_barest_key(name: str, bare: str) -> None:
    assert exact_keys(name)[-1] == bare


def test_the_most_exact_key_comes_first() -> None:
    assert exact_keys("gpt-4o-2024-05-13") == ["gpt-4o-2024-05-13", "gpt-4o"]
    keys = exact_keys("us.anthropic.claude-opus-4-7-v1:0")
    assert keys[0] == "us-anthropic-claude-opus-4-7-v1-0"
    order = ["us-anthropic-claude-opus-4-7", "regional-anthropic-claude-opus-4-7", "anthropic-claude-opus-4-7"]
    assert [key for key in keys if key in order] == order
    assert not any(key.startswith("regional") for key in exact_keys("global.anthropic.claude-opus-4-7-v1:0"))


@pytest.mark.parametrize("name", ["", " ", "/", ":", "arn:", "-", "models/", "é", "*", "ft:", "a" * 100_000])
def test_odd_names_lead_nowhere_and_break_nothing(name: str) -> None:
    assert all(len(key) <= 256 for key in [*exact_keys(name), *family_keys(name), *line_keys(name)])


def test_a_name_that_is_too_long_is_no_model_and_not_the_beginning_of_one() -> None:
    assert exact_keys("models/" * 100 + "gpt-4o") == list(family_keys("gpt-4o-" + "x" * 300)) == []


@example("0/:000")
@example("0/:0/")
@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_has_keys_that_are_keys(name: str) -> None:
    """A key's own key is itself, and keys are few."""
    keys = [*exact_keys(name), *family_keys(name), *line_keys(name)]
    assert all(key and key_of(key) == key for key in keys)
    assert len(keys) < 100
    vendor_of(name)


def test_a_family_begins_where_a_word_is_left_out() -> None:
    assert list(family_keys("gpt-4o-mini-search")) == ["gpt-4o-mini-search", "gpt-4o-mini", "gpt-4o"]
    assert "claude-opus-4" not in list(family_keys("claude-opus-4-9"))
    assert "llama-3" not in list(family_keys("llama-3-8b"))
    assert "deepseek-r1" in list(family_keys("deepseek/deepseek-r1:free"))
    assert "gpt-4o-mini" in list(family_keys("ft:gpt-4o-mini-2024-07-18:acme::AbC"))


def test_a_line_is_any_beginning() -> None:
    assert list(line_keys("claude-opus-9")) == ["claude-opus-9", "claude-opus", "claude"]


def test_separators_and_cases_are_one() -> None:
    assert key_of("Claude_Sonnet-4.5") == key_of("claude-sonnet-4-5") == CLAUDE


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-7-v1:0", "bedrock"),
        ("us.anthropic.claude-opus-4-7-v1:0", "bedrock"),
        ("amazon.nova-pro-v1:0", "bedrock"),
        ("claude-sonnet-4-5@20250929", "vertex"),
        ("publishers/google/models/gemini-2.5-pro", "vertex"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "vertex"),
        ("models/gemini-2.5-pro", "gemini"),
        ("accounts/fireworks/models/qwen3-8b", "fireworks"),
        ("gpt-4o", None),
        ("openai/gpt-4.1", None),
        ("qwen2.5-coder", None),
        ("", None),
    ],
)
def test_some_spellings_tell_the_vendor(name: str, vendor: str | None) -> None:
    assert vendor_of(name) == vendor
