"""A whole answer and the same answer streamed become the same document: one machine reads both."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import chunks, conform
from antiphon.chat.fold import fold
from antiphon.chat.stream import ChatStream
from antiphon.errors import UpstreamError
from tests.chat.machine import request

Document = dict[str, Any]

STAMP = AnswerDefaults("m", 1, bool, lambda: "chatcmpl-new", lambda: "call_new")
WORDS = st.sampled_from(["", "a", "<think>b</think>c", "é", None])
PARTS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": "t"},
            {"type": "thinking", "thinking": "h"},
            {"type": "refusal", "refusal": "no"},
            {"type": "image", "data": "x"},
            "s",
            3,
            None,
        ]
    ),
    max_size=4,
)
ARGUMENTS = st.sampled_from(["{}", "", '{"a":1}', '{}{"a":1}', "{}{}", "{", None, {"a": 1}])
CALLS = st.lists(
    st.sampled_from(["function", "custom"]).flatmap(
        lambda kind: st.fixed_dictionaries(
            {
                "type": st.just(kind),
                kind: st.fixed_dictionaries(
                    {"name": st.sampled_from(["f", "g"]), "arguments" if kind == "function" else "input": ARGUMENTS}
                ),
            },
            optional={"id": st.sampled_from(["x", "y"]), "extra_content": st.just({"sig": 1})},
        )
    ),
    max_size=3,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant")},
    optional={
        "content": WORDS | PARTS,
        "refusal": WORDS,
        "reasoning": WORDS,
        "reasoning_content": WORDS,
        "tool_calls": CALLS,
        "function_call": st.fixed_dictionaries({"name": st.just("f"), "arguments": ARGUMENTS}),
        "annotations": st.just([{"type": "url_citation"}]),
        "foo": st.integers(0, 1) | st.none(),
    },
)
CHOICES = st.fixed_dictionaries(
    {"message": MESSAGES, "finish_reason": st.sampled_from(["stop", "length", "tool_calls", "", "odd"])},
    optional={
        "logprobs": st.just({"content": [{"token": "a"}]}),
        "stop_reason": st.just("x"),
        "content_filter_results": st.just({"hate": {"filtered": False}}),
    },
)
HOW = st.fixed_dictionaries({"named_tool": st.booleans(), "legacy_functions": st.booleans()})


@settings(max_examples=400, deadline=None)
@given(st.lists(CHOICES, min_size=1, max_size=2), HOW, st.booleans())
def test_streamed_or_not_the_answer_is_the_same(choices: list[Document], how: Document, think: bool) -> None:
    base = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "m", "x_top": {"deep": 1}}
    document = {**base, "choices": [{"index": place, **choice} for place, choice in enumerate(choices)]}
    asked = request(n=len(choices), **how)
    machine = ChatStream(asked, STAMP, think=think)
    pieces = [piece for chunk in chunks(deepcopy(document)) for piece in machine.feed(chunk)] + machine.done()
    streamed = fold(pieces, machine.usage)
    whole = conform(deepcopy(document), asked, STAMP, think=think)
    assert plain(streamed) == plain(whole.document)
    assert machine.unparsed == whole.unparsed
    assert sorted("".join(machine.texts)) == sorted("".join(whole.texts))


def plain(value: Any) -> Any:
    """Without what says nothing: a null, an empty text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None and item != ""}
    return [plain(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "message",
                        "content",
                        "tool_calls",
                        "function",
                        "name",
                        "arguments",
                        "id",
                        "logprobs",
                        "index",
                        "type",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=15,
    )
)
def test_whatever_stands_in_a_message_is_read_or_refused(junk: Any) -> None:
    message = junk if isinstance(junk, dict) else {"content": junk, "tool_calls": junk, "reasoning": junk}
    document = {"choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": junk}]}
    try:
        answer = conform(document, request(), STAMP).document
    except UpstreamError:
        return
    said = answer["choices"][0]["message"]
    assert said["role"] == "assistant"
    assert said["content"] is None or isinstance(said["content"], str)
    assert "tool_calls" not in said or said["tool_calls"]
