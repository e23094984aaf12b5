"""A Chat Completions request, said as a Messages request: fields and tools."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import RequestError
from antiphon.protocols.anthropic import FLAVORS, Anthropic
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import Encoded
from tests.protocols.anthropic_encoding import ADAPTIVE, ALWAYS, BUDGET, HELLO, LOOK, body, changed, encode, refused
from tests.protocols.anthropic_requests import FACTS, HOSTS, REQUESTS
from tests.protocols.anthropic_rules import broken_rules

Document = dict[str, Any]
CALLED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
# Any request.


def attempt(document: Document, facts: ModelFacts, host: str, *, strict: bool) -> Encoded | RequestError:
    try:
        return Anthropic(FLAVORS[host]).encode(document, "claude-test", facts, None, strict=strict)
    except RequestError as error:
        return error


@given(document=REQUESTS, facts=FACTS, host=HOSTS)
def test_what_is_encoded_keeps_the_rules_of_the_api(document: Document, facts: ModelFacts, host: str) -> None:
    before = copy.deepcopy(document)
    encoded = attempt(document, facts, host, strict=False)
    assert document == before
    if isinstance(encoded, RequestError):
        assert encoded.param
    else:
        assert broken_rules(encoded, facts) == []
        assert attempt(document, facts, host, strict=False) == encoded


@given(document=REQUESTS, facts=FACTS, host=HOSTS)
def test_what_strict_takes_is_said_without_loss(document: Document, facts: ModelFacts, host: str) -> None:
    encoded = attempt(document, facts, host, strict=True)
    if isinstance(encoded, RequestError):
        assert (encoded.status, bool(encoded.param)) == (400, True)
    else:
        assert encoded == attempt(document, facts, host, strict=False)


ODD: list[Any] = [
    True,
    5,
    -1.5,
    "a",
    "",
    [],
    [None],
    ["a"],
    [{}],
    {},
    {"type": 5},
    {"type": "enabled"},
    {"a": {"b": []}},
]
OF_REQUESTS = (
    *("thinking", "output_config", "betas", "anthropic_beta", "stop_sequences", "extra_body", "top_k", "system"),
    *("cache_control", "a_new_field"),
)
OF_MESSAGES = (
    *("thinking_blocks", "content_parts", "is_error", "cache_control", "reasoning", "extra", "index", "text_offset"),
    "reasoning_content",
)
PART_KINDS = ["image_url", "file", "input_audio", "text", "refusal", "image", "document", "odd"]
ODD_PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(PART_KINDS)},
    optional={key: st.sampled_from(ODD) for key in ("image_url", "file", "text", "cache_control", "citations")},
)


def odd(names: tuple[str, ...]) -> st.SearchStrategy[Document]:
    return st.dictionaries(st.sampled_from(names), st.sampled_from(ODD), max_size=3)


@given(
    fields=odd(OF_REQUESTS), user=odd(OF_MESSAGES), assistant=odd(OF_MESSAGES), parts=st.lists(ODD_PARTS), facts=FACTS
)
def test_what_nobody_has_checked_is_said_or_refused(
    fields: Document, user: Document, assistant: Document, parts: list[Document], facts: ModelFacts
) -> None:
    messages = [
        {"role": "user", "content": "Hello", **user},
        {"role": "assistant", "content": parts or "Hi", **assistant, "tool_calls": [CALLED]},
        {"role": "tool", "tool_call_id": "call_1", "content": parts or "done", **user},
    ]
    document = {"model": "asked", "reasoning_effort": "low", **fields, "messages": messages}
    encoded = attempt(document, facts, "anthropic", strict=False)
    if isinstance(encoded, Encoded):
        json.dumps(encoded.body)
        assert all(value.isprintable() for _, value in encoded.headers)


# The frame.


def test_a_plain_request() -> None:
    encoded = encode(max_tokens=50, stream=True)
    assert encoded.path == "/v1/messages"
    assert encoded.body == {"model": "claude-test", "max_tokens": 50, "messages": HELLO, "stream": True}
    assert encoded.headers == (("anthropic-version", "2026-10-21"),)
    assert encoded.changes == ()


def test_the_oldest_version_only_where_sampling_needs_it() -> None:
    assert encode(temperature=0.5).headers == (("anthropic-version", "2023-06-01"),)
    assert encode(ALWAYS, temperature=0.5).headers == (("anthropic-version", "2026-10-21"),)


def test_the_oldest_version_where_blocks_need_it() -> None:
    cited = {"type": "text", "text": "a", "citations": [{"type": "char_location"}]}
    held = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    for messages in (
        [{"role": "user", "content": [cited]}],
        [*HELLO, {"role": "assistant", "content": [held]}, *HELLO],
    ):
        assert encode(messages=messages).headers == (("anthropic-version", "2023-06-01"),)
    kept = [*HELLO, {"role": "assistant", "content": [cited]}, *HELLO]
    assert encode(messages=kept).headers == (("anthropic-version", "2026-10-21"),)


@pytest.mark.parametrize(
    ("host", "stream", "path"),
    [
        ("anthropic", True, "/v1/messages"),
        ("mantle", False, "/v1/messages"),
        ("foundry", True, "/v1/messages"),
        ("vertex", False, "/publishers/anthropic/models/claude-test:rawPredict"),
        ("vertex", True, "/publishers/anthropic/models/claude-test:streamRawPredict"),
        ("bedrock", False, "/model/claude-test/invoke"),
        ("bedrock", True, "/model/claude-test/invoke-with-response-stream"),
    ],
)
def test_each_host_has_its_path(host: str, stream: bool, path: str) -> None:
    encoded = encode(host=host, stream=stream)
    assert encoded.path == path
    assert encoded.body.get("model") == (None if host in ("vertex", "bedrock") else "claude-test")
    assert encoded.body.get("stream", False) is (stream and host != "bedrock")


def test_the_version_in_the_body() -> None:
    assert encode(host="vertex").body["anthropic_version"] == "2026-10-21"
    assert encode(host="vertex").headers == ()
    assert encode(host="vertex", temperature=1).body["anthropic_version"] == "vertex-2023-10-16"
    assert encode(host="bedrock", temperature=1).body["anthropic_version"] == "bedrock-2023-05-31"


def test_a_model_in_the_path_is_escaped() -> None:
    protocol = Anthropic(FLAVORS["bedrock"])
    document = {"model": "a", "messages": HELLO}
    arn = "arn:aws:bedrock:eu-1::profile/claude;x?y"
    assert protocol.encode(document, arn, ModelFacts(), None, strict=False).path == (
        "/model/arn%3Aaws%3Abedrock%3Aeu-1%3A%3Aprofile%2Fclaude%3Bx%3Fy/invoke"
    )
    for name in ("..", ".", ""):
        with pytest.raises(RequestError) as caught:
            protocol.encode(document, name, ModelFacts(), None, strict=False)
        assert caught.value.param == "model"


def test_betas_are_a_header_or_stand_in_the_body() -> None:
    assert ("anthropic-beta", "a-1,b-2") in encode(betas=["a-1", "b-2"]).headers
    assert ("anthropic-beta", "a-1,b-2") in encode(anthropic_beta="a-1, b-2").headers
    assert encode(host="bedrock", betas=["a-1"]).body["anthropic_beta"] == ["a-1"]
    odd = encode(betas=["a\r\nx-api-key: stolen", 5])
    assert odd.headers == (("anthropic-version", "2026-10-21"),)
    assert changed(odd) == [("betas", "dropped")]


# Fields.


def test_the_limit_is_the_models_own_unless_given() -> None:
    assert body()["max_tokens"] == 8192
    assert body(BUDGET)["max_tokens"] == 64_000
    assert body(max_tokens=5, max_completion_tokens=7)["max_tokens"] == 7
    assert body(max_tokens=0)["max_tokens"] == 0
    high = encode(BUDGET, max_tokens=100_000)
    assert (high.body["max_tokens"], changed(high)) == (64_000, [("max_tokens", "rewritten")])


def test_null_is_not_given() -> None:
    names = ("max_tokens", "temperature", "tools", "response_format", "seed", "stop", "user", "stream", "metadata")
    nothing: dict[str, Any] = dict.fromkeys(names)
    assert encode(**nothing) == encode()


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["a", "b"]}, {"stop_sequences": ["a", "b"]}),
        ({"stop": "a", "stop_sequences": ["b"]}, {"stop_sequences": ["a", "b"]}),
        ({"temperature": 0.2}, {"temperature": 0.2}),
        ({"top_p": 0.2, "top_k": 5}, {"top_p": 0.2, "top_k": 5}),
        ({"user": "u-1"}, {"metadata": {"user_id": "u-1"}}),
        ({"user": "u-1", "safety_identifier": "s-1"}, {"metadata": {"user_id": "s-1"}}),
        ({"metadata": {"user_id": "m-1"}, "user": "u-1"}, {"metadata": {"user_id": "m-1"}}),
        ({"service_tier": "default"}, {"service_tier": "standard_only"}),
        ({"service_tier": "auto"}, {"service_tier": "auto"}),
        ({"service_tier": "a_new_word"}, {"service_tier": "a_new_word"}),
        ({"inference_geo": "eu"}, {"inference_geo": "eu"}),
        ({"container": {"id": "c"}, "speed": "fast"}, {"container": {"id": "c"}, "speed": "fast"}),
        ({"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral"}}),
        ({"prompt_cache_options": {"mode": "implicit"}}, {"cache_control": {"type": "ephemeral"}}),
        ({"extra_body": {"inference_geo": "eu", "tools": "x"}}, {"inference_geo": "eu"}),
        ({"n": 1, "logprobs": False, "presence_penalty": 0.0, "stream_options": {}, "modalities": ["text"]}, {}),
    ],
)
def test_fields_that_have_a_word_there(fields: Document, sent: Document) -> None:
    encoded = encode(**fields)
    assert encoded.changes == ()
    assert encoded.body == {**body(), **sent}
    assert encode(strict=True, **fields) == encoded


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": 1},
        {"logprobs": True},
        {"top_logprobs": 3},
        {"logit_bias": {"5": 1}},
        {"presence_penalty": 0.5},
        {"frequency_penalty": -0.5},
        {"prediction": {"type": "content", "content": "x"}},
        {"audio": {"format": "wav", "voice": "a"}},
        {"modalities": ["text", "audio"]},
        {"store": True},
        {"verbosity": "low"},
        {"prompt_cache_key": "k"},
        {"service_tier": "flex"},
        {"metadata": {"team": "blue"}},
        {"user": "ada@people.example"},
        {"stop": [" \n"]},
        {"reasoning_effort": "high"},
        {"system": "an unjudged prompt"},
        {"thinking": "much"},
        {"output_config": "high"},
    ],
)
def test_fields_that_have_none_are_named_and_refused_by_strict(fields: Document) -> None:
    [param] = fields
    encoded = encode(**fields)
    assert encoded.body == body()
    assert changed(encoded) == [(param, "dropped")]
    error = refused(**fields)
    assert (error.status, error.code, error.param) == (400, "unsupported_parameter", param)


def test_sampling_is_dropped_where_the_model_takes_none() -> None:
    encoded = encode(ALWAYS, temperature=1, top_p=0.9, top_k=3)
    assert encoded.body == encode(ALWAYS).body
    assert [param for param, _ in changed(encoded)] == ["temperature", "top_p", "top_k"]
    assert refused(ALWAYS, temperature=1).param == "temperature"


def test_the_highest_temperature_is_one() -> None:
    encoded = encode(temperature=1.8)
    assert (encoded.body["temperature"], changed(encoded)) == (1, [("temperature", "rewritten")])


def test_one_of_temperature_and_top_p() -> None:
    encoded = encode(temperature=0.5, top_p=0.9)
    assert "top_p" not in encoded.body
    assert changed(encoded) == [("top_p", "dropped")]


# Thinking.


def test_effort_as_a_budget() -> None:
    assert body(BUDGET, reasoning_effort="high")["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert body(BUDGET, reasoning_effort="low", max_tokens=2000)["thinking"]["budget_tokens"] == 1600
    assert "thinking" not in body(BUDGET, reasoning_effort="none")
    short = encode(BUDGET, reasoning_effort="low", max_tokens=500)
    assert "thinking" not in short.body
    assert changed(short) == [("reasoning_effort", "dropped")]


def test_effort_as_a_word() -> None:
    sent = body(ADAPTIVE, reasoning_effort="high")
    assert sent["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert sent["output_config"] == {"effort": "high"}
    assert body(ADAPTIVE, reasoning_effort="none")["thinking"] == {"type": "disabled"}
    assert body(ADAPTIVE, reasoning_effort="a_new_word")["output_config"] == {"effort": "a_new_word"}


@pytest.mark.parametrize(("asked", "sent"), [("minimal", "low"), ("xhigh", "high")])
def test_an_effort_that_the_model_lacks_is_its_nearest(asked: str, sent: str) -> None:
    encoded = encode(ADAPTIVE, reasoning_effort=asked)
    assert encoded.body["output_config"] == {"effort": sent}
    assert changed(encoded) == [("reasoning_effort", "rewritten")]
    assert refused(ADAPTIVE, reasoning_effort=asked).param == "reasoning_effort"


def test_a_model_that_always_thinks_cannot_be_told_not_to() -> None:
    encoded = encode(ALWAYS, reasoning_effort="none")
    assert encoded.body["output_config"] == {"effort": "low"}
    assert changed(encoded) == [("reasoning_effort", "rewritten")]
    off = encode(ALWAYS, thinking={"type": "disabled"})
    assert "thinking" not in off.body
    assert changed(off) == [("thinking", "dropped")]


def test_the_vendors_own_thinking_travels_and_is_adapted() -> None:
    own = {"type": "enabled", "budget_tokens": 3000}
    assert body(BUDGET, thinking=own)["thinking"] == own
    between = {"type": "between_tools"}
    assert body(ALWAYS, thinking=between)["thinking"] == between
    adapted = encode(ALWAYS, thinking=own, reasoning_effort="low")
    assert adapted.body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert adapted.body["output_config"] == {"effort": "low"}
    assert changed(adapted) == [("thinking", "rewritten")]
    assert body(BUDGET, thinking={"type": "adaptive"})["thinking"]["type"] == "enabled"


def test_a_model_that_thinks_takes_no_sampling() -> None:
    encoded = encode(BUDGET, reasoning_effort="low", temperature=0.3, top_p=0.96, top_k=5)
    assert encoded.body["top_p"] == 0.96
    assert changed(encoded) == [("temperature", "dropped"), ("top_k", "dropped")]
    assert body(BUDGET, reasoning_effort="low", temperature=1)["temperature"] == 1


def test_a_forced_call_excludes_a_budget_and_nothing_else() -> None:
    encoded = encode(BUDGET, reasoning_effort="low", tools=[LOOK], tool_choice="required")
    assert "thinking" not in encoded.body
    assert changed(encoded) == [("reasoning_effort", "dropped")]
    assert "thinking" in body(ADAPTIVE, reasoning_effort="low", tools=[LOOK], tool_choice="required")
