"""What is judged of a large request is what would be judged of the same request, were it small."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import json_answer
from tests.support.judge import WordJudge
from tests.support.raw import call
from tests.support.shapes import completion
from tests.turns.conftest import Start

CHAT = "/v1/chat/completions"
FILLER = "x" * 300_000  # in a field that nobody judges
FILTER = '[safety]\nmode = "filter"'
PROSE = "The sea was calm. We went on and saw no one at all! Was it late? " * 40
WIDE = "\u6d77\u306f\u5e83\u3044\u3002\u98a8\u3082\u306a\u3044\u3002" * 90
EMOJI = "\U0001f600\U0001f680" * 90  # as escapes 2,160 bytes; 180 characters are short
SHORT_VALUES = {f"k{place}": word for place, word in enumerate(("we", "will", "kill", "them", "all"))}


def said(role: str, *texts: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": text} for text in texts]


def called(arguments: str) -> list[dict[str, Any]]:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    answer = {"role": "tool", "tool_call_id": "c", "content": "Done."}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]


CONVERSATIONS = {
    "one": said("user", PROSE),
    "padded": said("user", " " * 3000 + PROSE + "\n" * 3000, "And then?"),
    "blank ones between": said("user", "I will", " " * 3000, "\n" * 3000, " " * 70_000, "go on."),
    "two": said("user", PROSE, WIDE),
    "framed": [*said("system", PROSE), *said("user", WIDE, "Go on.")],
    "framed twice": [*said("developer", WIDE), *said("user", PROSE), *said("assistant", PROSE), *said("user", PROSE)],
    "short characters, many bytes": said("user", EMOJI, EMOJI, "Go on."),
    "not so short": said("user", WIDE, "Hello", "Go on."),
    "parts": [
        {"role": "user", "content": [{"type": "text", "text": text} for text in (PROSE, "and", WIDE)]},
        *said("user", PROSE),
    ],
    "calls": [*said("user", "Hi"), *called(json.dumps({**SHORT_VALUES, "code": PROSE})), *said("user", "Go on.")],
    "calls of wide letters": [*said("user", "Hi"), *called(json.dumps({"code": WIDE, **SHORT_VALUES}))],
    "a long call": [*said("user", "Hi"), *called(json.dumps({**SHORT_VALUES, "code": PROSE * 12}))],
    "an escaped text": said("user", PROSE + "\\u006bill " + PROSE, "Hi \\u006bill"),
}


def told(judge: WordJudge) -> list[tuple[str, str, Any]]:
    return sorted(
        (type(text).__name__, str(text), getattr(text, "parts", ())) for _, texts in judge.asked for text in texts
    )


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("kind", CONVERSATIONS)
async def test_the_same_is_judged(start: Start, kind: str, ascii_only: bool) -> None:
    judge = WordJudge(words={})
    running, upstream = await start(*[json_answer(completion())] * 2, judge=judge, more=FILTER)
    document = {"model": "m", "messages": CONVERSATIONS[kind]}
    found = []
    for body in (document, {**document, "x": FILLER}):
        judge.asked.clear()
        sent = json.dumps(body, ensure_ascii=ascii_only).encode()
        assert (await call(running.port, "POST", CHAT, body=sent)).status == 200
        judge.asked[:] = [asked for asked in judge.asked if asked[0].name == "PROMPT"]
        found.append(told(judge))
    assert found[0] == found[1]
    assert upstream.requests[0].document["messages"] == upstream.requests[1].document["messages"]
