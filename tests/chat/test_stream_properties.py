"""The invariants of a stream hold for whatever is fed: plausible chunks, hostile ones, and bytes."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.stream import ChatStream, decode
from antiphon.errors import UpstreamError
from antiphon.sse import frame
from tests.chat.checker import check
from tests.chat.machine import machine, play

Document = dict[str, Any]

# What vendors send, in any order and combination.

WORDS = st.sampled_from(["a", "b ", "<", "think>", "</think>", "é", "😀", "\u2028", ""])
FINISHES = st.sampled_from(
    [None, None, None, None, "", "stop", "length", "tool_calls", "eos", "SAFETY", "odd", "function_call"]
)
IDS = st.sampled_from([None, "", "x", "y", 7])
NAMES = st.sampled_from([None, "", "f", "g", "get_", "time", "get_time"])
ARGUMENTS = st.sampled_from([None, "", "{", "}", "{}", '{"a":', "1}", {"a": 1}, {}])


def some(keys: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries({}, optional=keys)


ENTRIES = some(
    {
        "index": st.sampled_from([None, 0, 1, 5, "0"]),
        "id": IDS,
        "type": st.sampled_from([None, "function", "custom", "odd"]),
        "function": some({"name": NAMES, "arguments": ARGUMENTS, "strict": st.booleans()}),
        "custom": some({"name": NAMES, "input": WORDS}),
        "extra_content": st.just({"sig": 1}),
    }
)
DELTAS = some(
    {
        "role": st.sampled_from(["assistant", None]),
        "content": WORDS
        | st.none()
        | st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "thinking"]), "text": WORDS}), max_size=2),
        "refusal": WORDS | st.none(),
        "reasoning": WORDS | st.none(),
        "reasoning_content": WORDS | st.none(),
        "tool_calls": st.lists(ENTRIES, max_size=3) | st.none() | ENTRIES,
        "function_call": some({"name": NAMES, "arguments": ARGUMENTS}) | st.none(),
        "audio": some({"id": st.just("audio"), "transcript": WORDS, "expires_at": st.just(9)}),
        "foo": st.integers(0, 2) | st.none(),
    }
)
TOKENS = st.lists(st.fixed_dictionaries({"token": WORDS}), max_size=2) | st.none()
CHOICES = some(
    {
        "index": st.sampled_from([None, 0, 0, 0, 1, 2]),
        "delta": DELTAS | st.none(),
        "message": DELTAS,
        "finish_reason": FINISHES,
        "logprobs": some({"content": TOKENS, "refusal": TOKENS}) | st.none(),
        "content_filter_results": st.just({"hate": {"filtered": False}}) | st.just({}),
        "bar": st.integers(0, 2),
    }
)
USAGES = some({"prompt_tokens": st.integers(0, 9), "completion_tokens": st.integers(0, 9)}) | st.none()
CHUNKS = some(
    {
        "id": st.sampled_from(["chatcmpl-1", "chatcmpl-2", "odd", "", None]),
        "object": st.sampled_from(["chat.completion.chunk", "", None]),
        "created": st.sampled_from([1_755_000_000, 0, 1.5, 1_755_000_000_000, None]),
        "model": st.sampled_from(["m", "n", "", None]),
        "system_fingerprint": st.sampled_from(["fp", "fp2", None]),
        "service_tier": st.sampled_from(["default", None]),
        "choices": st.lists(CHOICES, max_size=3) | st.none(),
        "usage": USAGES,
        "obfuscation": st.just("x"),
        "prompt_filter_results": st.just([{"prompt_index": 0}]),
        "moderation": st.sampled_from([None, {}, {"input": {"type": "error"}}, {"output": {"type": "error"}}, "odd"]),
        "baz": st.integers(0, 2) | st.just({}),
    }
)
HOW = st.fixed_dictionaries(
    {
        "think": st.booleans(),
        "named_tool": st.booleans(),
        "legacy_functions": st.booleans(),
        "n": st.integers(1, 3),
        "include_usage": st.booleans(),
        "document": st.sampled_from([{}, {"tools": [{"type": "function", "function": {"name": "get_time"}}]}]),
    }
)

# Anything at all where something is expected.

_KEYS = (
    "choices delta message index finish_reason content tool_calls function name arguments id logprobs usage error "
    "created role type function_call audio text thinking x"
)
KEYS = st.sampled_from(_KEYS.split())
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
HOSTILE_CHOICES = st.fixed_dictionaries(
    {"delta": st.dictionaries(KEYS, JUNK, max_size=4) | JUNK},
    optional={"index": st.integers(0, 2) | JUNK, "finish_reason": FINISHES | JUNK, "logprobs": JUNK},
)
HOSTILE = st.dictionaries(KEYS, JUNK, max_size=5) | st.fixed_dictionaries(
    {"choices": st.lists(HOSTILE_CHOICES | JUNK, max_size=2)},
    optional={"usage": JUNK, "id": JUNK, "created": JUNK, "x": JUNK},
)


def feed_all(stream: ChatStream, chunks: list[Document]) -> tuple[list[Document], bool]:
    """(all that left, whether it ended well); no other exception than UpstreamError gets through."""
    out: list[Document] = []
    try:
        for document in chunks:
            out += stream.feed(copy.deepcopy(document))
        out += stream.done()
    except UpstreamError:
        return out, False
    return out, True


@settings(max_examples=250, deadline=None)
@given(st.lists(CHUNKS, max_size=8), HOW)
def test_plausible_chunks(chunks: list[Document], how: Document) -> None:
    stream = machine(**how)
    out, well = feed_all(stream, chunks)
    assert stream.finished == well
    check(out, complete=well)


@settings(max_examples=250, deadline=None)
@given(st.lists(CHUNKS | HOSTILE, max_size=6), HOW)
def test_hostile_chunks(chunks: list[Document], how: Document) -> None:
    out, well = feed_all(machine(**how), chunks)
    check(out, complete=well)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), CHUNKS | HOSTILE), max_size=8), st.permutations([0, 1, 2]))
def test_fan_out(chunks: list[tuple[int, Document]], order: list[int]) -> None:
    stream = machine(sources=3, n=3)
    out: list[Document] = []
    well = True
    try:
        for source, document in chunks:
            out += stream.feed(copy.deepcopy(document), source)
        for source in order:
            out += stream.end(source)
    except UpstreamError:
        well = False
    answers = check(out, complete=well)
    assert not well or len(answers) == 3


PLAIN = st.fixed_dictionaries(
    {"index": st.integers(0, 2), "text": WORDS, "finish": st.sampled_from([None, None, None, "stop", "length"])}
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PLAIN, max_size=20), st.lists(st.sampled_from(["role", "null", "usage", "extra", "same"]), max_size=20))
def test_the_text_is_what_the_upstream_sent_before_each_finish(pieces: list[Document], noise: list[str]) -> None:
    stream = machine(n=3)
    sent = ["", "", ""]
    open_ = [True, True, True]
    out: list[Document] = []
    for number, piece in enumerate(pieces):
        delta: Document = {"content": piece["text"]}
        kind = noise[number] if number < len(noise) else "same"
        if kind == "role":
            delta["role"] = "assistant"
        elif kind == "null":
            delta["refusal"] = None
        choice = {"index": piece["index"], "delta": delta, "logprobs": None, "finish_reason": piece["finish"]}
        document: Document = {"id": "chatcmpl-1", "choices": [choice]}
        if kind == "usage":
            document["usage"] = {"prompt_tokens": 1, "completion_tokens": number}
        elif kind == "extra":
            document["extra"] = number
        if open_[piece["index"]]:
            sent[piece["index"]] += piece["text"]
            open_[piece["index"]] = piece["finish"] is None
        out += stream.feed(document)
    answers = check(out, complete=False)
    assert [answer.content for answer in answers] == sent[: len(answers)]
    assert "".join(sent[len(answers) :]) == ""


SCORED = st.tuples(WORDS, st.integers(0, 2))


@settings(max_examples=150, deadline=None)
@given(st.lists(SCORED, max_size=12), st.booleans(), st.booleans())
def test_every_token_arrives_once_and_with_text(pieces: list[tuple[str, int]], think: bool, apart: bool) -> None:
    """Whatever becomes of the text: moved, held back, swallowed by a marker. Just before the finish it may be none."""
    stream = machine(think=think)
    tokens: list[str] = []
    out: list[Document] = []
    last = len(pieces) - 1
    for number, (text, count) in enumerate(pieces):
        scores = [{"token": f"{number}.{place}"} for place in range(count)]
        tokens += (score["token"] for score in scores)
        finish = "stop" if number == last and not apart else None
        logprobs = {"content": scores} if scores else None
        choice = {"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": finish}
        out += stream.feed({"id": "chatcmpl-1", "choices": [choice]})
    out += stream.feed({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    [answer] = check(out)
    assert answer.tokens == tokens
    assert all(piece["choices"][0]["delta"] for piece in out[:-2])


REMARKS = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from(["", "chatcmpl-1"]), "role": st.booleans(), "top": st.booleans()}),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(REMARKS, REMARKS)
def test_no_annotation_is_lost_and_no_id_is_made_up(before: list[Document], after: list[Document]) -> None:
    stream = machine()
    out: list[Document] = []
    sent: list[int] = []
    middle = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}
    for number, remark in enumerate([*before, None, *after]):
        if remark is None:
            out += stream.feed(middle)
            continue
        document: Document = {"id": remark["id"], "choices": []}
        if remark["top"]:
            document["note"] = {"number": number}
        else:
            delta = {"role": "assistant"} if remark["role"] and remark["id"] else None
            document["choices"].append({"index": 0, "delta": delta, "note": {"number": number}})
        out += stream.feed(document)
        sent.append(number)
    out += stream.done()
    check(out)
    assert {piece["id"] for piece in out} == {"chatcmpl-1"}
    notes = [holder["note"]["number"] for piece in out for holder in (piece, *piece["choices"]) if "note" in holder]
    assert sorted(notes) == sent


@settings(max_examples=80, deadline=None)
@given(st.lists(CHUNKS, max_size=5), st.data())
def test_bytes_may_be_cut_anywhere(chunks: list[Document], data: st.DataObject) -> None:
    stream = b"".join(frame(msgspec.json.encode(document)) for document in chunks) + b"data: [DONE]\n\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    reads = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    out, error = play(reads, machine())
    whole, same = play([stream], machine())
    assert out == whole
    assert (error and error.message) == (same and same.message)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.binary(max_size=60) | st.builds(lambda value: frame(json.dumps(value).encode()), HOSTILE), max_size=6)
)
def test_any_bytes_end_in_an_answer_or_an_upstream_error(reads: list[bytes]) -> None:
    out, error = play(reads, machine())
    check(out, complete=error is None)


ESCAPES = st.lists(st.sampled_from(["a", "é", "\\ud83d", "\\ude00", "\\udc80", "\\n"]), max_size=4).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(ESCAPES, max_size=6))
def test_halves_of_characters_are_put_together_or_replaced(pieces: list[str]) -> None:
    stream = machine()
    out: list[Document] = []
    for piece in pieces:
        out += stream.feed(decode(b'{"choices":[{"index":0,"delta":{"content":"%b"}}]}' % piece.encode()))
    out += stream.feed({"choices": [{"index": 0, "finish_reason": "stop"}]})
    [answer] = check(out)
    joined = json.loads(f'"{"".join(pieces)}"')
    assert answer.content == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in joined)
