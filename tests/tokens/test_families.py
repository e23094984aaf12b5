"""Model names of every spelling, and the encoding each is counted with."""

from __future__ import annotations

import pytest

from antiphon.tokens.families import CL100K, O200K, encoding_for


@pytest.mark.parametrize(
    "model",
    [
        *(
            "gpt-4o",
            "gpt-4o-mini",
            "gpt-4o-2024-08-06",
            "chatgpt-4o-latest",
            "gpt-4.1",
            "gpt-4.1-nano",
            "gpt-4.5-preview",
        ),
        *(
            "gpt-5",
            "gpt-5-mini",
            "gpt-5.6-terra",
            "gpt-oss-20b",
            "gpt-oss:120b",
            "o1",
            "o1-preview",
            "o3-mini",
            "o4-mini",
        ),
        *(
            "openai/gpt-4o",
            "azure/gpt-4o",
            "openrouter/openai/o3",
            "GPT-4o",
            "openai.gpt-oss-20b-1:0",
            "codex-mini-latest",
        ),
        *("ft:gpt-4o:team::a1b2", "ft:gpt-4o-mini-2024-07-18:acme/x::id", "openai/ft:gpt-4.1:team::x"),
    ],
)
def test_o200k_families(model: str) -> None:
    assert encoding_for(model) == O200K


@pytest.mark.parametrize(
    "model",
    [
        *("gpt-4", "gpt-4-turbo", "gpt-4-0613", "gpt-4-32k", "gpt-3.5-turbo", "gpt-35-turbo-16k", "openai/gpt-4"),
        *("text-embedding-3-small", "text-embedding-ada-002", "ft:gpt-3.5-turbo:team::x", "azure/gpt-35-turbo"),
    ],
)
def test_cl100k_families(model: str) -> None:
    assert encoding_for(model) == CL100K


@pytest.mark.parametrize(
    "model",
    [
        "",
        "llama-3.1-8b",
        "sabia-3",
        "o100",
        "o1x",
        "gpt-4x",
        "gpt-40",
        "openai/llama",
        "gpt-4o/other",
        "smollm2-135m",
        "gpt",
    ],
)
def test_unknown_families(model: str) -> None:
    assert encoding_for(model) is None
