"""A large request reaches the upstream as the same JSON as it would, were it small; it is refused for the same."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from antiphon.chat.outline import ENDS, LONG
from antiphon.upstreams.scripted import ScriptedUpstream, error, json_answer
from tests.support.gateway import gateway, to_one
from tests.support.raw import Answer, call
from tests.support.shapes import completion
from tests.turns.conftest import Start

CHAT = "/v1/chat/completions"
FILLER = "x" * 300_000
LETTERS = ["a", " ", "\n", '"', "\\", "/", "\x01", "\u00e9", "\u6d77", "\U0001f600", "\\u0041", "{", "]", ":", "<", ">"]


@cache
def ways(letter: str) -> tuple[str, ...]:
    """The ways in which a character may be written."""
    plain = json.dumps(letter, ensure_ascii=False)[1:-1]
    units = letter.encode("utf-16-be").hex()
    code = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return tuple(way.replace("/", "\\/") for way in (plain, plain, code, code.upper().replace("\\U", "\\u")))


def spell(text: str, chance: random.Random) -> str:
    """A JSON string; each character in one of the ways in which it may be written."""
    numbers = chance.choices(range(4), k=len(text))
    return '"' + "".join([ways(letter)[number] for letter, number in zip(text, numbers, strict=True)]) + '"'


@pytest.mark.parametrize("seed", range(6))
async def test_any_spelling_arrives(start: Start, seed: int) -> None:
    chance = random.Random(seed)
    texts = ["".join(chance.choices(LETTERS, k=chance.randrange(300, 40_000))) for _ in range(8)]
    texts += ["y" * size for size in (LONG - 1, LONG, LONG + 1, 2 * ENDS[1], 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1)]
    chance.shuffle(texts)
    messages = ",".join(f'{{"role":"user", "content" : {spell(text, chance)} }}' for text in texts)
    gap = " " * chance.randrange(70_000)
    body = f'{{"model":"m","x":{gap}12345678{gap},"y":{json.dumps(FILLER)},"messages":[{messages}]}}'.encode()
    running, upstream = await start(*[json_answer(completion())] * 2)
    for sent, more in ((body, {}), (gzip.compress(body), {"content-encoding": "gzip"})):
        answer = await call(running.port, "POST", CHAT, body=sent, headers=more)
        assert answer.status == 200
        got = upstream.requests[-1].document
        assert [message["content"] for message in got["messages"]] == texts
        assert (got["x"], got["y"]) == (12345678, FILLER)


BROKEN = {
    "a name twice": b'"user":"%b","user":"%b"' % (b"a" * 5000, b"b" * 5000),
    "a look-alike": b'"Messages":[{"role":"user","content":"%b"}]' % (b"a" * 5000),
    "an escaped name": b'"\\u006dessages":[{"role":"user","content":"%b"}]' % (b"a" * 5000),
    "a half of a character": b'"user":"%b\\ud83d%b"' % (b"a" * 5000, b"b" * 5000),
    "a forged mark": b'"user":"%b<%b000000........>%b"' % (b"a" * 5000, b"0" * 32, b"b" * 5000),
    "a control character": b'"user":"%b\x01%b"' % (b"a" * 5000, b"b" * 5000),
    "an escape of one letter": b'"user":"%b\\x%b"' % (b"a" * 5000, b"b" * 5000),
    "no value": b'"user":',
    "a role": b'"messages":[{"role":"%b","content":""}]' % (b"r" * 2100),
    "a format": b'"response_format":{"type":"%b"}' % (b"r" * 2100),
    "a name of a tool": b'"tools":[{"type":"function","function":{"name":"%b"}}]' % (b"n" * 2100),
    "an identifier": b'"safety_identifier":"%b"' % (b"n" * 2100),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("strict", ["0", "1"])
async def test_it_is_refused_for_the_same(start: Start, kind: str, strict: str) -> None:
    running, upstream = await start(*[json_answer(completion())] * 2)
    answers: list[tuple[Answer, Any]] = []
    for filler in (b"", FILLER.encode()):
        head = b'{"model":"m","messages":[{"role":"user","content":"Hi%b"}],' % filler
        answer = await call(
            running.port, "POST", CHAT, body=head + BROKEN[kind] + b"}", headers={"x-antiphon-strict": strict}
        )
        sent = {**upstream.requests[-1].document, "messages": ...} if answer.status == 200 else answer.json
        answers.append((answer, sent))
    (small, told), (large, told_of_large) = answers
    assert (small.status, told) == (large.status, told_of_large)


async def test_a_second_target_gets_all_of_it(tmp_path: Path) -> None:
    document = {"model": "m", "messages": [{"role": "user", "content": "\u6d77 \U0001f600" * 90_000}], "seed": 7}
    first, second = ScriptedUpstream([error(503)]), ScriptedUpstream([json_answer(completion())])
    urls = await first.start(), await second.start()
    settings = to_one(urls[0]).replace("targets = [", 'targets = [{ upstream = "b", priority = 2, model = "t" }, ')
    settings += f'\n[[upstream]]\nname = "b"\nprotocol = "openai"\nurl = "{urls[1]}"\n'
    try:
        async with gateway(tmp_path, settings) as running:
            answer = await call(running.port, "POST", CHAT, body=json.dumps(document).encode())
            assert answer.status == 200
            assert len(first.requests) == 1
            assert second.requests[0].document["messages"] == document["messages"]
    finally:
        await first.stop()
        await second.stop()


async def test_tokens_are_counted_alike(start: Start) -> None:
    silent = {key: value for key, value in completion().items() if key != "usage"}
    route = '[[route]]\nmodel = "gpt-4o"\ntargets = [{ upstream = "up" }]'
    running, _ = await start(*[json_answer(silent)] * 2, more=route)
    messages = [{"role": "user", "content": "The sea was calm. We went on! \u6d77" * 200}] * 4
    counted = []
    for filler in ("", FILLER):
        body = json.dumps({"model": "gpt-4o", "messages": messages, "x": filler}).encode()
        counted.append((await call(running.port, "POST", CHAT, body=body)).json["usage"]["prompt_tokens"])
    assert counted[0] == counted[1]
