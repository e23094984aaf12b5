"""What holds of every stream and every conversation: no cut matters, and calls, ids and signatures come back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.protocols.gemini import GEMINI, default_facts
from tests.chat.checker import check
from tests.chat.machine import machine, run
from tests.protocols.gemini_recordings import COUNTS, event, frames

Document = dict[str, Any]
MODEL = "gemini-3-flash"
SKIP = "skip_thought_signature_validator"

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SIGNATURES = st.none() | st.text("ABCabc012+/", min_size=4, max_size=12)
ARGUMENTS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.none() | st.integers(0, 9) | WORDS, max_size=3)


@st.composite
def signed(draw: st.DrawFn, part: Document) -> Document:
    signature = draw(SIGNATURES)
    return part if signature is None else {**part, "thoughtSignature": signature}


TEXTS = WORDS.map(lambda words: {"text": words}).flatmap(signed)
THOUGHTS = WORDS.map(lambda words: {"text": words, "thought": True}).flatmap(signed)
CODE = WORDS.map(lambda words: {"executableCode": {"code": words}}).flatmap(signed)
CALLS = st.builds(lambda args, name: {"functionCall": {"name": name, "args": args}}, ARGUMENTS, st.sampled_from("fgh"))


@st.composite
def answers(draw: st.DrawFn) -> list[Document]:
    """Parts of one answer: what is said, then calls; only the first call is signed."""
    parts = draw(st.lists(TEXTS | THOUGHTS | CODE, max_size=4))
    calls: list[Document] = draw(st.lists(CALLS, max_size=3))
    for place, one in enumerate(calls):
        if draw(st.booleans()):
            one["functionCall"] = {"id": f"own{place}{draw(st.integers(0, 999))}", **one["functionCall"]}
    if calls:
        signature: str = draw(st.text("ABC+/", min_size=4, max_size=12))
        calls[0] = {**calls[0], "thoughtSignature": signature}
    return parts + calls


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    parts = draw(answers())
    events = []
    while parts:
        size = draw(st.integers(1, len(parts)))
        events.append(event(parts[:size], usageMetadata=draw(st.sampled_from([{}, COUNTS]))))
        parts = parts[size:]
    events.append(event([{"text": ""}], draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY"])), usageMetadata=COUNTS))
    return frames(events, draw(st.sampled_from([b"\n", b"\r\n", b"\r"])))


def read(data: bytes, sizes: list[int]) -> list[Document]:
    stream = GEMINI.open_stream(MODEL)
    chunks = []
    for size in sizes:
        chunks += stream.feed(data[:size])
        data = data[size:]
    chunks += stream.feed(data)
    assert stream.is_whole
    return chunks


@given(streams(), st.lists(st.integers(0, 200), max_size=30))
def test_no_cut_matters(data: bytes, sizes: list[int]) -> None:
    whole = read(data, [])
    assert read(data, sizes) == whole
    check(run(whole))


def told(parts: list[Document], way: str) -> Document:
    """The assistant's message as a client has it, streamed or whole."""
    if way == "whole":
        message: Document = GEMINI.decode(event(parts, "STOP"), MODEL)["choices"][0]["message"]
        for place, call in enumerate(message.get("tool_calls", ())):
            call.setdefault("id", f"call_made{place + 1}")
        return message
    data = frames([event([part]) for part in parts] + [event([], "STOP")])
    return fold(run(read(data, []), machine()))


def fold(chunks: list[Document]) -> Document:
    """As OpenAI's SDKs put deltas together: text is joined, lists by `index`."""
    message: Document = {"role": "assistant", "content": None}
    lists: dict[str, dict[int, Document]] = {}
    for chunk in chunks:
        for key, value in chunk["choices"][0]["delta"].items():
            if isinstance(value, str) and key != "role":
                message[key] = (message.get(key) or "") + value
            for item in value if isinstance(value, list) else ():
                _add(lists.setdefault(key, {}).setdefault(item["index"], {}), item)
    for key, items in lists.items():
        message[key] = [items[index] for index in sorted(items)]
    return message


def _add(item: Document, more: Document) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and key == "function":
            _add(item.setdefault(key, {}), value)
        elif key == "arguments":
            item[key] = item.get(key, "") + value
        else:
            item[key] = value


