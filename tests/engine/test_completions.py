"""The legacy endpoint and embeddings, answered by the real model."""

from __future__ import annotations

import json
import math
import select
import socket
import time
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from tests.support.engine import Gateway

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


def test_more_choices_than_128_over_all_prompts_are_refused(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        complete(client, ["a"] * 65, n=2, max_tokens=1)
    assert refused.value.param == "prompt"
    assert "at most 128 choices" in str(refused.value)


def test_an_empty_prompt_begins_a_document(client: OpenAI) -> None:
    answer = complete(client, "", max_tokens=5)
    assert answer.choices[0].text
    assert answer.usage.prompt_tokens == 1
    assert complete(client, ["", "Once"], max_tokens=2).choices[1].text


@pytest.mark.parametrize("token", [49152, 2**31 + 5, 2**40, -1])
@pytest.mark.parametrize("echo", [False, True])
def test_what_is_no_token_of_the_model_is_refused_by_its_place(client: OpenAI, token: int, echo: bool) -> None:
    with pytest.raises(BadRequestError) as refused:
        complete(client, [4042, token], echo=echo)
    assert refused.value.param == "prompt[1]"
    with pytest.raises(BadRequestError) as refused:
        client.embeddings.create(model=MODEL, input=[[1], [5, token]])
    assert refused.value.param == "input[1][1]"


def test_logprobs_tell_where_in_the_text_each_token_begins(client: OpenAI) -> None:
    for seed in range(3):
        choice = complete(client, "😀 日本語 " * 8, logprobs=1, max_tokens=20, seed=seed, temperature=1.2).choices[0]
        offsets = choice.logprobs.text_offset
        assert offsets == sorted(offsets)
        for offset, token in zip(offsets, choice.logprobs.tokens, strict=True):
            assert token.startswith("\\x") or "\\x" in token or choice.text[offset:].startswith(token)


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


def test_more_tokens_than_openai_takes_in_one_request_are_refused_in_its_words(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        client.embeddings.create(model=MODEL, input=[[5] * 3000] * 101)
    assert refused.value.code == "max_tokens_per_request"
    assert "Requested 303000 tokens, max 300000 tokens per request" in str(refused.value)


def test_many_inputs_take_their_turns_between_other_requests(client: OpenAI, embedded: Gateway) -> None:
    """As many requests as there are slots, each with minutes of work: who comes next is served nevertheless."""
    host, port = embedded.url.removeprefix("http://").split(":")
    body = json.dumps({"model": MODEL, "input": [[5] * 64] * 1000}).encode()
    head = b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
    with socket.create_connection((host, int(port))) as one, socket.create_connection((host, int(port))) as other:
        for wire in (one, other):
            wire.sendall(head + body)
        time.sleep(1.0)  # until both hold their slots
        assert complete(client, max_tokens=1).choices[0].text
        assert select.select([one, other], [], [], 0)[0] == []  # neither has been answered
