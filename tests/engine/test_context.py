"""Where the context ends: too long a prompt is refused, too long an answer is cut, and both say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from tests.support.engine import running

MODEL = "smollm2-135m-instruct"


@pytest.fixture(scope="module")
def narrow(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    with (
        running(tmp_path_factory.mktemp("narrow"), "[engine]\ncontext = 256\n") as gateway,
        OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0) as client,
    ):
        yield client


def ask(client: OpenAI, words: int, **more: Any) -> Any:
    messages: Any = [{"role": "user", "content": "word " * words}]
    return client.chat.completions.create(model=MODEL, messages=messages, **more)


@pytest.mark.parametrize("stream", [False, True])
def test_too_long_a_prompt_is_refused_in_openais_words(narrow: OpenAI, stream: bool) -> None:
    with pytest.raises(BadRequestError) as refused:
        ask(narrow, 300, stream=stream)
    assert refused.value.code == "context_length_exceeded"
    assert refused.value.param == "messages"
    assert "maximum context length is 256 tokens" in str(refused.value)
    assert "Please reduce the length of the messages" in str(refused.value)


def test_what_the_context_does_not_hold_is_cut_as_length(narrow: OpenAI) -> None:
    answer = ask(narrow, 180, max_tokens=1000, logit_bias={"2": -100})  # it may not end by itself
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.total_tokens == 256


def test_the_last_place_in_the_context_is_for_one_token(narrow: OpenAI) -> None:
    fixed = ask(narrow, 1, max_tokens=1).usage.prompt_tokens - 1
    answer = ask(narrow, 255 - fixed)
    assert answer.usage.prompt_tokens == 255
    assert answer.usage.completion_tokens == 1
    with pytest.raises(BadRequestError):
        ask(narrow, 256 - fixed)


def test_too_long_an_input_for_an_embedding_or_a_completion_is_refused_too(narrow: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        narrow.embeddings.create(model=MODEL, input=["short", "word " * 300])
    assert refused.value.code == "context_length_exceeded"
    with pytest.raises(BadRequestError) as refused:
        narrow.completions.create(model=MODEL, prompt="word " * 300)
    assert refused.value.code == "context_length_exceeded"


def test_the_fingerprint_is_another_with_another_context(narrow: OpenAI, client: OpenAI) -> None:
    assert ask(narrow, 1, max_tokens=1).system_fingerprint != ask(client, 1, max_tokens=1).system_fingerprint
