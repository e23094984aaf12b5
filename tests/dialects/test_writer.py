"""What each dialect does beyond the tables: usage, first chunk, fingerprint, logprobs, finish words, obfuscation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.dialects import DIALECTS, Writer

Document = dict[str, Any]
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def envelope() -> Document:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}


# -- usage (D3)


@pytest.mark.parametrize(
    ("dialect", "asked", "usage"),
    [
        ("openai", False, "absent"),
        ("openai", True, None),
        ("crazyrouter", False, "absent"),
        ("crazyrouter", True, "absent"),
        ("skytells", False, None),
        ("skytells", True, None),
        ("maritaca", False, "absent"),
        ("maritaca", True, "absent"),
    ],
)
def test_usage_key_of_other_chunks(
    dialect: str, asked: bool, usage: str | None, make_writer: Callable[..., Writer], bare_chunk: Document
) -> None:
    writer = make_writer(dialect, {"include_usage": asked})
    assert writer.chunk(bare_chunk).get("usage", "absent") == usage
    assert writer.extra_chunk(envelope()).get("usage", "absent") == usage


@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_chunk_only_when_asked(dialect: str, make_writer: Callable[..., Writer]) -> None:
    assert make_writer(dialect).usage_chunk(envelope(), dict(USAGE)) is None
    for strict in (False, True):
        written = make_writer(dialect, {"include_usage": True}, strict=strict).usage_chunk(envelope(), dict(USAGE))
        assert written is not None
        assert written["choices"] == []
        assert {key: written[key] for key in ("id", "object", "created", "model")} == {
            key: envelope()[key] for key in ("id", "object", "created", "model")
        }
        counts = {key: written["usage"][key] for key in USAGE}
        assert counts == USAGE
        details = {"completion_tokens_details", "prompt_tokens_details"}
        assert set(written["usage"]) - set(USAGE) == (details if dialect in ("openai", "skytells") else set())


@pytest.mark.parametrize(
    ("dialect", "keys"),
    [
        ("openai", set()),
        ("crazyrouter", set()),
        ("skytells", {"usage", "system_fingerprint"}),
        ("maritaca", {"system_fingerprint"}),
    ],
)
def test_extra_chunk_has_the_dialects_null_keys(
    dialect: str, keys: set[str], make_writer: Callable[..., Writer]
) -> None:
    written = make_writer(dialect, strict=True).extra_chunk({**envelope(), "antiphon": {"route": "r"}})
    assert set(written) == {*envelope(), "antiphon", *keys}
    assert written["choices"] == []


# -- skytells' first chunk [skytells-opening]


@pytest.mark.parametrize("dialect", ["openai", "crazyrouter", "maritaca"])
def test_no_opening_elsewhere(dialect: str, make_writer: Callable[..., Writer]) -> None:
    assert make_writer(dialect, {"n": 2}).opening(envelope()) == []


def test_opening_has_one_empty_delta_per_choice(make_writer: Callable[..., Writer]) -> None:
    (opening,) = make_writer("skytells", {"n": 3}).opening(envelope())
    assert [choice["index"] for choice in opening["choices"]] == [0, 1, 2]
    for choice in opening["choices"]:
        assert set(choice) == {"index", "delta", "logprobs", "finish_reason", "content_filter_results"}
        assert (choice["delta"], choice["logprobs"], choice["finish_reason"]) == ({}, None, None)
    assert opening["usage"] is None
    assert opening["system_fingerprint"] is None
    assert [entry["prompt_index"] for entry in opening["prompt_filter_results"]] == [0]
    assert {key: opening[key] for key in ("id", "object", "created", "model")} == {
        key: envelope()[key] for key in ("id", "object", "created", "model")
    }


def test_prompt_results_stand_on_the_opening_only(make_writer: Callable[..., Writer], bare_chunk: Document) -> None:
    writer = make_writer("skytells")
    own = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": True, "severity": "high"}}}]
    (opening,) = writer.opening({**envelope(), "prompt_filter_results": own})
    results = opening["prompt_filter_results"][0]["content_filter_results"]
    assert results["hate"] == {"filtered": True, "severity": "high"}
    assert results["jailbreak"] == {"detected": False, "filtered": False}
    assert "prompt_filter_results" not in writer.chunk({**bare_chunk, "prompt_filter_results": own})


# -- fingerprint


def test_maritacas_derived_fingerprint(make_writer: Callable[..., Writer], bare_chunk: Document) -> None:
    one = make_writer("maritaca", target="a/m").chunk(dict(bare_chunk))["system_fingerprint"]
    assert re.fullmatch("[0-9a-f]{16}", one)
    assert make_writer("maritaca", target="a/m").chunk(dict(bare_chunk))["system_fingerprint"] == one
    assert make_writer("maritaca", target="b/m").chunk(dict(bare_chunk))["system_fingerprint"] != one


def test_maritacas_fingerprint_is_one_over_the_stream(make_writer: Callable[..., Writer], bare_chunk: Document) -> None:
    own = make_writer("maritaca")
    chunks = [{**bare_chunk, "system_fingerprint": "c68cf2ecaa94f232"}, dict(bare_chunk)]
    assert {own.chunk(chunk)["system_fingerprint"] for chunk in chunks} == {"c68cf2ecaa94f232"}
    derived = make_writer("maritaca")
    late = [dict(bare_chunk), {**bare_chunk, "system_fingerprint": "c68cf2ecaa94f232"}]
    assert len({derived.chunk(chunk)["system_fingerprint"] for chunk in late}) == 1


@pytest.mark.parametrize("own", ["fp_scripted", "fp_0123456789", "c68cf2ecaa94f2", "c68cf2ecaa94f232x"])
def test_maritacas_fingerprint_is_16_hex_digits_whatever_the_upstreams_is(
    own: str, make_writer: Callable[..., Writer], render: Callable[..., Document], bare_chunk: Document
) -> None:
    writer = make_writer("maritaca")
    first, second = (writer.chunk({**bare_chunk, "system_fingerprint": value}) for value in (own, "fp_other"))
    assert re.fullmatch("[0-9a-f]{16}", first["system_fingerprint"])
    assert second["system_fingerprint"] == first["system_fingerprint"]
    whole = render("maritaca", {**bare_chunk, "choices": whole_choices(), "system_fingerprint": own})
    assert whole["system_fingerprint"] == first["system_fingerprint"]
    other = make_writer("maritaca").chunk({**bare_chunk, "system_fingerprint": own + "y"})
    assert other["system_fingerprint"] != first["system_fingerprint"]


def whole_choices() -> list[Document]:
    return [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]


@pytest.mark.parametrize(("dialect", "expected"), [("openai", "absent"), ("crazyrouter", "absent"), ("skytells", None)])
def test_null_fingerprint_in_a_chunk(
    dialect: str, expected: str | None, make_writer: Callable[..., Writer], bare_chunk: Document
) -> None:
    written = make_writer(dialect).chunk({**bare_chunk, "system_fingerprint": None})
    assert written.get("system_fingerprint", "absent") == expected


# -- logprobs (D6, I4)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("value", ["absent", None, {"content": [], "refusal": None}])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_logprobs_of_chunks(
    dialect: str, value: object, asked: bool, make_writer: Callable[..., Writer], bare_chunk: Document
) -> None:
    if value != "absent":
        bare_chunk["choices"][0]["logprobs"] = value
    choice = make_writer(dialect, {"logprobs": asked}).chunk(bare_chunk)["choices"][0]
    if dialect == "crazyrouter" and not asked:
        assert "logprobs" not in choice
    else:
        assert choice["logprobs"] == (None if value == "absent" else value)


@pytest.mark.parametrize(
    ("value", "asked", "expected"),
    [
        (None, False, "absent"),
        (None, True, None),
        ({"content": [], "refusal": None}, False, {"content": [], "refusal": None}),
        ({"content": [], "refusal": None}, True, {"content": [], "refusal": None}),
    ],
)
def test_crazyrouters_logprobs_in_a_completion(
    value: object, asked: bool, expected: object, render: Callable[..., Document], bare_completion: Document
) -> None:
    bare_completion["choices"][0]["logprobs"] = value
    choice = render("crazyrouter", bare_completion, {"logprobs": asked})["choices"][0]
    assert choice.get("logprobs", "absent") == expected


# -- finish, message, object


@pytest.mark.parametrize(
    ("dialect", "finish"),
    [
        ("openai", "function_call"),
        ("crazyrouter", "tool_calls"),
        ("skytells", "tool_calls"),
        ("maritaca", "tool_calls"),
    ],
)
def test_function_call_is_a_finish_reason_of_openai_only(
    dialect: str,
    finish: str,
    render: Callable[..., Document],
    make_writer: Callable[..., Writer],
    bare_completion: Document,
    bare_chunk: Document,
) -> None:
    bare_completion["choices"][0]["message"]["function_call"] = {"name": "f", "arguments": "{}"}
    written = render(dialect, bare_completion, {"legacy_functions": True})
    assert written["choices"][0]["finish_reason"] == finish
    bare_chunk["choices"][0].update(delta={}, finish_reason="function_call")
    chunk = make_writer(dialect, {"legacy_functions": True}).chunk(bare_chunk)
    assert chunk["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_text_is_null_except_in_maritaca(
    dialect: str, render: Callable[..., Document], bare_completion: Document
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    bare_completion["choices"][0]["message"] = {"role": "assistant", "content": "", "tool_calls": [call]}
    choice = render(dialect, bare_completion)["choices"][0]
    assert choice["message"]["content"] == ("" if dialect == "maritaca" else None)
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(("dialect", "annotations"), [("openai", []), ("skytells", []), ("maritaca", None)])
def test_null_annotations(
    dialect: str, annotations: object, render: Callable[..., Document], bare_completion: Document
) -> None:
    bare_completion["choices"][0]["message"]["annotations"] = None
    assert render(dialect, bare_completion)["choices"][0]["message"]["annotations"] == annotations


def test_maritacas_object_is_a_setting(render: Callable[..., Document], bare_completion: Document) -> None:
    assert render("maritaca", dict(bare_completion))["object"] == "chat_completion"
    dotted = render("maritaca", dict(bare_completion), maritaca_object="chat.completion")
    assert dotted["object"] == "chat.completion"


# -- obfuscation (D8)


def random_text(size: int) -> str:
    return "r" * size


@pytest.mark.parametrize("dialect", DIALECTS)
def test_obfuscation_is_never_there_unasked(
    dialect: str, make_writer: Callable[..., Writer], bare_chunk: Document
) -> None:
    writer = make_writer(dialect, entropy=random_text)
    assert "obfuscation" not in writer.chunk(dict(bare_chunk))
    assert "obfuscation" not in writer.chunk({**bare_chunk, "obfuscation": "upstream's"})


def test_obfuscation_evens_out_sizes(make_writer: Callable[..., Writer], bare_chunk: Document) -> None:
    writer = make_writer("openai", {"include_obfuscation": True, "include_usage": True}, entropy=random_text)
    for text in ("", "a", "four", "x" * 31, "x" * 32, "x" * 100):
        choice = {**bare_chunk["choices"][0], "delta": {"content": text}}
        written = writer.chunk({**bare_chunk, "choices": [choice]})
        assert written["obfuscation"]
        assert (len(text) + len(written["obfuscation"])) % 32 == 0
    usage = writer.usage_chunk(envelope(), dict(USAGE))
    assert usage is not None
    assert usage["obfuscation"]


def test_obfuscation_asked_for_elsewhere_passes_through(
    make_writer: Callable[..., Writer], bare_chunk: Document
) -> None:
    asked = {"include_obfuscation": True}
    writer = make_writer("crazyrouter", asked, entropy=random_text)
    assert writer.chunk({**bare_chunk, "obfuscation": "up"})["obfuscation"] == "up"
    assert "obfuscation" not in writer.chunk(dict(bare_chunk))
    assert "obfuscation" not in make_writer("openai", asked, entropy=None).chunk(dict(bare_chunk))
