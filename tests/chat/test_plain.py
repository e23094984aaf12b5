"""The shortcuts take only what the whole way would leave as it is."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat import plain_answer, plain_request
from antiphon.chat.completion import conform
from antiphon.chat.request import parse
from antiphon.chat.stamp import Stamp
from antiphon.dialects import DIALECTS, WriteOptions

STAMP = Stamp("target", 1_700_000_000, DIALECTS["openai"].keeps_id, lambda: "chatcmpl-new", lambda: "call_new")
OPTIONS = WriteOptions(strict=False, target="up/target")
DETAILS = {
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}


def answer() -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, **deepcopy(DETAILS)},
        "system_fingerprint": "fp_1",
    }


def request() -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5, "max_tokens": 5}


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        0.5,
        1e30,
        2**63,
        "",
        "x",
        "stop",
        "tool_calls",
        "assistant",
        [],
        {},
        [{}],
        [1],
        {"a": 1},
    ]
)
PATHS = [
    (),
    ("choices",),
    ("choices", 0),
    ("choices", 0, "message"),
    ("usage",),
    ("usage", "prompt_tokens_details"),
    ("messages",),
    ("messages", 0),
]
NAMES = """
id object created model choices usage system_fingerprint service_tier
error type status index message finish_reason logprobs native_finish_reason
content_filter_results role content refusal annotations tool_calls function_call audio
reasoning reasoning_content x_new prompt_tokens completion_tokens total_tokens cached_tokens obfuscation
detail base_resp success messages temperature top_p max_tokens max_completion_tokens
n seed stop user stream stream_options tools tool_choice
response_format name tool_call_id metadata top_logprobs logit_bias frequency_penalty presence_penalty
functions modalities store moderation verbosity
""".split()  # noqa: SIM905 - words are easier to read
EDITS = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(NAMES), ODD, st.booleans()), max_size=3)


def edited(document: dict[str, Any], edits: list[Any]) -> dict[str, Any]:
    """Sets or deletes keys at places of the document, where those places exist."""
    document = deepcopy(document)
    for path, name, value, deletes in edits:
        place: Any = document
        for step in path:
            inside = (isinstance(place, dict) and step in place) or (isinstance(place, list) and step == 0 and place)
            place = place[step] if inside else None
        if isinstance(place, dict):
            if deletes:
                place.pop(name, None)
            else:
                place[name] = value
    return document


@settings(max_examples=600, deadline=None)
@given(EDITS)
def test_a_plain_answer_is_what_the_whole_way_would_write(edits: list[Any]) -> None:
    body = msgspec.json.encode(edited(answer(), edits))
    plain = plain_answer.read_plain(body)
    if plain is None or not DIALECTS["openai"].keeps_id(plain.id):
        return
    asked = parse(request(), strict=False)
    document = msgspec.json.decode(body)
    answered = conform(document, asked, STAMP)
    assert answered.usage is not None
    written = DIALECTS["openai"].writer(asked, OPTIONS).completion(answered.document, answered.usage)
    assert written == msgspec.json.decode(body)
    assert answered.upstream_id is None


@settings(max_examples=600, deadline=None)
@given(EDITS)
def test_a_plain_request_is_one_that_parse_takes_unchanged(edits: list[Any]) -> None:
    body = msgspec.json.encode(edited(request(), edits))
    plain = plain_request.read_plain(body)
    if plain is None:
        return
    document = msgspec.json.decode(body)
    asked = parse(document, strict=False)
    assert document == msgspec.json.decode(body)
    assert (asked.model, asked.stream, asked.n) == (plain.model, False, 1)
    assert not any((asked.include_usage, asked.logprobs, asked.named_tool, asked.legacy_functions))


def test_usual_answers_and_requests_are_plain() -> None:
    """Otherwise the tests above would prove nothing."""
    assert plain_answer.read_plain(json.dumps(answer()).encode()) is not None
    assert plain_answer.read_plain(json.dumps({**answer(), "x_new": {"a": 1}}).encode()) is not None
    assert plain_request.read_plain(json.dumps(request()).encode()) is not None
    assert plain_request.read_plain(json.dumps({**request(), "stream": False, "user": "u"}).encode()) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"stream": True},
        {"n": 2},
        {"n": 1},
        {"tools": []},
        {"temperature": 3},
        {"temperature": "1"},
        {"max_tokens": -1},
        {"messages": []},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user", "content": None}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        {"model": ""},
        {"x_unknown": 1},
        {"model": 5},
    ],
)
def test_anything_else_is_not(change: dict[str, Any]) -> None:
    assert plain_request.read_plain(json.dumps({**request(), **change}).encode()) is None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model":"\\ud800","messages":[]}', b"\xff", b"[" * 9999])
def test_what_is_no_json_is_not_plain(body: bytes) -> None:
    assert plain_request.read_plain(body) is None
    assert plain_answer.read_plain(body) is None


MODEL_PLACES = st.sampled_from(["model", "user", "x", "metadata"])


@settings(max_examples=400, deadline=None)
@given(
    st.text(min_size=1, max_size=8),
    st.text(max_size=12),
    st.dictionaries(MODEL_PLACES, st.text(max_size=8), max_size=3),
    st.sampled_from([None, 1]),
)
def test_only_the_models_name_changes(model: str, text: str, more: dict[str, str], indent: int | None) -> None:
    document = {"x_first": more, "model": model, "messages": [{"role": "user", "content": text}], "x_last": [more]}
    body = json.dumps(document, indent=indent, ensure_ascii=False).encode()
    changed = plain_request.with_model(body, model, b"target")
    if changed is not None:
        assert json.loads(changed) == {**document, "model": "target"}


def test_the_models_name_is_usually_found() -> None:
    body = json.dumps(request()).encode()
    assert plain_request.with_model(body, "m", b"target") is not None


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"zz":"\xff"}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"zz":1e400}',
        b'{"model":"m","messages":[{"role":"user","content":"x","zz":"\xff"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"messages":[{"role":"user","content":"y"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"x","content":"y"}]}',
        b'{"model":"m","messages":[{"role":"user","role":"system","content":"x"}]}',
    ],
)
def test_what_is_skipped_or_said_twice_is_not_plain(body: bytes) -> None:
    assert plain_request.read_plain(body) is None


def test_an_answer_with_broken_characters_is_not_plain() -> None:
    body = json.dumps({**answer(), "x_new": "@"}).encode()
    assert plain_answer.read_plain(body) is not None
    assert plain_answer.read_plain(body.replace(b"@", b"\xff")) is None
    assert plain_answer.read_plain(body.replace(b"@", "é".encode())) is not None
