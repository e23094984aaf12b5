"""What is judged by the head alone: path, method and key come before the body. And how many may ask at a time."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from antiphon.upstreams.scripted import json_answer, sse, wait
from tests.support.process import until
from tests.support.raw import Wire, call, connect, request
from tests.support.shapes import completion, hello
from tests.turns.conftest import Start

KEYS = """
[[key]]
name = "one"
secret = "env:K1"
[[key]]
name = "two"
secret = "env:K2"
dialect = "skytells"
max_requests = 2
"""
ENVIRON = {"K1": "sk-plain-0123456789", "K2": "sk-tells-0123456789"}
FIRST, SECOND = ({"authorization": f"Bearer {secret}"} for secret in ENVIRON.values())
CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
EXPECT = {"expect": "100-continue", "content-length": "100"}
BODY = {"content-length": "10000000"}
PACKED = {"content-encoding": "gzip", "content-length": "100000"}


@pytest.mark.parametrize("framing", [EXPECT, BODY, PACKED, {"transfer-encoding": "chunked"}])
@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("POST", CHAT, {}, 401, None),
        ("POST", CHAT, {"authorization": "Bearer sk-wrong-0123456789"}, 401, "invalid_api_key"),
        ("POST", "/v1/embeddings", {}, 401, None),
        ("POST", "/v1/nowhere", FIRST, 404, "unknown_url"),
        ("PUT", CHAT, FIRST, 405, "method_not_supported"),
        ("POST", "/healthz", FIRST, 405, "method_not_supported"),
        ("GET", "/v1/models", {}, 401, None),
    ],
)
async def test_a_head_is_refused_before_its_body_comes(
    start: Start, method: str, path: str, headers: dict[str, str], status: int, code: str, framing: dict[str, str]
) -> None:
    running, upstream = await start(server="auth = true", more=KEYS, environ=ENVIRON)
    wire = await connect(running.port)
    head = {"host": "g", **headers, **framing}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    await wire.send(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
    answer = await wire.answer()
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["connection"] == "close"
    assert ("allow" in answer.headers) == (status == 405)
    assert running.worker.server.bodies.held == 0
    assert not upstream.requests
    wire.close()


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/readyz", 200), ("/v1/models", 200)])
async def test_what_needs_no_body_is_answered_without_it(start: Start, path: str, status: int) -> None:
    running, _ = await start(server="auth = true", more=KEYS, environ=ENVIRON)
    wire = await connect(running.port)
    await wire.send(request("GET", path, headers={**FIRST, **EXPECT}))
    assert (await wire.answer()).status == status
    wire.close()


async def test_a_good_head_is_told_to_go_on(start: Start) -> None:
    running, upstream = await start(json_answer(completion()), server="auth = true", more=KEYS, environ=ENVIRON)
    wire = await connect(running.port)
    body = json.dumps(ASK).encode()
    await wire.send(request("POST", CHAT, headers={**FIRST, **EXPECT, "content-length": str(len(body))}))
    assert (await wire.head())[0] == 100
    await wire.send(body)
    assert (await wire.answer()).status == 200
    assert upstream.requests[0].document["messages"] == ASK["messages"]
    wire.close()


async def test_the_dialect_of_the_key_holds_where_the_body_came_later(start: Start) -> None:
    running, _ = await start(json_answer(completion()), server="auth = true", more=KEYS, environ=ENVIRON)
    wire = await connect(running.port)
    whole = request("POST", CHAT, json.dumps({**ASK, "user": "x" * 20_000}).encode(), SECOND)
    await wire.send(whole[:300])
    await wire.send(whole[300:])
    assert "prompt_filter_results" in (await wire.answer()).json
    wire.close()


async def test_a_preflight_with_a_body(start: Start) -> None:
    running, _ = await start(server='auth = true\ncors = ["*"]', more=KEYS, environ=ENVIRON)
    headers = {"origin": "https://a.example", "access-control-request-method": "POST", **BODY}
    wire = await connect(running.port)
    await wire.send(request("OPTIONS", CHAT, headers=headers))
    status, head = await wire.head()
    assert (status, head["access-control-allow-origin"]) == (204, "*")
    wire.close()


async def test_a_bomb_is_refused_by_its_ratio(start: Start) -> None:
    running, upstream = await start()
    bomb = gzip.compress(b" " * 20_000_000)
    answer = await call(running.port, "POST", CHAT, body=bomb, headers={"content-encoding": "gzip"})
    assert (answer.status, answer.json["error"]["code"]) == (413, "request_too_large")
    assert "100 to 1" in answer.json["error"]["message"]
    assert not upstream.requests


async def test_too_many_bodies_are_an_overload_in_the_dialect(start: Start) -> None:
    running, _ = await start(server="max_body = 50000\nmax_body_memory = 60000")
    held = await connect(running.port)
    await held.send(request("POST", CHAT, headers={"content-length": "50000"}) + b"x" * 49_000)
    await until(lambda: running.worker.server.bodies.held == 49_000)
    answer = await call(running.port, "POST", "/skytells" + CHAT, body=b"x" * 20_000)
    assert (answer.status, answer.headers["retry-after"], answer.json["error"]["code"]) == (503, "1", "overloaded")
    assert "error_id" in answer.json["error"]
    held.close()


# How many at a time


async def begin_stream(port: int, headers: dict[str, str] | None = None) -> Wire:
    wire = await connect(port)
    await wire.send(request("POST", CHAT, json.dumps({**ASK, "stream": True}).encode(), headers))
    assert (await wire.head())[0] == 200
    await wire.chunk()
    return wire


def assert_refused(answer: Any, whose: str) -> None:
    assert (answer.status, answer.json["error"]["code"]) == (429, "rate_limit_exceeded")
    assert answer.headers["retry-after"] == "1"
    assert whose in answer.json["error"]["message"]


@pytest.mark.parametrize("end", ["finish", "leave"])
async def test_requests_of_one_key_at_a_time(start: Start, end: str) -> None:
    more = asyncio.Event()
    scripts = [sse(*hello()[:2], wait(more), *hello()[2:])] * 2 + [json_answer(completion())] * 3
    running, upstream = await start(*scripts, server="auth = true", more=KEYS, environ=ENVIRON)
    wires = [await begin_stream(running.port, SECOND) for _ in range(2)]
    refused = await running.post(headers=SECOND)
    assert_refused(refused, "API key")
    assert "error_id" in refused.json["error"]
    assert (await running.post(headers=FIRST)).status == 200
    assert len(upstream.requests) == 3
    await finish(wires.pop(), more if end == "finish" else None)
    async with asyncio.timeout(5):
        while (await running.post(headers=SECOND)).status == 429:
            pass
    for wire in wires:
        wire.close()


async def finish(wire: Wire, more: asyncio.Event | None) -> None:
    """To the end of the stream, or away at once."""
    if more is None:
        wire.reset()
        return
    more.set()
    while await wire.chunk():
        pass
    wire.close()


async def test_the_servers_limit_holds_for_keys_that_have_none(start: Start) -> None:
    never = asyncio.Event()
    scripts = [sse(*hello()[:2], wait(never))] * 4
    settings = "auth = true\nmax_key_requests = 1"
    running, _ = await start(*scripts, server=settings, more=KEYS, environ=ENVIRON)
    wires = [await begin_stream(running.port, headers) for headers in (FIRST, SECOND, SECOND)]
    assert_refused(await running.post(headers=FIRST), "API key")
    assert_refused(await running.post(headers=SECOND), "API key")
    for wire in wires:
        wire.close()


async def test_requests_of_one_address_at_a_time(start: Start) -> None:
    never = asyncio.Event()
    scripts = [sse(*hello()[:2], wait(never)), *[json_answer(completion())] * 6]
    running, _ = await start(*scripts, server="max_client_requests = 1")
    wire = await begin_stream(running.port)
    for path in (CHAT, "/skytells" + CHAT, "/maritaca/api/chat/completions", "/crazyrouter" + CHAT):
        assert_refused(await running.post(path), "address")
    assert (await running.get("/v1/models")).status == 200
    assert (await running.get("/healthz")).status == 200
    wire.reset()
    async with asyncio.timeout(5):
        while (await running.post()).status == 429:
            pass
    for _ in range(3):  # one after another
        assert (await running.post()).status == 200
    assert (await running.post(temperature=9)).status == 400
    assert (await running.post(temperature=9)).status == 400
