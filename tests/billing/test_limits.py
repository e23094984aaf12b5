"""Limits at a gateway that runs, with two workers: exact over both, told in headers and errors, settled after."""

from __future__ import annotations

import asyncio
from pathlib import Path

from antiphon.upstreams.scripted import Received, Script, json_answer, sse, wait
from tests.billing.serving import ASK, Accounted, accounted
from tests.support.raw import call
from tests.support.shapes import chunk, completion

HELLO = 9  # tokens of the prompt, as they are counted before it is sent
KEYS = {"A": "sk-a", "B": "sk-b", "C": "sk-c", "D": "sk-d"}
DEAR = '[[model]]\nname = "target"\nprice = { input = 100, output = 100 }\n'  # 100 micro-units a token


def key(letter: str, limits: str) -> str:
    return f'[[key]]\nname = "{letter.lower()}"\nsecret = "env:{letter}"\nlimits = {{ {limits} }}\n'


async def test_limits(tmp_path: Path) -> None:
    """One gateway for all of it: each key has a limit of its own."""
    come, go = asyncio.Event(), asyncio.Event()

    def play(received: Received) -> Script:
        asked = received.document
        if asked.get("stream"):
            words = [chunk({"content": "word " * 40}) for _ in range(30)]
            return sse(chunk({"role": "assistant", "content": ""}), *words, wait(go), chunk({}, "stop"))
        usage = {"prompt_tokens": HELLO, "completion_tokens": 5, "total_tokens": HELLO + 5}
        answer = json_answer(completion(usage=usage))
        return Script((wait(come), *answer.steps)) if asked.get("max_tokens") == 66 else answer

    rows = (
        key("A", "tokens_per_minute = 500")
        + key("B", "requests_per_minute = 3, concurrent = 9")
        + key("C", "budget = { total = 0.01 }")
        + key("D", "output_tokens_per_minute = 100")
    )
    told = {"server": "auth = true", "accounts": "reserve_output = 50", "more": rows + DEAR}
    async with accounted(tmp_path, **told, script=play, environ=KEYS) as gateway:
        await twenty_at_once(gateway, come)
        await requests_are_counted(gateway)
        await a_budget_ends(gateway)
        await a_stream_ends_with_length(gateway)
        go.set()


async def twenty_at_once(gateway: Accounted, come: asyncio.Event) -> None:
    """20 x 75 tokens against 500: six are granted, over both workers."""
    turns = [asyncio.ensure_future(gateway.post("sk-a", max_tokens=66)) for _ in range(20)]
    async with asyncio.timeout(20):
        while True:
            if sum(turn.done() for turn in turns) >= 14:
                break
            await asyncio.sleep(0.01)
    come.set()
    answers = await asyncio.gather(*turns)
    assert sorted(answer.status for answer in answers) == [200] * 6 + [429] * 14
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.json["error"]["type"] == "tokens"
    assert refused.json["error"]["code"] == "rate_limit_exceeded"
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.headers["x-ratelimit-limit-tokens"] == "500"
    # What was held and not used is free again: 6 x 14 tokens are spent, and a minute refills.
    later = await gateway.post("sk-a", max_tokens=1)
    assert later.status == 200
    assert int(later.headers["x-ratelimit-remaining-tokens"]) >= 500 - 6 * 14 - 10


async def requests_are_counted(gateway: Accounted) -> None:
    answers = [await gateway.post("sk-b") for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["x-ratelimit-limit-requests"] == "3"
    assert answers[0].headers["x-ratelimit-remaining-requests"] == "2"
    assert answers[3].json["error"]["type"] == "requests"
    assert "x-ratelimit-limit-requests" not in (await gateway.post("sk-c", model="unknown")).headers


async def a_budget_ends(gateway: Accounted) -> None:
    """Each turn costs 14 tokens x 100 micro-units, and as much is held for it: 7 of them fit into 10,000."""
    answers = [await gateway.post("sk-c", max_tokens=5) for _ in range(8)]
    assert [answer.status for answer in answers] == [200] * 7 + [429]
    assert answers[7].json["error"]["type"] == answers[7].json["error"]["code"] == "insufficient_quota"
    assert "retry-after" not in answers[7].headers
    assert answers[7].headers["x-should-retry"] == "false"
    skytells = await call(gateway.port, "POST", "/skytells/v1/chat/completions", ASK, headers={"x-api-key": "sk-c"})
    assert (skytells.status, skytells.json["error"]["error_id"]) == (402, "INSUFFICIENT_CREDITS")


async def a_stream_ends_with_length(gateway: Accounted) -> None:
    """Of 100 tokens 50 are held at first; the answer has 1,500, so the next step is refused."""
    answer = await gateway.post("sk-d", stream=True)
    assert answer.status == 200
    assert [choice["finish_reason"] for one in answer.chunks for choice in one["choices"]][-1] == "length"
