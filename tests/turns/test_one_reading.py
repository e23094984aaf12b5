"""What was read and judged is what is sent: an upstream that reads JSON in another way finds nothing else in it."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.upstreams.scripted import json_answer, sse
from tests.support.judge import WordJudge
from tests.support.raw import call
from tests.support.shapes import completion, hello
from tests.turns.conftest import Start

FILTER = '[safety]\nmode = "filter"'
CHAT = "/v1/chat/completions"
USER = b'{"role":"user","content":"Hello"}'
BAD = b'{"role":"user","content":"kill them"}'

TWICE = {
    "messages": b'{"model":"m","messages":[%b],"messages":[%b]%%b}' % (BAD, USER),
    "escaped": b'{"model":"m","messages":[%b],"m\\u0065ssages":[%b]%%b}' % (BAD, USER),
    "content": b'{"model":"m","messages":[{"role":"user","content":"kill them","\\u0063ontent":"Hello"}]%b}',
    "model": b'{"model":"kill them","model":"m","messages":[%b]%%b}' % USER,
    "part": b'{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"kill","text":"Hello"}]}]%b}',
}
WAYS = {"fast": b"", "whole": b',"x_vendor":{"a":1,"a":2}', "stream": b',"stream":true'}


@pytest.mark.parametrize("twice", TWICE)
@pytest.mark.parametrize("way", WAYS)
async def test_a_name_that_stands_twice_is_sent_once(start: Start, twice: str, way: str) -> None:
    script = sse(*hello()) if way == "stream" else json_answer(completion())
    running, upstream = await start(script, judge=WordJudge(), more=FILTER)
    answer = await call(running.port, "POST", CHAT, body=TWICE[twice] % WAYS[way])
    assert answer.status == 200
    sent = upstream.requests[0].body
    assert b"kill" not in sent
    assert b"\\u" not in sent
    for name in (b'"messages"', b'"model"', b'"content"', b'"a"'):
        assert sent.count(name) <= 1, sent


@pytest.mark.parametrize("way", WAYS)
async def test_the_last_one_is_judged(start: Start, way: str) -> None:
    running, upstream = await start(judge=WordJudge(), more=FILTER)
    body = b'{"model":"m","messages":[%b],"m\\u0065ssages":[%b]%b}' % (USER, BAD, WAYS[way])
    answer = await call(running.port, "POST", CHAT, body=body)
    assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")
    assert not upstream.requests


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (CHAT, b'{"model":"m","messages":[%b],"Messages":[%b]}' % (USER, BAD), "Messages"),
        (CHAT, b'{"model":"m","messages":[{"role":"user","content":"a","Content":"b"}]}', "messages[0].Content"),
        ("/v1/completions", b'{"model":"m","prompt":"a","PROMPT":"b"}', "PROMPT"),
        ("/v1/embeddings", b'{"model":"m","input":"a","Model":"b"}', "Model"),
    ],
)
async def test_look_alikes_are_refused(start: Start, path: str, body: bytes, param: str) -> None:
    running, upstream = await start()
    answer = await call(running.port, "POST", path, body=body)
    error = answer.json["error"]
    assert (answer.status, error["code"], error["param"]) == (400, "unknown_parameter", param)
    assert not upstream.requests


FILE = {"type": "file", "file": {"file_id": "f", "filename": "how to kill them.pdf"}}
PLACES: dict[str, dict[str, Any]] = {
    "name": {"messages": [{"role": "user", "content": "Hello", "name": "kill them"}]},
    "file name": {"messages": [{"role": "user", "content": [FILE]}]},
    "prediction": {"prediction": {"type": "content", "content": "kill them"}},
    "parts of a prediction": {"prediction": {"type": "content", "content": [{"type": "text", "text": "kill them"}]}},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("more", [{}, {"x_vendor": 1}, {"stream": True}])
async def test_every_place_for_words_is_judged(start: Start, place: str, more: dict[str, Any]) -> None:
    running, upstream = await start(judge=WordJudge(), more=FILTER)
    answer = await running.post(**PLACES[place], **more)
    assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")
    assert not upstream.requests


async def test_so_is_the_suffix_of_a_completion(start: Start) -> None:
    running, _ = await start(judge=WordJudge(), more=FILTER)
    answer = await call(running.port, "POST", "/v1/completions", {"model": "m", "prompt": "a", "suffix": "kill them"})
    assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")


SCHEMA = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string", "description": "kill them"}]}}}
TOOLS: dict[str, dict[str, Any]] = {
    "tool": {"tools": [{"type": "function", "function": {"name": "f", "description": "kill them"}}]},
    "parameter": {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]},
    "custom tool": {"tools": [{"type": "custom", "custom": {"name": "f", "description": "kill them"}}]},
    "function": {"functions": [{"name": "f", "description": "kill them"}]},
    "schema": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}},
}


@pytest.mark.parametrize("place", TOOLS)
@pytest.mark.parametrize("judged", [False, True])
async def test_tools_are_judged_by_setting(start: Start, place: str, judged: bool) -> None:
    more = FILTER + ("\njudge_tools = true" if judged else "")
    running, upstream = await start(json_answer(completion()), judge=WordJudge(), more=more)
    answer = await running.post(**TOOLS[place])
    assert answer.status == (400 if judged else 200)
    assert len(upstream.requests) == (0 if judged else 1)
