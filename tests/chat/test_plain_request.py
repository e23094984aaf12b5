"""A plain request is one that the whole way would take as it is; and what is sent of it is what the whole way sends."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.moderated_text import message_words, newest_first, prompt_texts
from antiphon.chat.plain_fields import FIELDS
from antiphon.chat.plain_request import PlainRequest, judged_texts, read_plain, write_plain
from antiphon.chat.request import decode, parse
from antiphon.chat.tools import tool_names
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.prepare import plain_rules, prepare
from tests.chat.spellings import Spelling, edited, strictly

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather: here, now",
        "parameters": {
            "type": "object",
            "properties": {"model": {"type": "string"}, "days": {"type": "number", "minimum": 0.5, "maximum": 1e3}},
            "required": ["model"],
        },
        "strict": False,
    },
}
CALL: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"model":"m"}'},
}
HISTORY: list[dict[str, Any]] = [
    {"role": "developer", "content": [{"type": "text", "text": "Be brief: yes"}], "name": "d"},
    {"role": "user", "content": "Weather, as json?"},
    {"role": "assistant", "content": None, "refusal": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
    {"role": "tool", "tool_call_id": "call_1", "content": '{"t": 21}'},
    {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "rain"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Fine"}, {"type": "refusal", "refusal": "No."}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And this? é \n"},
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file-1", "filename": None}},
        ],
    },
]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}
USUAL: list[dict[str, Any]] = [
    {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    {
        "model": "m",
        "messages": [{"role": "system", "content": ""}, {"role": "user", "content": "Hi"}],
        "temperature": 0.5,
        "top_p": 1,
        "max_tokens": 5,
        "max_completion_tokens": 7,
        "frequency_penalty": -0.5,
        "presence_penalty": 0.0,
        "seed": 0,
        "stop": ["a", "b"],
        "n": 1,
        "user": None,
        "stream": False,
    },
    {"messages": HISTORY, "model": "m", "stream": True, "tools": [TOOL], "tool_choice": "auto"},
    {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": HISTORY[:2],
        "response_format": {"type": "json_object"},
        "logprobs": True,
        "top_logprobs": 3,
        "logit_bias": {"50256": -100},
        "modalities": ["text"],
    },
    {
        "messages": HISTORY[:2],
        "model": "m",
        "tools": [TOOL, {"type": "function", "function": {"name": "f"}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": False,
        "response_format": SCHEMA,
        "metadata": {"user": "m", "model": "m"},
        "store": True,
        "stream_options": {"include_obfuscation": True, "include_usage": False},
        "stream": True,
    },
    {
        "reasoning_effort": "low",
        "verbosity": "high",
        "service_tier": "auto",
        "safety_identifier": "s",
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
        "stop": "x",
        "stream_options": None,
        "model": "m",
        "messages": HISTORY[:1],
    },
]
SEEDS = st.integers(0, 2**64)
INSIDE = ("role", "content", "name", "refusal", "tool_calls", "tool_call_id", "type", "text", "image_url", "function")
NAMES = (*sorted(FIELDS), *INSIDE, "functions", "function_call", "reasoning_content", "x_new", "arguments", "url", "id")


def some_body(random: Random) -> bytes:
    document = edited(random.choice(USUAL), random, NAMES, random.choice([0, 0, 1, 1, 2, 4]))
    return Spelling(random, random.choice([0, 0, 0.01, 0.05])).write(document)


def assert_equal(body: bytes, plain: PlainRequest) -> None:
    """Reads the body the whole way."""
    document = decode(body)
    asked = parse(document, strict=False)
    assert document == decode(body), "parse would have edited it"
    for name in ("model", "stream", "n", "include_usage", "include_obfuscation", "logprobs", "named_tool"):
        assert getattr(plain, name) == getattr(asked, name), name
    assert asked.legacy_functions is plain.legacy_functions is False
    assert plain.present == document.keys()
    assert plain.tool_names == tool_names(document.get("tools"))
    messages = document["messages"]
    texts, roles, calls = judged_texts(plain)
    assert texts == ["\n".join(message_words(message)) for message in messages]
    assert roles == [message["role"] for message in messages]
    assert newest_first(texts, roles, calls) == prompt_texts({"messages": messages})


def assert_sent_alike(body: bytes, plain: PlainRequest, lacks: frozenset[str]) -> None:
    for row in CATALOG.values():
        for model in ("target", plain.model):
            rules = plain_rules(row, row.lacks | lacks)
            if rules is None or not rules.takes(plain):
                continue
            document, changes, _ = prepare(decode(body), model, row, row.lacks | lacks, strict=False)
            assert strictly(rules.write(plain, model)) == json.loads(msgspec.json.encode(document))
            named = {change.param for change in changes}
            assert named <= {"model", "stream_options.include_usage"}


@settings(max_examples=600, deadline=None)
@given(SEEDS)
def test_a_plain_request_is_what_the_whole_way_would_take_and_send(seed: int) -> None:
    random = Random(seed)
    body = some_body(random)
    plain = read_plain(body)
    if plain is not None:
        assert_equal(body, plain)
        assert_sent_alike(body, plain, frozenset(random.sample(sorted(FIELDS), random.randrange(2))))


@pytest.mark.parametrize("document", USUAL)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_usual_requests_are_plain_and_can_be_sent(document: dict[str, Any], separators: tuple[str, str]) -> None:
    """Otherwise the test above would prove nothing."""
    body = json.dumps(document, separators=separators, ensure_ascii=False).encode()
    plain = read_plain(body)
    assert plain is not None
    assert_equal(body, plain)
    assert_sent_alike(body, plain, frozenset())


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(USUAL), st.text(max_size=30), st.booleans(), SEEDS)
def test_any_text_may_stand_in_it(document: dict[str, Any], text: str, is_ascii: bool, seed: int) -> None:
    document = deepcopy(document)
    Random(seed).choice(document["messages"])["content"] = text + " json"
    body = json.dumps(document, separators=(",", ":"), ensure_ascii=is_ascii).encode()
    plain = read_plain(body)
    assert plain is not None
    assert_equal(body, plain)
    assert_sent_alike(body, plain, frozenset())


@pytest.mark.parametrize(
    "change",
    [
        {"n": 2},
        {"temperature": 3},
        {"temperature": "1"},
        {"max_tokens": -1},
        {"max_tokens": 1.0},
        {"messages": []},
        {"messages": [{"role": "tool", "content": "x", "tool_call_id": "call_1"}]},
        {"messages": HISTORY[:3]},
        {"messages": [{"role": "assistant", "tool_calls": []}]},
        {"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        {"messages": [{"role": "user", "content": "x", "reasoning_content": "y"}]},
        {"model": ""},
        {"model": 5},
        {"x_unknown": 1},
        {"functions": [{"name": "f"}]},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "function", "function": {"name": "f\n"}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}]},
        {"tools": [{"type": "web_search"}]},
        {"tool_choice": "any"},
        {"stream_options": {"include_usage": True}},
        {"top_logprobs": 1},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a b"}}},
        {"metadata": {"a": 1}},
        {"stop": ["a"] * 5},
        {"reasoning_effort": "default"},
    ],
)
def test_anything_else_is_not(change: dict[str, Any]) -> None:
    assert read_plain(json.dumps({**USUAL[0], **change}, separators=(",", ":")).encode()) is None


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"\xff", b"[" * 9999, b'{"model":"\\ud800","messages":[]}'),
        b'\xef\xbb\xbf{"model":"m","messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"zz":"\xff"}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"zz":1e400}',
        b'{"model":"m","messages":[{"role":"user","content":"x","zz":"\xff"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"\xff"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f",'
        b'"parameters":{"maximum":1e400}}}]}',
    ],
)
def test_what_is_no_json_or_skipped_is_not(body: bytes) -> None:
    assert read_plain(body) is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"messages":[{"role":"user","content":"y"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"x","content":"y"}]}',
        b'{"model":"m","messages":[{"role":"user","role":"system","content":"x"}]}',
        b'{"model":"m","m\\u006fdel":"n","messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m" ,"model" : "n","messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"user":"a","user":"b"}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f",'
        b'"parameters":{"maximum":1e6,"a":1,"a":2}}}]}',
    ],
)
def test_of_a_key_that_stands_twice_the_one_that_was_read_is_sent(body: bytes) -> None:
    plain = read_plain(body)
    assert plain is not None
    assert_equal(body, plain)
    assert_sent_alike(body, plain, frozenset())


@pytest.mark.parametrize(
    ("own", "usage", "quiet", "expected"),
    [
        (..., True, True, {"include_usage": True, "include_obfuscation": False}),
        (..., True, False, {"include_usage": True}),
        (..., False, False, ...),
        (None, True, True, {"include_usage": True, "include_obfuscation": False}),
        ({}, True, False, {"include_usage": True}),
        ({"include_usage": False}, True, True, {"include_usage": True, "include_obfuscation": False}),
        ({"include_obfuscation": True}, True, True, {"include_usage": True, "include_obfuscation": True}),
        ({"include_obfuscation": None}, True, False, {"include_usage": True, "include_obfuscation": None}),
        ({"include_obfuscation": None}, True, True, {"include_usage": True, "include_obfuscation": False}),
    ],
)
def test_a_streams_usage_is_asked_for_and_its_obfuscation_is_not(
    own: Any, usage: bool, quiet: bool, expected: Any
) -> None:
    document = {**USUAL[0], "stream": True} | ({} if own is ... else {"stream_options": own})
    plain = read_plain(json.dumps(document).encode())
    assert plain is not None
    for _ in range(2):  # for a second target, too
        sent = write_plain(plain, "target", usage=usage, quiet=quiet)
        wanted = {**document, "model": "target"} | ({} if expected is ... else {"stream_options": expected})
        assert strictly(sent) == wanted
        assert write_plain(plain, "m", usage=False, quiet=False) is not None
    assert strictly(write_plain(plain, "m", usage=False, quiet=False)) == document
