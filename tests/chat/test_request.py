"""A request that is good: what it says, that it stays as it was sent; which of two faults is named; any JSON at all."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.fields import FIELDS, NEEDS
from antiphon.chat.request import ChatRequest, decode, parse
from antiphon.errors import AntiphonError, RequestError

USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def good(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [dict(USER)], **changes}


def param(document: dict[str, Any], strict: bool = False) -> str | None:
    with pytest.raises(RequestError) as caught:
        parse(document, strict=strict)
    return caught.value.param


# Reading the body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b'"text"',
        b"null",
        b"1",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b'{"model":"m"} trailing',
        b'{"seed":' + b"9" * 10_000 + b"}",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        decode(body)
    error = caught.value
    assert error.message.startswith("We could not parse the JSON body of your request. (HINT: ")
    assert (error.status, error.type, error.param, error.code) == (400, "invalid_request_error", None, None)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000])
def test_a_body_that_is_too_deep_says_so(body: bytes) -> None:
    with pytest.raises(RequestError, match="nested too deeply") as caught:
        decode(body)
    error: AntiphonError = caught.value
    assert (error.status, error.code) == (400, "json_too_deep")


def test_a_byte_order_mark_before_the_body_is_skipped() -> None:
    assert decode(b'\xef\xbb\xbf{"model":"m"}') == {"model": "m"}


def test_of_a_repeated_key_the_last_one_counts() -> None:
    body = b'{"model":"a","n":"x","model":"b","n":2,"messages":[{"role":"user","content":"hi"}]}'
    request = parse(decode(body), strict=True)
    assert (request.model, request.n) == ("b", 2)


def test_a_seed_survives_to_the_last_bit() -> None:
    document = decode(b'{"model":"m","messages":[{"role":"user"}],"seed":9223372036854775807}')
    assert parse(document, strict=True).document["seed"] == 2**63 - 1


# What a request says


def test_defaults() -> None:
    document = good()
    assert parse(document, strict=False) == ChatRequest(
        source=document,
        model="m",
        stream=False,
        n=1,
        include_usage=False,
        include_obfuscation=False,
        logprobs=False,
        named_tool=False,
        legacy_functions=False,
    )


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"stream": True}, "stream", True),
        ({"stream": None}, "stream", False),
        ({"n": 3}, "n", 3),
        ({"n": None}, "n", 1),
        ({"stream": True, "stream_options": {"include_usage": True}}, "include_usage", True),
        ({"stream": True, "stream_options": {"include_usage": None}}, "include_usage", False),
        ({"stream": True, "stream_options": {}}, "include_usage", False),
        ({"stream": False, "stream_options": None}, "include_usage", False),
        ({"stream": True, "stream_options": {"include_obfuscation": True}}, "include_obfuscation", True),
        ({"logprobs": True, "top_logprobs": 0}, "logprobs", True),
        ({"logprobs": False}, "logprobs", False),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "named_tool", True),
        ({"tool_choice": {"type": "custom", "custom": {"name": "c"}}}, "named_tool", True),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
            "named_tool",
            False,
        ),
        ({"tool_choice": "required"}, "named_tool", False),
        ({"function_call": {"name": "f"}}, "named_tool", True),
        ({"function_call": "auto"}, "named_tool", False),
        ({"functions": [{"name": "f"}]}, "legacy_functions", True),
        (
            {"functions": [{"name": "f"}], "tools": [{"type": "function", "function": {"name": "f"}}]},
            "legacy_functions",
            False,
        ),
        ({"functions": None}, "legacy_functions", False),
    ],
)
def test_what_is_asked_for_is_read(changes: dict[str, Any], field: str, value: object) -> None:
    assert getattr(parse(good(**changes), strict=True), field) == value


# What is accepted, and that it stays as sent

EVERYTHING: dict[str, Any] = {
    "model": "org/a:b",
    "audio": {"format": "wav", "voice": {"id": "v"}},
    "frequency_penalty": -2,
    "function_call": "none",
    "functions": [{"name": "f", "description": "d", "parameters": {}}],
    "logit_bias": {"1": -100, "2": 100, "3": 0},
    "logprobs": True,
    "max_completion_tokens": 1,
    "max_tokens": 0,
    "messages": [
        {"role": "developer", "content": [{"type": "text", "text": "answer in JSON"}]},
        {"role": "system", "content": "s", "name": "n"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
                {"type": "file", "file": {"filename": "f", "file_data": "x"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "annotations": [],
            "audio": None,
            "function_call": None,
            "tool_calls": [CALL, {"id": "c2", "type": "custom", "custom": {"name": "c", "input": ""}}],
        },
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "r"}]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "audio": {"id": "a"}},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": None},
    ],
    "metadata": {str(i): "v" for i in range(16)},
    "modalities": ["text", "audio"],
    "moderation": {"model": "m", "policy": {"input": {"mode": "block"}, "output": {"mode": "score"}}},
    "n": 128,
    "parallel_tool_calls": False,
    "prediction": {"type": "content", "content": [{"type": "text", "text": "x"}]},
    "presence_penalty": 2.0,
    "prompt_cache_key": "",
    "prompt_cache_options": {"ttl": "30m", "mode": "implicit"},
    "prompt_cache_retention": "24h",
    "reasoning_effort": "xhigh",
    "response_format": {"type": "json_object"},
    "safety_identifier": "x" * 64,
    "seed": -(2**63),
    "service_tier": "fast",
    "stop": ["a", "b", "c", "d"],
    "store": False,
    "stream": True,
    "stream_options": {"include_usage": False, "include_obfuscation": False},
    "temperature": 0,
    "tool_choice": "auto",
    "tools": [
        {"type": "function", "function": {"name": "f-_9", "strict": None, "parameters": {"type": "object"}}},
        {
            "type": "custom",
            "custom": {"name": "c", "format": {"type": "grammar", "grammar": {"definition": "d", "syntax": "lark"}}},
        },
    ],
    "top_logprobs": 20,
    "top_p": 0,
    "user": "",
    "verbosity": "low",
    "web_search_options": {
        "search_context_size": "low",
        "user_location": {"type": "approximate", "approximate": {"city": "x"}},
    },
}

VENDORS: list[dict[str, Any]] = [
    {"top_k": 5, "min_p": 0.1, "chat_template_kwargs": {"enable_thinking": False}, "thinking": {"type": "enabled"}},
    {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "u"}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "e"}}]}]},
    {"messages": [{"role": "assistant", "content": "x", "reasoning_content": "y", "prefix": True}]},
    {"messages": [{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "user", "content": None}]},
    {"messages": [{"role": "system", "content": ""}]},
    {"tools": [{"type": "web_search"}, {"type": "builtin_function", "function": {"name": "$web_search"}}]},
    {"tools": []},
    {"tool_choice": "any"},
    {"tool_choice": {"type": "tool", "name": "f"}},
    {"stream": True, "stream_options": {"continuous_usage_stats": True}},
    {"reasoning_effort": "default", "service_tier": "on_demand", "verbosity": "max", "modalities": ["image", "text"]},
    {"response_format": {"type": "structural_tag", "structures": []}},
    {"response_format": {"type": "json_object", "schema": {}}, "messages": [{"role": "user", "content": "a Json"}]},
    {"web_search_options": {"user_location": {"country": "BR"}}},
    {"logit_bias": {"word": -1}},
    {"stop": []},
    {"stop": ""},
    {"messages": [USER, {"role": "assistant", "tool_calls": None, "content": "x"}]},
]


@pytest.mark.parametrize("strict", [False, True])
def test_every_field_in_all_its_forms_is_accepted_and_left_alone(strict: bool) -> None:
    assert set(EVERYTHING) == {*FIELDS, "model"}
    document = copy.deepcopy(EVERYTHING)
    assert parse(document, strict=strict).document is document
    assert json.dumps(document) == json.dumps(EVERYTHING)


@pytest.mark.parametrize("changes", VENDORS)
def test_what_vendors_add_travels_unchanged(changes: dict[str, Any]) -> None:
    document = good(**copy.deepcopy(changes))
    before = json.dumps(document)
    parse(document, strict=False)
    assert json.dumps(document) == before


def test_every_optional_field_may_be_null_and_stays_null() -> None:
    nulls = {name: None for name in FIELDS if name != "messages"}
    document = good(**nulls)
    before = json.dumps(document)
    parse(document, strict=True)
    assert json.dumps(document) == before


@pytest.mark.parametrize("strict", [False, True])
def test_an_empty_list_of_calls_is_taken_out_of_the_history(strict: bool) -> None:
    document = good(messages=[USER, {"role": "assistant", "content": "x", "tool_calls": []}, USER])
    parse(document, strict=strict)
    assert document["messages"] == [USER, {"role": "assistant", "content": "x"}, USER]


def test_the_word_json_may_stand_in_any_text_of_the_conversation() -> None:
    wanted = {"response_format": {"type": "json_object"}}
    for content in ("as JSON", [{"type": "text", "text": "x"}, {"type": "text", "text": "jsonl?"}]):
        parse(good(**wanted, messages=[{"role": "system", "content": content}, USER]), strict=True)
    silent = good(**wanted, messages=[USER, {"role": "assistant"}])
    assert param(silent, strict=True) == "messages"
    parse(silent, strict=False)  # whether it needs the word, the upstream says (decision 24)


# Which of two faults is named


def test_the_rows_stand_in_the_order_faults_are_named_in() -> None:
    assert list(FIELDS) == sorted(FIELDS)
    assert set(NEEDS) <= set(FIELDS)


def test_model_comes_before_messages_before_unknown_keys_before_fields() -> None:
    faults: dict[str, Any] = {"temperature": 9, "zeta": 1, "alpha": 1, "messages": "x", "model": 5}
    assert param(dict(faults), strict=True) == "model"
    faults["model"] = "m"
    assert param(dict(faults), strict=True) == "messages"
    faults["messages"] = [{"role": "nobody"}]
    assert param(dict(faults), strict=True) == "zeta"  # unknown keys as they stand in the document
    del faults["zeta"]
    assert param(dict(faults), strict=True) == "alpha"
    assert param(dict(faults), strict=False) == "messages[0].role"
    faults["messages"] = [USER]
    assert param(dict(faults), strict=False) == "temperature"


def test_fields_are_named_alphabetically_wherever_they_stand() -> None:
    assert param(good(temperature=9, n=0)) == "n"
    assert param(good(n=0, temperature=9)) == "n"
    assert param(good(messages=[{"role": "x"}], logprobs=1)) == "logprobs"
    assert param(good(messages=[{"role": "x"}], n=0)) == "messages[0].role"
    assert param(good(stream_options={"include_usage": True}, seed="x")) == "seed"
    assert param(good(top_logprobs=5, temperature=9)) == "temperature"
    assert param(good(top_logprobs=5, top_p=9)) == "top_logprobs"


# Any JSON at all

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 2**63, 10**400]),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(["user", "tool", "assistant", "function", "custom", "text", "image_url", "json_object", "auto"]),
)
NAMES = st.one_of(
    st.text(max_size=4),
    st.sampled_from(["type", "role", "content", "tool_calls", "tool_call_id", "id", "function", "name", "arguments"]),
    st.sampled_from(["parameters", "json_schema", "text", "custom", "include_usage", "policy", "input", "mode"]),
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def attempt(document: dict[str, Any], strict: bool) -> ChatRequest | RequestError:
    """Whatever else is raised fails the test."""
    try:
        return parse(document, strict=strict)
    except RequestError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(fields=st.dictionaries(st.sampled_from(sorted(FIELDS)) | NAMES, ANYTHING, max_size=4), strict=st.booleans())
def test_no_document_gives_anything_but_a_request_or_a_request_error(fields: dict[str, Any], strict: bool) -> None:
    outcome = attempt({"model": "m", "messages": [dict(USER)], **fields}, strict)
    if isinstance(outcome, ChatRequest):
        assert 1 <= outcome.n <= 128
    else:
        assert (outcome.status, outcome.type) == (400, "invalid_request_error")


@settings(max_examples=300, deadline=None)
@given(messages=st.lists(st.dictionaries(NAMES, ANYTHING, max_size=5) | ANYTHING, max_size=4), strict=st.booleans())
def test_no_conversation_does_either(messages: list[Any], strict: bool) -> None:
    outcome = attempt({"model": "m", "messages": messages}, strict)
    if isinstance(outcome, RequestError):
        assert str(outcome.param).startswith("messages")


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=40))
def test_no_bytes_do_either(body: bytes) -> None:
    try:
        document = decode(body)
    except RequestError:
        return
    attempt(document, strict=False)


def test_deep_nesting_in_an_unknown_field_is_no_matter() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    parse(good(vendor=deep), strict=False)
    assert param(good(n=deep)) == "n"
    assert param(good(messages=[{"role": "user", "content": deep}])) == "messages[0].content[0]"
    while deep != 1:
        deep = deep[0]  # taken apart by hand: freeing it whole would recurse in C
