"""Whatever an upstream sends in place of its answers: chunks that can be written, or an UpstreamError."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.completion import conform
from antiphon.chat.event import decode
from antiphon.errors import UpstreamError
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.cohere import Cohere
from antiphon.protocols.event_stream import EventMessage, MessageReader, read_headers
from tests.chat.machine import machine, request, stamp
from tests.protocols import bedrock_streams, cohere_streams
from tests.protocols.aws_frames import message

Document = dict[str, Any]
JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "x",
    "",
    "\ud800",
    [],
    {},
    [1],
    [{}],
    [[]],
    {"a": 1},
    {"text": 1},
    [None],
]
BEDROCK: Document = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "a", "signature": "b"}}},
                {"reasoningContent": {"redactedContent": "x"}},
                {"text": "a"},
                {
                    "citationsContent": {
                        "content": [{"text": "a"}],
                        "citations": [{"title": "x", "location": {"web": {"url": "u"}}}],
                    }
                },
                {"toolUse": {"toolUseId": "t", "name": "n", "input": {"a": 1}}},
                {"image": {"format": "png", "source": {"bytes": "aGk="}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 1, "outputTokens": 2, "cacheDetails": [{"ttl": "5m", "inputTokens": 1}]},
    "trace": bedrock_streams.GUARDRAIL,
    "serviceTier": {"type": "flex"},
}
COHERE: Document = {
    "id": "x",
    "message": {
        "role": "assistant",
        "tool_plan": "p",
        "content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "t"}],
        "tool_calls": [{"id": "x", "type": "function", "function": {"name": "n", "arguments": "{}"}}],
        "citations": [{"start": 0, "end": 1, "sources": [cohere_streams.WEB, cohere_streams.TOOL], "content_index": 0}],
    },
    "finish_reason": "COMPLETE",
    "usage": {"tokens": {"input_tokens": 1.0, "output_tokens": 2}, "billed_units": {}, "cached_tokens": 1},
    "logprobs": [{"text": "a", "logprobs": [-1]}],
}
CHANCE = st.randoms(use_true_random=False)


def bend(value: Any, chance: random.Random, rate: float = 0.1) -> Any:
    """Some values become others, some keys go."""
    if chance.random() < rate:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {key: bend(item, chance, rate) for key, item in value.items() if chance.random() > rate / 2}
    return [bend(item, chance, rate) for item in value] if isinstance(value, list) else value


def read(stream: Any, pieces: list[bytes]) -> None:
    ours = machine()
    try:
        for piece in pieces:
            for chunk in stream.feed(piece):
                json.dumps(chunk, ensure_ascii=False).encode()
                ours.feed(chunk)
        ours.end()
    except UpstreamError:
        return


@pytest.mark.parametrize("name", sorted(bedrock_streams.RECORDINGS))
@settings(max_examples=100)
@given(CHANCE)
def test_bedrock_streams(name: str, chance: random.Random) -> None:
    messages: list[EventMessage] = []
    MessageReader().feed(bedrock_streams.RECORDINGS[name], messages)
    bent = [
        message(read_headers(headers), json.dumps(bend(json.loads(payload), chance)).encode())
        for headers, payload in messages
    ]
    read(Bedrock().open_stream("m"), bent)


@pytest.mark.parametrize("name", sorted(cohere_streams.RECORDINGS))
@settings(max_examples=100)
@given(CHANCE)
def test_cohere_streams(name: str, chance: random.Random) -> None:
    lines = [line[6:] for line in cohere_streams.RECORDINGS[name].split(b"\n") if line.startswith(b"data: ")]
    bent = [b"data: " + json.dumps(bend(json.loads(line), chance)).encode() + b"\n\n" for line in lines]
    read(Cohere().open_stream("m"), bent)


@pytest.mark.parametrize(("protocol", "answer"), [(Bedrock(), BEDROCK), (Cohere(), COHERE)])
@settings(max_examples=400)
@given(CHANCE)
def test_whole_answers(protocol: Any, answer: Document, chance: random.Random) -> None:
    body = json.dumps({key: bend(value, chance) for key, value in answer.items()}).encode()
    try:
        document = conform(protocol.decode(decode(body), "m"), request(), stamp()).document
    except UpstreamError:
        return
    json.dumps(document, ensure_ascii=False).encode()