class Memory:
    """Blocks by the id of a call."""

    def __init__(self) -> None:
        self.blocks: dict[str, list[Document]] = {}

    def keep(self, message: Document) -> None:
        for call in message.get("tool_calls", ()):
            self.blocks[call["id"]] = message.get("thinking_blocks", [])

    def find(self, call_id: str) -> list[Document] | None:
        return self.blocks.get(call_id)


def bare(message: Document) -> Document:
    """What a client keeps that knows OpenAI's fields only."""
    kept: Document = {key: message[key] for key in ("role", "content", "tool_calls") if key in message}
    if "tool_calls" in kept:
        kept["tool_calls"] = [{key: call[key] for key in ("id", "type", "function")} for call in kept["tool_calls"]]
    return kept


def results(message: Document) -> list[Document]:
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": f"result of {call['id']}"}
        for call in message.get("tool_calls", ())
    ]


def distinct(turns: list[list[Document]]) -> None:
    """Ids that Gemini gives are its own; no two calls share one."""
    number = 0
    for parts in turns:
        for part in parts:
            if "id" in part.get("functionCall", {}):
                number += 1
                part["functionCall"]["id"] = f"own{number}"


def renamed(message: Document, turn: int) -> Document:
    for call in message.get("tool_calls", ()):
        if call["id"].startswith("call_"):
            call["id"] += f"_{turn}"
    return message


def conversation(turns: list[list[Document]], way: str, memory: Memory | None, *, drops: bool) -> list[Any]:
    messages: list[Document] = [{"role": "user", "content": "Go."}]
    for number, parts in enumerate(turns):
        message = renamed(told(parts, way), number)
        if memory is not None:
            memory.keep(message)
        messages += [bare(message) if drops else message, *results(message)]
    # As it travels.
    document = json.loads(json.dumps({"messages": messages}))
    encoded = GEMINI.encode(document, MODEL, default_facts(MODEL), memory, strict=True)
    assert encoded.changes == ()
    contents = encoded.body["contents"]
    assert isinstance(contents, list)
    return contents


def meant(parts: list[Document]) -> list[Document]:
    """What must come back: texts joined where nothing signed is between them; thoughts without signature need not."""
    said: list[Document] = []
    for part in parts:
        plain = "text" in part and "thought" not in part and "thoughtSignature" not in part
        if "thought" in part and "thoughtSignature" not in part:
            continue
        if plain and not part["text"]:
            continue
        if plain and said and said[-1].keys() == {"text"}:
            said[-1] = {"text": said[-1]["text"] + part["text"]}
        else:
            said.append(dict(part))
    return said or [{"text": ""}]


TURNS = st.lists(answers(), min_size=3, max_size=3)


def model_parts(contents: list[Any]) -> list[list[Document]]:
    return [content["parts"] for content in contents if content["role"] == "model"]


@pytest.mark.parametrize("way", ["whole", "streamed"])
@given(turns=TURNS)
def test_every_part_comes_back_as_it_was(way: str, turns: list[list[Document]]) -> None:
    distinct(turns)
    contents = conversation(turns, way, None, drops=False)
    assert model_parts(contents) == [meant(parts) for parts in turns]
    answered = [content["parts"] for content in contents[1:] if content["role"] == "user"]
    called = [calls for parts in turns if (calls := [part["functionCall"] for part in parts if "functionCall" in part])]
    assert [[part["functionResponse"]["name"] for part in parts] for parts in answered] == [
        [call["name"] for call in calls] for calls in called
    ]
    assert [[part["functionResponse"].get("id") for part in parts] for parts in answered] == [
        [call.get("id") for call in calls] for calls in called
    ]


@pytest.mark.parametrize("way", ["whole", "streamed"])
@given(turns=TURNS)
def test_a_memory_is_enough_where_there_are_calls(way: str, turns: list[list[Document]]) -> None:
    distinct(turns)
    contents = conversation(turns, way, Memory(), drops=True)
    for parts, said in zip(turns, model_parts(contents), strict=True):
        if any("functionCall" in part for part in parts):
            assert said == meant(parts)


@settings(max_examples=30)
@given(turns=TURNS)
def test_without_any_the_first_call_says_so(turns: list[list[Document]]) -> None:
    distinct(turns)
    contents = conversation(turns, "whole", None, drops=True)
    for said in model_parts(contents):
        calls = [part for part in said if "functionCall" in part]
        assert [call.get("thoughtSignature") for call in calls] == [SKIP, *[None] * (len(calls) - 1)][: len(calls)]
