"""Large requests with long texts: they are not parsed whole, and yet nothing differs from small ones."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import json_answer
from tests.support.gateway import gateway, to_one
from tests.support.judge import WordJudge
from tests.support.raw import call
from tests.support.shapes import completion
from tests.turns.conftest import Start

CHAT = "/v1/chat/completions"
TEXT = 'It was the best of times, it was the \u6d77 of \U0001f600 times. \\u006b " \\\n' * 9_000  # more than LARGE
ASK = [{"role": "user", "content": TEXT}]
FILTER = '[safety]\nmode = "filter"'
DOCUMENT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief.", "name": "n" * 3000},
        {"role": "user", "content": [{"type": "text", "text": TEXT}, {"type": "vendor", "deep": [[TEXT[:5000]]]}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c" * 9, "type": "function", "function": {"name": "f", "arguments": json.dumps({"a": TEXT})}}]},
        {"role": "tool", "tool_call_id": "c" * 9, "content": "short"},
    ],
    "x": {"y": TEXT[:2500], "\u6d77": 1.5},
    "metadata": {"a": "b"},
    "user": "u" * 5000,
}  # fmt: skip


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("indent", [None, 9])
async def test_all_of_a_large_request_travels(start: Start, ascii_only: bool, indent: int | None) -> None:
    running, upstream = await start(json_answer(completion()))
    body = json.dumps(DOCUMENT, ensure_ascii=ascii_only, indent=indent).encode()
    assert (await call(running.port, "POST", CHAT, body=body)).status == 200
    assert upstream.requests[0].document == {**DOCUMENT, "model": "target"}


@pytest.mark.parametrize(
    ("path", "asked"),
    [("/v1/completions", {"prompt": [TEXT, "b"]}), ("/v1/embeddings", {"input": [TEXT, "b"]})],
)
async def test_all_of_it_travels_to_the_other_endpoints(start: Start, path: str, asked: dict[str, Any]) -> None:
    running, upstream = await start(json_answer({"object": "list", "data": [], "choices": []}))
    await call(running.port, "POST", path, body=json.dumps({"model": "m", **asked}).encode())
    assert upstream.requests[0].document == {"model": "target", **asked}


async def test_large_requests_follow_each_other_on_a_connection(start: Start) -> None:
    running, upstream = await start(*[json_answer(completion())] * 3)
    for _ in range(3):
        assert (await running.post(CHAT, messages=ASK)).status == 200
    assert [request.document["messages"] for request in upstream.requests] == [ASK] * 3


async def test_an_answer_may_come_before_all_was_sent(tmp_path: Path) -> None:
    """The connection is not used again: the rest of the request was not written."""
    connections, over = 0, asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        await over.wait()
        writer.transport.abort()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, gateway(tmp_path, to_one(url)) as running:
        for count in (1, 2):
            answer = await running.post(CHAT, messages=[{"role": "user", "content": "a" * 18_000_000}])
            assert answer.status == 413
            assert connections == count
        over.set()


@pytest.mark.parametrize("place", [0, 40, 100_000, 700_000, 1_400_000])
@pytest.mark.parametrize("spelled", ["kill them", "\\u006bill them"])
async def test_a_word_is_found_wherever_it_stands(start: Start, place: int, spelled: str) -> None:
    running, upstream = await start(judge=WordJudge(), more=FILTER)
    text = ("a b " * 350_000)[:place] + spelled + ("a b " * 350_000)[place:]
    for content in (text, [{"type": "text", "text": text}], [{"type": "vendor", "words": text}]):
        answer = await running.post(CHAT, messages=[{"role": "user", "content": content}])
        assert answer.status == 400
        assert answer.json["error"]["code"] == "content_filter"
    assert upstream.requests == []


async def test_a_file_in_a_part_is_no_text(start: Start) -> None:
    judge = WordJudge()
    running, _ = await start(json_answer(completion()), judge=judge, more=FILTER)
    parts = [{"type": "vendor", "file": "QUFB" * 200_000}, {"type": "text", "text": "Hello"}]
    assert (await running.post(CHAT, messages=[{"role": "user", "content": parts}])).status == 200
    assert sum(len(text) for _, texts in judge.asked for text in texts) < 1000


async def test_all_of_a_large_prompt_counts_to_the_longest(start: Start) -> None:
    running, _ = await start(json_answer(completion()), judge=WordJudge(), more=FILTER + "\nmax_text = 500000")
    answer = await running.post(CHAT, messages=[{"role": "user", "content": "a " * 250_001}])
    assert (answer.status, answer.json["error"]["code"]) == (400, "prompt_too_long")
    assert (await running.post(CHAT, messages=[{"role": "user", "content": "a " * 249_990}])).status == 200


async def test_moderations_of_long_texts(start: Start) -> None:
    running, _ = await start(judge=WordJudge())
    long = "a b " * 100_000
    answer = await call(
        running.port, "POST", "/v1/moderations", body=json.dumps({"input": [long, long + "kill them" + long]}).encode()
    )
    assert [result["flagged"] for result in answer.json["results"]] == [False, True]


@pytest.mark.parametrize(
    ("more", "param", "said"),
    [
        ({"model": "m" * 5000}, "model", "string too long"),
        ({"metadata": {"a": "v" * 5000}}, "metadata.a", "with length 5000 instead"),
        ({"metadata": {"a": "v" * 2049}}, "metadata.a", "with length 2049 instead"),
        ({"metadata": {"a": "\u6d77" * 700}}, "metadata.a", "with length 700 instead"),
        ({"messages": [{"role": "r" * 5000, "content": ""}]}, "messages[0].role", "Invalid value: 'rrr"),
        ({"user": ["u" * 5000]}, "user", "expected a string, but got an array"),
    ],
)
async def test_faults_are_told_as_in_small_requests(start: Start, more: dict[str, Any], param: str, said: str) -> None:
    running, _ = await start()
    answer = await running.post(CHAT, **{"messages": ASK, "x": TEXT, **more})
    assert answer.status == 400
    assert answer.json["error"]["param"] == param
    assert said in answer.json["error"]["message"]
    assert "<" not in answer.json["error"]["message"]


async def test_the_word_json_is_found_in_a_long_text(start: Start) -> None:
    running, _ = await start(*[json_answer(completion())] * 2)
    asked = {"response_format": {"type": "json_object"}}
    for text, status in ((TEXT + "Json" + TEXT, 200), (TEXT, 400)):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **asked}).encode()
        answer = await call(running.port, "POST", CHAT, body=body, headers={"x-antiphon-strict": "1"})
        assert answer.status == status


async def test_tokens_of_a_large_prompt_are_counted(start: Start) -> None:
    silent = {key: value for key, value in completion().items() if key != "usage"}
    running, _ = await start(json_answer(silent))
    answer = await running.post(CHAT, messages=[{"role": "user", "content": "four" * 2_000_000}])
    assert answer.json["usage"]["prompt_tokens"] == pytest.approx(2_000_000, rel=0.01)
