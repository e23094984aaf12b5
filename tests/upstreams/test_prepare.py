"""A request as one upstream takes it: what changes is named, what need not change does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.chat.plain_request import PlainRequest, read_plain
from antiphon.errors import RequestError
from antiphon.flow.relayed import RELAYED
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.prepare import PlainRules, pass_through, plain_rules, prepare

MESSAGES = [{"role": "user", "content": "Hi", "x_vendor": {"deep": [1]}}]


def prepared(
    protocol: str, lacks: frozenset[str] | None = None, strict: bool = False, **ask: Any
) -> tuple[Any, dict[str, str]]:
    row = CATALOG[protocol]
    document = {"model": "public", "messages": MESSAGES, **ask}
    before = repr(document)
    out, changes, _ = prepare(document, "target", row, row.lacks if lacks is None else lacks, strict=strict)
    assert repr(document) == before, "the client's document was altered"
    return out, {change.param: change.action for change in changes}


def test_openai_gets_everything_but_the_models_name_unchanged() -> None:
    extra: dict[str, Any] = {"temperature": 0, "seed": 0, "stop": [], "x_unknown": {"a": [None, False]}, "user": None}
    out, changes = prepared("openai", **extra)
    assert out == {"model": "target", "messages": MESSAGES, **extra}
    assert changes == {"model": "rewritten"}


def test_usage_is_always_asked_for_when_streaming() -> None:
    out, _ = prepared("vllm", stream=True)
    assert out["stream_options"] == {"include_usage": True}
    out, changes = prepared("vllm", stream=True, stream_options={"include_usage": False, "x": 1})
    assert out["stream_options"] == {"include_usage": True, "x": 1}
    assert changes == {"model": "rewritten", "stream_options.include_usage": "rewritten"}
    out, _ = prepared("vllm", stream=False)
    assert "stream_options" not in out


@pytest.mark.parametrize(
    ("protocol", "host", "is_told"),
    [
        ("openai", "api.openai.com", True),
        ("openai", "eu.api.openai.com", True),
        ("openai", "notopenai.com", False),
        ("openai", "127.0.0.1", False),
        ("azure", "x.openai.azure.com", True),
        ("vllm", "api.openai.com", False),
    ],
)
def test_only_the_vendors_own_hosts_are_told_of_obfuscation(protocol: str, host: str, is_told: bool) -> None:
    assert bool(CATALOG[protocol].at_host(host).hides_sizes) is is_told


@pytest.mark.parametrize("protocol", ["openai", "azure"])
def test_obfuscation_is_asked_for_only_where_the_client_wants_it(protocol: str) -> None:
    own: dict[str, Any] | None
    for own in (None, {}, {"include_obfuscation": False}, {"include_obfuscation": None}):
        out, changes = prepared(protocol, stream=True, stream_options=own)
        assert out["stream_options"] == {"include_usage": True, "include_obfuscation": False}
        assert changes == {"model": "rewritten"}
    out, _ = prepared(protocol, stream=True, stream_options={"include_obfuscation": True})
    assert out["stream_options"] == {"include_usage": True, "include_obfuscation": True}
    for ask in ({"stream": False}, {}, {"stream": True, "lacks": frozenset({"stream_options"})}):
        assert "stream_options" not in prepared(protocol, **ask)[0]


@pytest.mark.parametrize("protocol", sorted(CATALOG.keys() - {"openai", "azure"}))
def test_no_other_vendor_is_told_of_obfuscation(protocol: str) -> None:
    out, _ = prepared(protocol, stream=True)
    assert "include_obfuscation" not in out.get("stream_options", {})


def test_an_upstream_without_that_option_is_not_sent_it() -> None:
    out, _ = prepared("mistral", stream=True, stream_options={"include_usage": True})
    assert "stream_options" not in out


def test_what_an_upstream_lacks_is_dropped_and_named() -> None:
    out, changes = prepared("openai", lacks=frozenset({"logprobs", "n"}), logprobs=True, n=3)
    assert "logprobs" not in out
    assert "n" not in out
    assert changes["logprobs"] == "dropped"


def test_strict_refuses_what_would_be_dropped() -> None:
    with pytest.raises(RequestError) as caught:
        prepared("openai", lacks=frozenset({"logprobs"}), strict=True, logprobs=True)
    assert caught.value.param == "logprobs"
    assert caught.value.code == "unsupported_parameter"


def test_what_the_embedded_engine_does_not_read_is_dropped_and_named_also_where_openai_knows_it() -> None:
    read: dict[str, Any] = {"temperature": 0, "tools": [], "response_format": {"type": "text"}, "user": "u", "top_k": 3}
    out, changes = prepared("embedded", **read, reasoning_effort="low", metadata={"a": "b"}, x_vendor=1, store=None)
    assert out == {"model": "target", "messages": MESSAGES, **read}
    assert changes == {
        "model": "rewritten",
        "reasoning_effort": "dropped",
        "metadata": "dropped",
        "x_vendor": "dropped",
    }


def test_max_completion_tokens_is_renamed_where_only_max_tokens_is_known() -> None:
    out, changes = prepared("skytells", max_completion_tokens=5)
    assert out["max_tokens"] == 5
    assert "max_completion_tokens" not in out
    assert changes["max_completion_tokens"] == "rewritten"
    out, changes = prepared("skytells", max_completion_tokens=5, max_tokens=7)
    assert out["max_tokens"] == 7
    assert changes["max_completion_tokens"] == "dropped"


def test_maritaca_takes_strings_and_lists() -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
    out, changes = prepared("maritaca", messages=parts, stop="x")
    assert out["messages"][0]["content"] == "ab"
    assert out["stop"] == ["x"]
    assert changes == {"model": "rewritten", "messages[0].content": "rewritten", "stop": "rewritten"}


def test_reasoning_in_history_travels_unless_the_row_refuses_it() -> None:
    history = [*MESSAGES, {"role": "assistant", "content": "x", "reasoning_content": "hm"}]
    out, _ = prepared("vllm", messages=history)
    assert out["messages"] == history
    out, changes = prepared("deepseek", messages=history)
    assert "reasoning_content" not in out["messages"][1]
    assert changes["messages[1].reasoning_content"] == "dropped"


def test_what_is_lacking_under_its_other_name_is_dropped_too() -> None:
    out, changes = prepared("skytells", lacks=frozenset({"max_tokens"}), max_completion_tokens=5)
    assert not {"max_tokens", "max_completion_tokens"} & set(out)
    assert changes["max_tokens"] == "dropped"


@pytest.mark.parametrize("lacking", ["stream", "stream_options"])
def test_an_upstream_that_lacks_streams_or_their_options_is_not_asked_for_usage(lacking: str) -> None:
    out, changes = prepared("openai", lacks=frozenset({lacking}), strict=lacking == "stream_options", stream=True)
    assert lacking not in out
    assert "stream_options" not in out
    assert "stream_options" not in changes


def passed(protocol: str, lacks: frozenset[str] | None = None, streams: bool = True, **ask: Any) -> tuple[Any, Any]:
    row = CATALOG[protocol]
    document = {"model": "public", "prompt": "x", **ask}
    out, changes, _ = pass_through(
        document, "target", row, row.lacks if lacks is None else lacks, strict=False, streams=streams
    )
    return out, {change.param: change.action for change in changes}


def test_beside_chat_only_the_models_name_changes() -> None:
    extra: dict[str, Any] = {"max_completion_tokens": 3, "stop": "x", "n": 2, "messages": [{"content": []}], "x": None}
    for protocol in ("openai", "deepseek", "ollama", "llamacpp"):
        out, changes = passed(protocol, **extra)
        assert out == {"model": "target", "prompt": "x", **extra}
        assert changes == {"model": "rewritten"}


def test_there_too_usage_is_asked_for_where_streams_are_and_what_is_lacking_is_dropped() -> None:
    assert passed("openai", stream=True)[0]["stream_options"] == {"include_usage": True}
    assert "stream_options" not in passed("openai", frozenset({"stream_options"}), stream=True)[0]
    assert "stream_options" not in passed("openai", stream=True, streams=False)[0]
    out, changes = passed("openai", frozenset({"seed"}), seed=1)
    assert ("seed" in out, changes["seed"]) == (False, "dropped")


@pytest.mark.parametrize(
    ("protocol", "offers"),
    [
        ("openai", {"completions", "embeddings", "responses", *RELAYED}),
        ("crazyrouter", {"completions", "embeddings", *RELAYED} - {"files", "batches", "moderations"}),
        ("embedded", {"completions", "embeddings"}),
        ("mistral", {"embeddings", "moderations", "audio/speech", "audio/transcriptions", "files"}),
        ("deepseek", {"completions"}),
        ("maritaca", {"files", "batches"}),
        ("scripted", set()),
    ],
)
def test_the_catalog_says_what_there_is_beside_chat(protocol: str, offers: set[str]) -> None:
    assert CATALOG[protocol].offers == offers


def test_the_catalog_knows_no_other_endpoints() -> None:
    known = {"completions", "embeddings", "responses", *RELAYED}
    assert {name for row in CATALOG.values() for name in row.offers} <= known


def test_who_only_speaks_openais_protocol_is_not_asked_for_its_responses() -> None:
    for protocol, host in (("openai", "api.openai.com"), ("azure", "own.openai.azure.com"), ("vllm", "10.0.0.1")):
        assert "responses" in CATALOG[protocol].at_host(host).offers
    assert "responses" not in CATALOG["openai"].at_host("localhost").offers


def plain(**ask: Any) -> PlainRequest:
    asked = read_plain(json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **ask}).encode())
    assert asked is not None
    return asked


def rules(protocol: str, *lacks: str) -> PlainRules:
    found = plain_rules(CATALOG[protocol], CATALOG[protocol].lacks | set(lacks))
    assert found is not None
    return found


def test_a_plain_request_is_taken_if_it_has_nothing_that_the_upstream_lacks() -> None:
    assert rules("openai").takes(plain(logprobs=True, n=1, stop="x", max_completion_tokens=3, stream=True))
    assert rules("groq").takes(plain(stream=True, max_completion_tokens=3))
    assert not rules("groq").takes(plain(logprobs=True))
    assert not rules("groq").takes(plain(logprobs=None))
    assert not rules("openai", "seed").takes(plain(seed=0))
    assert not rules("deepseek").takes(plain(max_completion_tokens=3))
    assert rules("embedded").takes(plain(tools=[], user="u"))
    assert not rules("embedded").takes(plain(metadata={"a": "b"}))
    assert rules("maritaca").takes(plain(stop=["x"]))
    assert not rules("maritaca").takes(plain(stop="x"))
    assert not rules("maritaca").takes(plain(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}]}]))
    assert rules("mistral").takes(plain(stream=True))
    assert not rules("mistral").takes(plain(stream=True, stream_options={"include_usage": True}))
    assert plain_rules(CATALOG["openai"], frozenset({"messages"})) is None


def test_what_is_sent_of_it_is_what_prepare_gives() -> None:
    for protocol in sorted(row.protocol for row in CATALOG.values() if not row.is_foreign):
        document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        sent = rules(protocol).write(plain(stream=True), "target")
        expected = prepare(document, "target", CATALOG[protocol], CATALOG[protocol].lacks, strict=False).document
        assert json.loads(sent) == expected
