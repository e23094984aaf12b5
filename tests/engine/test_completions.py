"""The legacy endpoint and embeddings, answered by the real model."""

from __future__ import annotations

import math
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

MODEL = "smollm2-135m-instruct"


def complete(client: OpenAI, prompt: Any = "Once upon a time", **more: Any) -> Any:
    return client.completions.create(model=MODEL, prompt=prompt, **more)


def test_a_prompt_is_continued(client: OpenAI) -> None:
    answer = complete(client, temperature=0)
    assert answer.object == "text_completion"
    assert answer.choices[0].text
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 16  # OpenAI's default
    assert complete(client, temperature=0).choices[0].text == answer.choices[0].text


def test_a_stream_says_the_same(client: OpenAI) -> None:
    whole = complete(client, temperature=0).choices[0].text
    assert "".join(chunk.choices[0].text for chunk in complete(client, temperature=0, stream=True)) == whole


def test_prompts_times_n_choices_in_order(client: OpenAI) -> None:
    answer = complete(client, ["Once upon a time", "The capital of"], n=2, max_tokens=3, seed=1)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert answer.usage.completion_tokens == 12
    alone = complete(client, "The capital of", n=2, max_tokens=3, seed=1)
    assert [choice.text for choice in answer.choices[2:]] == [choice.text for choice in alone.choices]


def test_tokens_are_a_prompt_too_and_echo_says_it_again(client: OpenAI) -> None:
    words = complete(client, "Once upon a time", echo=True, max_tokens=4, temperature=0).choices[0].text
    assert words.startswith("Once upon a time")
    tokens = complete(client, [4042], echo=True, max_tokens=2, temperature=0)
    assert tokens.usage.prompt_tokens == 1
    assert tokens.choices[0].text


def test_logprobs_in_the_shape_of_this_endpoint(client: OpenAI) -> None:
    choice = complete(client, logprobs=2, max_tokens=4, temperature=0).choices[0]
    logprobs = choice.logprobs
    assert "".join(logprobs.tokens) == choice.text
    assert len(logprobs.token_logprobs) == len(logprobs.top_logprobs) == len(logprobs.text_offset) == 4
    assert all(len(rivals) == 2 for rivals in logprobs.top_logprobs)
    assert [
        choice.text[offset:].startswith(token)
        for offset, token in zip(logprobs.text_offset, logprobs.tokens, strict=True)
    ] == [True] * 4


@pytest.mark.parametrize("more", [{"suffix": "the end"}, {"best_of": 3}])
def test_what_it_cannot_do_is_refused(client: OpenAI, more: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError) as refused:
        complete(client, **more)
    assert refused.value.param == next(iter(more))


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_embeddings_have_unit_length_and_know_cats_from_revenue(client: OpenAI) -> None:
    words = ["The cat sat on the mat.", "A kitten lies on a rug.", "Quarterly revenue exceeded expectations."]
    answer = client.embeddings.create(model=MODEL, input=words)
    cat, kitten, revenue = (entry.embedding for entry in answer.data)
    assert len(cat) == 576
    assert math.isclose(cosine(cat, cat), 1.0, rel_tol=1e-4)
    assert cosine(cat, kitten) > cosine(cat, revenue) + 0.05
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 15


def test_embeddings_in_floats_and_in_base64_are_the_same(client: OpenAI) -> None:
    floats = client.embeddings.create(model=MODEL, input="cat", encoding_format="float").data[0].embedding
    packed = client.embeddings.create(model=MODEL, input="cat").data[0].embedding  # the SDK asks for base64
    assert packed == pytest.approx(floats, abs=1e-6)


def test_a_text_longer_than_a_batch_is_embedded_whole(client: OpenAI) -> None:
    long = "The tide rises and falls along the shore. " * 30
    one, other = (
        client.embeddings.create(model=MODEL, input=text).data[0].embedding for text in (long, long + "Stocks fell.")
    )
    assert one != other
    assert cosine(one, other) > 0.9


def test_fewer_dimensions_on_demand_never_more(client: OpenAI) -> None:
    short = client.embeddings.create(model=MODEL, input="cat", dimensions=64).data[0].embedding
    assert len(short) == 64
    assert math.isclose(cosine(short, short), 1.0, rel_tol=1e-4)
    with pytest.raises(BadRequestError) as refused:
        client.embeddings.create(model=MODEL, input="cat", dimensions=5000)
    assert refused.value.param == "dimensions"
