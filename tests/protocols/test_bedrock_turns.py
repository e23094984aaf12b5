"""Conversations over several turns, and arbitrary requests."""

from __future__ import annotations

import copy
import itertools
import json
import re
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from antiphon.chat.completion import conform
from antiphon.errors import RequestError
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.facts import ModelFacts
from tests.chat.machine import machine, request, stamp
from tests.protocols import aws_frames as aws
from tests.protocols.bedrock_requests import FACTS, MODELS, REQUESTS

Document = dict[str, Any]
IDS = st.from_regex(r"[a-zA-Z0-9_.:-]{1,64}", fullmatch=True)
NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,12}", fullmatch=True)
INPUTS = st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.text(max_size=5) | st.booleans(), max_size=3)
SIGNED = st.builds(
    lambda text, signature: {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}},
    st.text(max_size=9),
    st.text(min_size=1, max_size=20),
)
HIDDEN = st.just({"reasoningContent": {"redactedContent": "aGlkZGVu"}})
USES = st.builds(
    lambda identity, name, said: {"toolUse": {"toolUseId": identity, "name": name, "input": said}}, IDS, NAMES, INPUTS
)


TEXTS = st.text(min_size=1).filter(str.strip).map(lambda said: {"text": said})


@st.composite
def turns(draw: st.DrawFn) -> list[Document]:
    """The blocks of one answer with calls: thinking may stand before, between and after texts."""
    said = draw(st.lists(SIGNED | HIDDEN | TEXTS, max_size=5))
    # Neighbouring texts are one when they come back.
    texts = [
        block for place, block in enumerate(said) if place == 0 or "text" not in block or "text" not in said[place - 1]
    ]
    uses = draw(st.lists(USES, min_size=1, max_size=3, unique_by=lambda use: use["toolUse"]["toolUseId"]))
    return [*texts, *uses]


def whole(content: list[Document]) -> Document:
    """The assistant's message of a whole answer."""
    answer = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use"}
    document = conform(Bedrock().decode(answer, "m"), request(), stamp()).document
    message: Document = document["choices"][0]["message"]
    return message


def streamed(content: list[Document]) -> Document:
    """The assistant's message, put together by a client that keeps lists by their index."""
    data = aws.start() + b"".join(frames(index, block) for index, block in enumerate(content)) + aws.end("tool_use")
    ours, decoder = machine(), Bedrock().open_stream("m")
    chunks = [piece for chunk in decoder.feed(data) for piece in ours.feed(chunk)] + ours.end()
    message: Document = {"role": "assistant", "content": ""}
    for delta in (chunk["choices"][0]["delta"] for chunk in chunks):
        message["content"] += delta.get("content") or ""
        for block in delta.get("thinking_blocks", ()):
            message.setdefault("thinking_blocks", []).insert(block["index"], block)
        for call in delta.get("tool_calls", ()):
            calls = message.setdefault("tool_calls", [])
            if call["index"] == len(calls):
                calls.append({"id": call["id"], "type": "function", "function": dict(call["function"])})
            else:
                calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return message


def frames(index: int, block: Document) -> bytes:
    if "text" in block:
        return aws.text(block["text"], index) + aws.stop(index)
    if "toolUse" in block:
        use = block["toolUse"]
        pieces = re.findall(r"(?s).{1,5}", json.dumps(use["input"])) if use["input"] else []
        said = b"".join(aws.arguments(index, piece) for piece in pieces)
        return aws.tool(index, use["toolUseId"], use["name"]) + said + aws.stop(index)
    thought = block["reasoningContent"]
    if "redactedContent" in thought:
        return aws.thought(index, redactedContent=thought["redactedContent"]) + aws.stop(index)
    said = thought["reasoningText"]
    pieces = [aws.thought(index, text=letter) for letter in said["text"]]
    return b"".join(pieces) + aws.thought(index, signature=said["signature"]) + aws.stop(index)


@given(st.lists(turns(), min_size=3, max_size=3), st.booleans())
def test_three_turns_come_back_as_they_were_said(answers: list[list[Document]], streams: bool) -> None:
    asked = [block["toolUse"]["toolUseId"] for content in answers for block in content if "toolUse" in block]
    assume(len(set(asked)) == len(asked))
    messages: list[Document] = [{"role": "user", "content": "Go."}]
    for content in answers:
        message = (streamed if streams else whole)(copy.deepcopy(content))
        messages.append(json.loads(json.dumps(message)))
        messages += ({"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in message["tool_calls"])
    body = Bedrock().encode({"model": "m", "messages": messages}, "m", ModelFacts(), None, strict=True).body
    said = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    assert said == answers
    results = [
        block["toolResult"]["toolUseId"]
        for message in body["messages"]
        for block in message["content"]
        if "toolResult" in block
    ]
    assert results == asked


@settings(max_examples=200)
@given(REQUESTS, MODELS, FACTS, st.booleans())
def test_any_request_is_said_or_refused(document: Document, model: str, facts: ModelFacts, strict: bool) -> None:
    before = copy.deepcopy(document)
    refusal: RequestError | None = None
    try:
        body = Bedrock().encode(document, model, facts, None, strict=strict).body
    except RequestError as error:
        refusal = error
    assert document == before
    if refusal is not None:
        assert strict
        assert refusal.param
        return
    json.dumps(body)
    assert body["messages"]
    roles = [message["role"] for message in body["messages"]]
    assert all(a != b for a, b in itertools.pairwise(roles))
    for message in body["messages"]:
        assert message["content"]
        assert all(block.get("text") != "" for block in message["content"])
    assert all(block.get("text") != "" for block in body.get("system", ()))
