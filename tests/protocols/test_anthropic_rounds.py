"""Conversations of several turns: what Anthropic has said goes back to it unchanged and in its order."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.completion import conform
from antiphon.chat.request import parse
from antiphon.protocols.anthropic import Anthropic
from antiphon.protocols.facts import ModelFacts, Thinking
from tests.chat.machine import machine, request, stamp
from tests.protocols.anthropic_recordings import MODEL, end, start, wire

Document = dict[str, Any]
FACTS = ModelFacts(max_output=64_000, thinking=Thinking.ADAPTIVE, efforts=("low", "high"))
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES = st.sampled_from(["look", "add"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
THOUGHTS = st.one_of(
    st.builds(
        lambda words, sign: {"type": "thinking", "thinking": words, "signature": sign}, WORDS | st.just(""), WORDS
    ),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, WORDS),
)
SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]


@st.composite
def turns(draw: st.DrawFn, number: int) -> list[Document]:
    """The blocks of one answer: thinking, texts and the vendor's own tools in any order, then calls."""
    blocks: list[Document] = draw(st.lists(THOUGHTS, max_size=2))
    for _ in range(draw(st.integers(0, 2))):
        blocks += draw(st.sampled_from([[], SEARCHED]))
        words = draw(WORDS.filter(str.strip))
        if blocks and blocks[-1]["type"] == "text":
            blocks += draw(st.lists(THOUGHTS, min_size=1, max_size=1))
        blocks.append({"type": "text", "text": words})
    for place in range(draw(st.integers(1, 3))):
        call = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": draw(NAMES)}
        blocks.append({**call, "input": draw(st.dictionaries(WORDS, VALUES, max_size=3))})
    return blocks


CONVERSATIONS = st.tuples(turns(1), turns(2), turns(3))


def streamed(blocks: list[Document], pieces: int) -> Document:
    """The assistant's message as an accumulator puts it together from the chunks that leave."""
    events = [start()]
    for index, block in enumerate(blocks):
        events += _events(index, copy.deepcopy(block), pieces)
    data = wire([*events, *end("tool_use")])
    stream, reader = Anthropic().open_stream("asked"), machine()
    message: Document = {"role": "assistant", "content": None}
    for place in range(0, len(data), 37):
        for chunk in stream.feed(data[place : place + 37]):
            for piece in reader.feed(chunk):
                _add(message, piece["choices"][0]["delta"])
    for piece in reader.end():
        _add(message, piece["choices"][0]["delta"])
    return message


def _events(index: int, block: Document, pieces: int) -> list[Document]:
    deltas: list[Document] = []
    for key, kind, name in (
        ("text", "text_delta", "text"),
        ("thinking", "thinking_delta", "thinking"),
        ("signature", "signature_delta", "signature"),
        ("input", "input_json_delta", "partial_json"),
    ):
        if key in block:
            words = json.dumps(block[key]) if key == "input" else block[key]
            cuts = range(0, len(words), max(1, len(words) // pieces))
            deltas += ({"type": kind, name: words[cut : cut + max(1, len(words) // pieces)]} for cut in cuts)
            block[key] = {} if key == "input" else ""
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _add(message: Document, delta: Document) -> None:
    """As the OpenAI SDK accumulates: strings grow, entries of lists are told apart by their `index`."""
    for key, value in delta.items():
        if key == "role":
            continue
        if isinstance(value, str):
            message[key] = (message.get(key) or "") + value
            continue
        for entry in value:
            entries = message.setdefault(key, [])
            known = next((one for one in entries if one["index"] == entry["index"]), None)
            if known is None:
                entries.append(entry)
            else:
                known["function"]["arguments"] += entry["function"]["arguments"]


def answered(blocks: list[Document]) -> Document:
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": blocks}
    decoded = Anthropic().decode({**whole, "stop_reason": "tool_use", "usage": {}}, "asked")
    message: Document = conform(decoded, request(stream=False), stamp()).document["choices"][0]["message"]
    return message


class Memory:
    """As the flow keeps it: what was said before a call, by its id."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Document]] = {}

    def note(self, message: Document) -> None:
        for call in message["tool_calls"]:
            self._kept[call["id"]] = message.get("thinking_blocks", [])

    def find(self, call_id: str) -> list[Document] | None:
        return self._kept.get(call_id)


def conversation(messages: list[Document]) -> Document:
    said: list[Document] = [{"role": "user", "content": "Begin."}]
    for message in messages:
        calls = message["tool_calls"]
        said += [message, *({"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in calls)]
    tools = [{"type": "function", "function": {"name": name}} for name in ("look", "add")]
    return {"model": "asked", "messages": said, "tools": tools, "reasoning_effort": "low"}


def sent_back(messages: list[Document], memory: Memory | None = None) -> list[list[Document]]:
    document = json.loads(json.dumps(conversation(messages)))
    parse(document, strict=False)
    body = Anthropic().encode(document, "claude-test", FACTS, memory, strict=False).body
    return [message["content"] for message in body["messages"] if message["role"] == "assistant"]


@given(CONVERSATIONS)
def test_whole_answers_go_back_as_they_came(answers: tuple[list[Document], ...]) -> None:
    assert sent_back([answered(copy.deepcopy(blocks)) for blocks in answers]) == list(answers)


@given(CONVERSATIONS, st.integers(1, 4))
def test_streamed_answers_go_back_as_they_came(answers: tuple[list[Document], ...], pieces: int) -> None:
    assert sent_back([streamed(blocks, pieces) for blocks in answers]) == list(answers)


@given(CONVERSATIONS)
def test_the_memory_gives_back_what_a_client_has_dropped(answers: tuple[list[Document], ...]) -> None:
    memory = Memory()
    plain = []
    for blocks in answers:
        message = answered(copy.deepcopy(blocks))
        memory.note(message)
        plain.append({key: message[key] for key in ("role", "content", "tool_calls")})
    thinking = ("thinking", "redacted_thinking")
    for blocks, back in zip(answers, sent_back(plain, memory), strict=True):
        kept = [block for block in blocks if block["type"] in thinking]
        unique = [block for place, block in enumerate(kept) if block not in kept[:place]]
        found = [block for block in back if block["type"] in thinking]
        assert found in (kept, unique)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        assert [block for block in back if block["type"] == "tool_use"] == calls
        assert back[: len(found)] == found


@pytest.mark.parametrize("way", [answered, lambda blocks: streamed(blocks, 2)])
def test_who_made_a_call_goes_back_with_it(way: Any) -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    blocks = [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}, "caller": caller}]
    assert sent_back([way(copy.deepcopy(blocks))]) == [blocks]
