"""Scripts, step by step, and the faults by model name, as a client on a raw socket sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from antiphon.upstreams.scripted import (
    FAULTS,
    Received,
    Script,
    ScriptedUpstream,
    cut,
    error,
    hang,
    json_answer,
    raw,
    reset,
    sse,
    wait,
)
from antiphon.upstreams.scripted.faults import find
from antiphon.upstreams.scripted.language import ScriptedAnswer
from antiphon.upstreams.scripted.openai import OpenAILanguage
from antiphon.upstreams.scripted.reply import Reply

Start = Callable[..., Awaitable[ScriptedUpstream]]
SECONDS = 5


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    running: list[ScriptedUpstream] = []

    async def start(scripts: Any = None) -> ScriptedUpstream:
        upstream = ScriptedUpstream(scripts)
        await upstream.start()
        running.append(upstream)
        return upstream

    yield start
    for upstream in running:
        await upstream.stop()


async def connect(upstream: ScriptedUpstream) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(upstream.url.split(":")[2].split("/")[0]))


def request(document: Any = None, headers: str = "") -> bytes:
    body = json.dumps(document or {"model": "m", "messages": []}).encode()
    head = f"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


async def talk(upstream: ScriptedUpstream, data: bytes) -> bytes:
    """Everything that comes back until the upstream closes."""
    reader, writer = await connect(upstream)
    writer.write(data)
    async with asyncio.timeout(SECONDS):
        answer = await reader.read()
    writer.close()
    return answer


async def test_what_was_received(start: Start) -> None:
    upstream = await start([raw(b"HTTP/1.1 204 No Content\r\n\r\n", cut())])
    assert await talk(upstream, request({"model": "m", "a": 1}, "X-Thing: 1\r\n")) == b"HTTP/1.1 204 No Content\r\n\r\n"
    (received,) = upstream.requests
    assert (received.method, received.path, received.query) == ("POST", "/v1/chat/completions", "x=1")
    assert received.headers["x-thing"] == "1"
    assert received.document == {"model": "m", "a": 1}


async def test_chunked_request_body_and_expectation(start: Start) -> None:
    upstream = await start([raw(b"ok", cut())])
    reader, writer = await connect(upstream)
    writer.write(b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n")
    async with asyncio.timeout(SECONDS):
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        writer.write(b'3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\n\r\n')
        assert await reader.read() == b"\r\nok"
    assert upstream.requests[0].document == {"a": 1}
    writer.close()


async def test_scripts_in_order_on_one_connection(start: Start) -> None:
    upstream = await start([json_answer({"n": 1}), error(429, {"e": 1}, {"retry-after": "7"}), raw(cut())])
    answer = await talk(upstream, request() * 3)
    assert b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"n":1}' in answer
    assert b"HTTP/1.1 429 Too Many Requests" in answer
    assert b"retry-after: 7" in answer
    assert len(upstream.requests) == 3


async def test_more_requests_than_scripts(start: Start) -> None:
    upstream = await start([])
    assert b"no script is left" in await talk(upstream, request(headers="connection: close\r\n"))


async def test_a_script_by_function(start: Start) -> None:
    def scripts(received: Received) -> Script:
        return json_answer({"you": received.document["model"]}) + cut()

    assert b'{"you":"m"}' in await talk(await start(scripts), request())


async def test_an_event_stream_with_steps_between(start: Start) -> None:
    go = asyncio.Event()
    upstream = await start([sse({"a": 1}, wait(go), b": comment\n\n", wait(0.01), {"b": 2}, done=True) + cut()])
    reader, writer = await connect(upstream)
    writer.write(request())
    async with asyncio.timeout(SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"content-type: text/event-stream" in head
        assert await reader.readexactly(20) == b'f\r\ndata: {"a":1}\n\n\r\n'
        assert not upstream.requests[0].answered.is_set()
        go.set()
        rest = await reader.read()
    assert rest == b'b\r\n: comment\n\n\r\nf\r\ndata: {"b":2}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n'
    writer.close()


async def test_reset_is_a_reset(start: Start) -> None:
    upstream = await start([raw(reset())])
    with pytest.raises(ConnectionResetError):
        await talk(upstream, request())


async def test_closed_is_set_when_the_client_goes(start: Start) -> None:
    upstream = await start([raw(b"HTTP/1.1 200 OK\r\n\r\n", hang())])
    reader, writer = await connect(upstream)
    writer.write(request())
    async with asyncio.timeout(SECONDS):
        await reader.readuntil(b"\r\n\r\n")
        assert not upstream.requests[0].closed.is_set()
        writer.close()
        await upstream.requests[0].closed.wait()
    assert not upstream.requests[0].answered.is_set()


async def test_a_slow_reader_holds_the_script_back(start: Start) -> None:
    upstream = await start([sse(*[b"x" * 65536] * 400)])
    reader, writer = await connect(upstream)
    writer.write(request())
    async with asyncio.timeout(SECONDS):
        await reader.readexactly(100)
        assert not upstream.requests[0].answered.is_set()
        total = 100
        while total < 400 * 65536:
            total += len(await reader.read(1 << 20))
        await upstream.requests[0].answered.wait()
    writer.close()


@pytest.mark.parametrize(
    "data", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n", b"a b c\r\nd\r\n\r\n"]
)
async def test_what_is_no_request_is_answered_400(start: Start, data: bytes) -> None:
    assert (await talk(await start(), data)).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("path", "status"), [("/v1/models", 200), ("/v1/models/scripted-slow", 200), ("/v1/models/no", 404), ("/x", 404)]
)
async def test_other_paths(start: Start, path: str, status: int) -> None:
    answer = await talk(await start(), f"GET {path} HTTP/1.1\r\nconnection: close\r\n\r\n".encode())
    assert int(answer.split(b" ")[1]) == status


LAST = {  # what the answer ends with, where that tells the fault
    "scripted-no-done": b'"finish_reason":"stop"}]}\n\n\r\n0\r\n\r\n',
    "scripted-twice-done": b"data: [DONE]\n\n\r\n0\r\n\r\n",
    "scripted-nonsense": b"this is not HTTP\r\n\r\n",
    "scripted-close": b"",
}
SAME_LENGTH = {  # at least in one of both forms
    *("scripted-bytes", "scripted-no-done", "scripted-twice-done"),
    *("scripted-cached", "scripted-redacted"),
}
SILENT = {"scripted-hang", "scripted-stall"}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", sorted(FAULTS.keys() - SILENT - {"scripted-slow", "scripted-reset"}))
async def test_every_fault_is_played(start: Start, model: str, stream: bool) -> None:
    document = {"model": f"any/{model}", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
    answer = await talk(await start(), request(document, "connection: close\r\n"))
    plain = await talk(await start(), request({**document, "model": "plain"}, "connection: close\r\n"))
    assert len(answer) != len(plain) or model in SAME_LENGTH
    if stream and model in LAST:
        assert answer.endswith(LAST[model])
    assert (b"finish_reason" in answer.replace(b'"finish_reason":null', b"")) is not (
        model in {"scripted-truncated", "scripted-cut", "scripted-close", "scripted-nonsense", "scripted-malformed"}
        or model in {"scripted-error-first", "scripted-error-late", "scripted-no-choices"}
        or model in {"scripted-bad-frame", "scripted-blocked"}
    )


@pytest.mark.parametrize("model", sorted(SILENT))
async def test_silence_lasts_until_the_client_goes(start: Start, model: str) -> None:
    upstream = await start(
        lambda received: find(model)(ScriptedAnswer(OpenAILanguage(), received.document, (Reply("a b c d"),), 0))
    )
    reader, writer = await connect(upstream)
    writer.write(request({"model": model, "stream": True, "messages": []}))
    async with asyncio.timeout(SECONDS):
        if model == "scripted-stall":
            assert b'"role":"assistant"' in await reader.readuntil(b"\n\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readuntil(b"[DONE]"), 0.1)
        writer.close()
        await upstream.requests[0].closed.wait()


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503, 529])
async def test_any_status_by_name(start: Start, status: int) -> None:
    document = {"model": f"scripted-error-{status}", "messages": []}
    answer = await talk(await start(), request(document, "connection: close\r\n"))
    assert int(answer.split(b" ")[1]) == status
    assert (b"retry-after" in answer) is (status in (429, 503))


async def test_a_worker_s_own_fake_keeps_nothing(start: Start) -> None:
    upstream = await start()
    await talk(upstream, request(headers="connection: close\r\n"))
    assert upstream.requests == []


def test_on_a_unix_socket_and_uvloop(tmp_path: Path) -> None:
    path = tmp_path / "up.sock"

    async def story() -> bytes:
        upstream = ScriptedUpstream()
        url = await upstream.start(unix=str(path))
        assert url == f"http+unix://{str(path).replace('/', '%2F')}/v1"
        reader, writer = await asyncio.open_unix_connection(str(path))
        document = {"model": "scripted-reset", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        writer.write(request(document))
        async with asyncio.timeout(SECONDS):
            answer = await reader.read()
        writer.close()
        await upstream.stop()
        return answer

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answer = runner.run(story())
    assert b'"role":"assistant"' in answer
    assert b"[DONE]" not in answer
    assert not path.exists()
