"""Whatever an upstream sends, the client gets a well-formed answer in time, and the next client is served."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, cut, json_answer, raw
from tests.support.gateway import gateway, to_one
from tests.support.raw import Answer
from tests.support.shapes import chunk, completion, hello

ROUNDS = 150
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
ODD: list[Any] = [
    None,
    True,
    -1,
    10**30,
    0.5,
    "",
    "x",
    "\ud83d",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"a": None},
    "error",
    "stop",
]
KEYS = """
id created model choices usage error index delta
content role tool_calls finish_reason logprobs function arguments name
message object x_new refusal audio
""".split()  # noqa: SIM905 - words are easier to read


def damaged(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(4):
            case 0:
                out[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 4)))
            case 1:
                del out[at : at + chance.randint(1, 30)]
            case 2:
                out[at:at] = chance.choice(
                    [b"\r\n", b"\n\n", b"data: ", b"0\r\n\r\n", b"ffffffff\r\n", b"{", b'"', b"\x00"]
                )
            case _:
                out[at : at + 1] = out[at : at + 1] * chance.randint(2, 50)
    return bytes(out)


def bent(document: Any, chance: random.Random) -> Any:
    """A document with odd values in odd places."""
    if isinstance(document, dict):
        out = {key: bent(value, chance) for key, value in document.items() if chance.random() > 0.05}
        if chance.random() < 0.2:
            out[chance.choice(KEYS)] = chance.choice(ODD)
        return out
    if isinstance(document, list):
        return [bent(item, chance) for item in document] * chance.choice([1, 1, 1, 2])
    return chance.choice(ODD) if chance.random() < 0.05 else document


def script(chance: random.Random) -> Script:
    events = [b"data: " + json.dumps(bent(c, chance)).encode() + b"\n\n" for c in hello()] + [b"data: [DONE]\n\n"]
    body = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"
    match chance.randrange(4):
        case 0:
            return raw(HEAD + b"transfer-encoding: chunked\r\n\r\n" + body, cut())
        case 1:
            return raw(damaged(HEAD + b"transfer-encoding: chunked\r\n\r\n" + body, chance), cut())
        case 2:
            return raw(HEAD + b"\r\n" + damaged(b"".join(events), chance), cut())
        case _:
            return json_answer(bent(completion(), chance)) + cut()


def check(answer: Answer, stream: bool) -> None:
    if answer.status != 200:
        assert 400 <= answer.status < 600
        assert set(answer.json["error"]) == {"message", "type", "param", "code"}
    elif not stream:
        assert answer.json["choices"][0]["finish_reason"] is not None
        assert answer.json["usage"]["total_tokens"] >= 0
    else:
        *chunks, last = answer.chunks
        assert all("choices" in c for c in chunks)
        finishes = [c["choices"][0]["finish_reason"] for c in [*chunks, last] if c.get("choices")]
        assert "error" in last or any(finishes)
        assert len({c["id"] for c in chunks}) <= 1


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_upstream_can_crash_or_hang_the_gateway(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    good = json_answer(completion("still here"))

    def play(received: Received) -> Script:
        return good if received.document["messages"][0]["content"] == "good" else script(chance)

    upstream = ScriptedUpstream(play)
    url = await upstream.start()
    text = to_one(url, upstream="timeout = { first_byte = 2, idle = 2, total = 5 }")
    async with gateway(tmp_path, text) as running:
        for turn in range(ROUNDS):
            stream = turn % 3 != 0
            answer = await asyncio.wait_for(running.post(stream=stream), 8)
            check(answer, stream)
        answer = await running.post(messages=[{"role": "user", "content": "good"}])
        assert answer.json["choices"][0]["message"]["content"] == "still here"
    await upstream.stop()


def test_the_fuzz_bends_something() -> None:
    chance = random.Random(3)
    assert any(bent(chunk({"content": "x"}), chance) != chunk({"content": "x"}) for _ in range(20))
