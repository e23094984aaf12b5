"""Whatever JSON an upstream answers: an answer with what every dialect promises, or the upstream's fault."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import chunks, conform, merge
from antiphon.chat.finish import FINISH_REASONS
from antiphon.chat.request import ChatRequest
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError

Document = dict[str, Any]

ASKED = ChatRequest({}, "alias", False, 2, True, False, False, False, False)
STAMP = AnswerDefaults("target", 1_700_000_000, DIALECTS["openai"].keeps_id, lambda: "chatcmpl-new", lambda: "call_new")

leaves = st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False) | st.text(max_size=5)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    """Objects that may lack any field, and now and then hold anything in one."""
    return st.fixed_dictionaries({}, optional={key: mostly(value) for key, value in fields.items()})


def mostly(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 15).flatmap(lambda draw: value if draw else anything)


def whole(
    required: dict[str, st.SearchStrategy[Any]], others: st.SearchStrategy[Document]
) -> st.SearchStrategy[Document]:
    """With these fields always there: without them nearly every example would only be refused."""
    return st.builds(lambda first, rest: {**rest, **first}, st.fixed_dictionaries(required), others)


def lists(entries: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(entries, max_size=3)


severities = objects(filtered=st.booleans(), severity=st.sampled_from(["safe", "high"]))
results = objects(hate=severities, violence=severities, jailbreak=severities, error=objects(code=st.just("")))
functions = objects(name=st.just("f"), arguments=st.just("{}"))
calls = objects(id=st.just("call_1"), function=functions, custom=objects(name=st.just("g")), type=st.just("function"))
parts = objects(type=st.sampled_from(["text", "thinking", "refusal"]), text=st.text(max_size=3))
messages = objects(
    role=st.just("assistant"),
    content=st.text(max_size=5) | lists(parts),
    refusal=st.text(max_size=3),
    reasoning=st.text(max_size=3),
    reasoning_content=st.text(max_size=3),
    tool_calls=lists(calls),
    function_call=functions,
)
tokens = objects(token=st.just("a"), top_logprobs=lists(objects(token=st.just("a"))))
finishes = st.sampled_from(["stop", "length", "tool_calls", "eos", "function_call", "", "odd"])
choices = whole(
    {"finish_reason": mostly(finishes)},
    objects(
        index=st.integers(0, 3),
        message=messages,
        logprobs=objects(content=lists(tokens)),
        content_filter_results=results,
    ),
)
details = objects(reasoning_tokens=st.integers(0, 3), cached_tokens=st.integers(0, 3))
usages = objects(
    prompt_tokens=st.integers(0, 9),
    completion_tokens=st.integers(0, 9),
    total_tokens=st.integers(0, 9),
    completion_tokens_details=details,
    prompt_tokens_details=details,
)
answers = whole(
    {"choices": mostly(st.lists(choices, min_size=1, max_size=3))},
    objects(
        id=st.just("chatcmpl-1"),
        created=st.integers(1, 2**60),
        model=st.just("m"),
        usage=usages,
        system_fingerprint=st.just("fp"),
        prompt_filter_results=lists(objects(prompt_index=st.just(0), content_filter_results=results)),
    ),
)


@settings(max_examples=300, deadline=None)
@given(answers, st.booleans())
def test_an_answer_or_the_upstreams_fault(document: Document, strict: bool) -> None:
    body = msgspec.json.encode(document)
    for dialect in DIALECTS.values():
        try:
            result = conform(msgspec.json.decode(body), ASKED, STAMP, think=strict)
        except UpstreamError:
            continue
        counted = {"prompt_tokens": 7, "completion_tokens": 8}
        writer = dialect.writer(ASKED, WriteOptions(strict=strict, target="t"))
        written = msgspec.json.decode(msgspec.json.encode(writer.completion(result.document, result.usage or counted)))
        assert type(written["created"]) is int
        usage = written["usage"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        for choice in written["choices"]:
            assert choice["finish_reason"] in FINISH_REASONS
            assert isinstance(choice["message"]["content"], str | None)
            assert choice["message"]["role"] == "assistant"
            for call in choice["message"].get("tool_calls", ()):
                assert call["id"]


@settings(max_examples=150, deadline=None)
@given(st.lists(answers, min_size=1, max_size=3))
def test_fan_out_and_replay_raise_nothing_else(documents: list[Document]) -> None:
    bodies = [msgspec.json.encode(document) for document in documents]
    try:
        merged = merge([msgspec.json.decode(body) for body in bodies])
    except UpstreamError:
        pass
    else:
        assert [choice["index"] for choice in merged["choices"]] == list(range(len(documents)))
    for body in bodies:
        try:
            replayed = chunks(msgspec.json.decode(body))
        except UpstreamError:
            continue
        assert all(len(chunk["choices"]) == 1 or "usage" in chunk for chunk in replayed)
