"""A plain answer is what the whole way would write, and what is told of it is what the whole way tells."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import conform
from antiphon.chat.event import decode
from antiphon.chat.moderated_text import answer_texts
from antiphon.chat.plain_answer import PlainAnswer, annotated, judged_texts, read_plain, says_once
from antiphon.chat.request import parse
from antiphon.dialects import DIALECTS, WriteOptions
from tests.chat.spellings import Spelling, edited, strictly

STAMP = AnswerDefaults("target", 1_700_000_000, DIALECTS["openai"].keeps_id, lambda: "chatcmpl-new", lambda: "call_new")
OPTIONS = WriteOptions(strict=False, target="up/target")
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
NAMED: dict[str, Any] = {"tool_choice": {"type": "function", "function": {"name": "f"}}}
USAGE: dict[str, Any] = {
    "prompt_tokens": 1,
    "completion_tokens": 2,
    "total_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
PROMPT: list[Any] = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}]
CHOICE: dict[str, Any] = {"hate": {"filtered": False, "severity": "low"}}


def call(id: str = "call_1", arguments: str = '{"a": 1}') -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def answer(finish: str = "stop", **message: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": "Hi", "refusal": None, "annotations": [], **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": finish}],
        "usage": deepcopy(USAGE),
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }


USUAL = [
    answer(),
    answer("length"),
    answer(content=None, refusal="No."),
    answer("tool_calls", content=None, tool_calls=[call(), call("call_2", "{}")]),
    answer("tool_calls", content='Let me see: "usage"', tool_calls=[{**call(), "index": 0}]),
    {**answer(), "x_new": {"a": [1.5, None]}},
]
NAMES = tuple(
    """id object created model choices usage system_fingerprint error type status index message finish_reason logprobs
    native_finish_reason content_filter_results prompt_filter_results role content refusal annotations tool_calls
    function_call audio reasoning reasoning_content reasoning_details thinking thoughts x_new prompt_tokens
    completion_tokens total_tokens cached_tokens obfuscation detail base_resp success function custom name arguments
    input input_tokens output_tokens""".split()  # noqa: SIM905 - words are easier to read
)
SEEDS = st.integers(0, 2**64)


def assert_equal(body: bytes, plain: PlainAnswer, named: bool) -> None:
    """Reads and writes the answer the whole way."""
    asked = parse({**ASKED, **(NAMED if named else {})}, strict=False)
    answered = conform(decode(body), asked, STAMP)
    assert answered.usage is not None
    assert answered.upstream_id is None
    assert answered.usage["prompt_tokens"] == plain.usage.prompt_tokens
    assert answered.usage["completion_tokens"] == plain.usage.completion_tokens
    assert answer_texts(answered.document["choices"][0]["message"]) == judged_texts(plain)
    written = DIALECTS["openai"].writer(asked, OPTIONS).completion(answered.document, answered.usage)
    assert written == decode(body)


def assert_annotated_alike(body: bytes, plain: PlainAnswer) -> None:
    out = annotated(body, plain, PROMPT, CHOICE)
    if out is None:
        return
    document, expected = json.loads(out), json.loads(body)
    expected["choices"][0]["content_filter_results"] = CHOICE
    expected["prompt_filter_results"] = PROMPT
    assert document == expected
    keys = list(document)
    assert keys[keys.index("prompt_filter_results") + 1] == "usage"
    assert list(document["choices"][0])[-1] == "content_filter_results"


@settings(max_examples=800, deadline=None)
@given(SEEDS)
def test_a_plain_answer_is_what_the_whole_way_would_write(seed: int) -> None:
    random = Random(seed)
    document = edited(random.choice(USUAL), random, NAMES, random.choice([0, 1, 1, 2, 3]))
    body = Spelling(random, random.choice([0, 0, 0.01, 0.05])).write(document)
    named = random.random() < 0.5
    plain = read_plain(body, named_tool=named)
    if plain is not None and DIALECTS["openai"].keeps_id(plain.id):
        assert_equal(body, plain, named)
        assert_annotated_alike(body, plain)


@settings(max_examples=400, deadline=None)
@given(SEEDS)
def test_what_was_judged_is_all_that_a_client_can_read(seed: int) -> None:
    """Whichever of two keys a client goes by."""
    random = Random(seed)
    body = Spelling(random, 0.04).write(edited(random.choice(USUAL), random, NAMES, random.choice([0, 0, 1])))
    plain = read_plain(body)
    if plain is None or not says_once(body, plain):
        return
    first = json.loads(body, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert answer_texts(first["choices"][0]["message"]) == judged_texts(plain)


@pytest.mark.parametrize("document", USUAL)
@pytest.mark.parametrize("indent", [None, 2])
def test_usual_answers_are_plain_and_can_be_annotated(document: dict[str, Any], indent: int | None) -> None:
    """Otherwise the tests above would prove nothing."""
    body = json.dumps(document, indent=indent).encode()
    plain = read_plain(body)
    assert plain is not None
    assert_equal(body, plain, False)
    assert annotated(body, plain, PROMPT, CHOICE) is not None
    assert_annotated_alike(body, plain)


def test_the_findings_stand_where_the_seed_has_them() -> None:
    body = json.dumps(answer(), separators=(",", ":")).encode()
    plain = read_plain(body)
    assert plain is not None
    out = annotated(body, plain, [1], {"a": 2})
    assert out is not None
    assert b'"finish_reason":"stop","content_filter_results":{"a":2}}],"prompt_filter_results":[1],"usage":{' in out
    assert strictly(
        out.replace(b',"content_filter_results":{"a":2}', b"").replace(b'"prompt_filter_results":[1],', b"")
    )


@pytest.mark.parametrize(
    "other",
    [
        {**answer(), "prompt_filter_results": []},
        {**answer(), "x": {"usage": 1}},
        {**answer(), "x": ["usage"]},
        {**answer(), "x": {"content": "other"}},
    ],
)
def test_where_it_is_not_plain_where_they_stand_there_are_none(other: dict[str, Any]) -> None:
    body = json.dumps(other).encode()
    plain = read_plain(body)
    assert plain is not None
    assert annotated(body, plain, PROMPT, CHOICE) is None


@pytest.mark.parametrize(
    "other",
    [
        answer("tool_calls"),
        answer("tool_calls", tool_calls=[]),
        answer("stop", tool_calls=[call()]),
        answer("length", tool_calls=[call()]),
        answer("function_call", function_call={"name": "f", "arguments": "{}"}),
        answer(content=None),
        answer(content=""),
        answer(refusal=""),
        answer("tool_calls", tool_calls=[call(), call()]),
        answer("tool_calls", tool_calls=[call("")]),
        answer("tool_calls", tool_calls=[call(arguments="")]),
        answer("tool_calls", tool_calls=[call(arguments=" ")]),
        answer("tool_calls", tool_calls=[call(arguments="[]")]),
        answer("tool_calls", tool_calls=[call(arguments='{"a":')]),
        answer("tool_calls", tool_calls=[call(arguments='{}{"a": 1}')]),
        answer("tool_calls", tool_calls=[{**call(), "type": "custom"}]),
        answer(reasoning_content="x"),
        answer(thinking="x"),
    ],
)
def test_anything_else_is_not(other: dict[str, Any]) -> None:
    assert read_plain(json.dumps(other).encode()) is None


def test_a_named_tools_call_ends_with_stop() -> None:
    body = json.dumps(answer("stop", content=None, tool_calls=[call()])).encode()
    assert read_plain(body) is None
    plain = read_plain(body, named_tool=True)
    assert plain is not None
    assert_equal(body, plain, True)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 9999])
def test_what_is_no_json_is_not(body: bytes) -> None:
    assert read_plain(body) is None


def test_an_answer_with_broken_characters_is_not() -> None:
    body = json.dumps({**answer(), "x_new": "@"}).encode()
    assert read_plain(body) is not None
    assert read_plain(body.replace(b"@", b"\xff")) is None
    assert read_plain(body.replace(b"@", "é".encode())) is not None
