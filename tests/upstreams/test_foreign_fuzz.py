"""No foreign upstream can crash or hang the gateway, nor be read in part as if it were whole."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, cut, json_answer, raw
from tests.protocols import anthropic_recordings as anthropic
from tests.protocols import aws_frames as aws
from tests.protocols import cohere_streams as cohere
from tests.protocols import gemini_recordings as gemini
from tests.support.foreign import base, row, settings
from tests.support.gateway import gateway
from tests.turns.test_fuzz import bent, check, damaged

Document = dict[str, Any]
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "40"))
SHORT = "timeout = { first_byte = 2, idle = 2, total = 5 }\n"
COHERE_END = cohere.event("message-end", delta={"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 1}}})


def anthropic_events() -> list[Document]:
    return [
        anthropic.start(),
        *anthropic.thinking(0, "c2ln", "Hm", "."),
        *anthropic.text(1, "Good ", "day"),
        *anthropic.call(2, "toolu_1", "f", '{"a"', ":1}"),
        *anthropic.end("tool_use"),
    ]


def gemini_events() -> list[Document]:
    return [gemini.text("Good "), gemini.text("day"), gemini.event([gemini.call("f", {"a": 1})]), gemini.end()]


def streamed(protocol: str, chance: random.Random) -> bytes:
    if protocol == "anthropic":
        bends = [bent(event, chance) for event in anthropic_events()]
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in bends)
    if protocol == "gemini":
        bends = [bent(event, chance) for event in gemini_events()]
        return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in bends)
    if protocol == "cohere":
        return damaged(cohere.start() + cohere.begin() + cohere.text("Good day") + cohere.stop() + COHERE_END, chance)
    said = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Good day"}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}}),
    ]
    headers = {":content-type": "application/json", ":message-type": "event"}
    return b"".join(
        aws.message({":event-type": name, **headers}, json.dumps(bent(event, chance)).encode()) for name, event in said
    )


def whole(protocol: str, chance: random.Random) -> bytes:
    answers: dict[str, Document] = {
        "anthropic": {
            **{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"},
            "content": [
                {"type": "text", "text": "Good day"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {}},
            ],
            "usage": {"input_tokens": 1, "output_tokens": 2},
        },
        "gemini": gemini.event([{"text": "Good day"}, gemini.call("f", {"a": 1})], "STOP", usageMetadata=gemini.COUNTS),
        "cohere": {
            "id": "1",
            "finish_reason": "COMPLETE",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Good day"}]},
            "usage": {"tokens": {"input_tokens": 1, "output_tokens": 2}},
        },
        "bedrock": {
            "output": {"message": {"role": "assistant", "content": [{"text": "Good day"}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
        },
    }
    return json.dumps(bent(answers[protocol], chance)).encode()  # lone surrogates are escaped


def script(protocol: str, chance: random.Random) -> Script:
    kind = "application/vnd.amazon.eventstream" if protocol == "bedrock" else "text/event-stream"
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n".encode()
    match chance.randrange(4):
        case 0:
            return raw(head + streamed(protocol, chance), cut())
        case 1:
            return raw(head + damaged(streamed(protocol, chance), chance), cut())
        case 2:
            return json_answer(whole(protocol, chance), chance.choice([200, 200, 400, 429, 500, 503])) + cut()
        case _:
            return json_answer(whole(protocol, chance)) + cut()


@pytest.mark.parametrize("protocol", ["anthropic", "gemini", "cohere", "bedrock"])
async def test_no_upstream_can_crash_or_hang_the_gateway(tmp_path: Path, protocol: str) -> None:
    chance = random.Random(protocol)

    def play(received: Received) -> Script:
        return script(protocol, chance)

    upstream = ScriptedUpstream(play)
    await upstream.start()
    text = settings(row(protocol, base(upstream), more=SHORT), targets='[{ upstream = "up", model = "target" }]')
    async with gateway(tmp_path, text) as running:
        for turn in range(ROUNDS):
            stream = turn % 3 != 0
            answer = await asyncio.wait_for(running.post(stream=stream), 8)
            check(answer, stream)
            assert b"could not read" not in answer.body  # our own fault
    await upstream.stop()
