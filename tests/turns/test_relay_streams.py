"""Relayed bodies on their way: slow ends, ends that leave, limits, keys, log lines, safety."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.http.client_kit import CERTS
from tests.support.gateway import Running
from tests.support.judge import WordJudge
from tests.support.raw import Answer, Wire, call, connect, request
from tests.support.relay import FORM, Play, RelayUpstream, form, sha
from tests.turns.conftest import StartRelay

NOISE = random.Random(7).randbytes(1_000_000)
MIB = 1024 * 1024
SPEECH = b'{"model": "m", "input": "x"}'


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Waits for what has no event."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def held(running: Running) -> int:
    """Bytes of bodies that the worker holds."""
    return running.worker.server.bodies.held


def head(length: int, path: str = "/v1/files") -> bytes:
    return request("POST", path, headers={**FORM, "content-length": str(length)})


async def send_until_stuck(wire: Wire, data: bytes, times: int) -> int:
    """How many bytes the other end took before it stopped to read."""
    taken = 0
    for _ in range(times):
        wire.writer.write(data)
        try:
            await asyncio.wait_for(wire.writer.drain(), 0.5)
        except TimeoutError:
            break
        taken += len(data)
    return taken


# Back-pressure


async def test_an_upstream_that_does_not_read_stops_the_client(start_relay: StartRelay) -> None:
    hold = asyncio.Event()
    upstream = RelayUpstream(Play(hold=hold))
    running = await start_relay(upstream)
    wire = await connect(running.port)
    await wire.send(head(100 * len(NOISE)))
    taken = await send_until_stuck(wire, NOISE, 100)
    assert taken < 50 * len(NOISE)  # the rest is the kernel's, at both ends
    assert held(running) < 3 * MIB
    hold.set()
    wire.writer.write(NOISE * (100 - taken // len(NOISE) - 1))  # one is in the writer already
    assert (await wire.answer()).status == 200
    assert upstream.got[0].size == 100 * len(NOISE)
    wire.close()
    assert held(running) == 0


async def test_a_client_that_does_not_read_stops_the_upstream(start_relay: StartRelay) -> None:
    upstream = RelayUpstream(Play(NOISE, repeat=100))
    running = await start_relay(upstream)
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port, limit=65536)
    writer.write(request("GET", "/v1/files/f/content"))
    await reader.readuntil(b"\r\n\r\n")
    before = -1
    while upstream.sent != before:
        before = upstream.sent
        await asyncio.sleep(0.3)
    assert before < 50 * len(NOISE)  # the rest is the kernel's, at both ends
    size = 0
    while size < 100 * len(NOISE):
        size += len(await asyncio.wait_for(reader.read(1 << 20), 10))
    assert size == 100 * len(NOISE)
    writer.close()


async def test_a_large_upload_holds_little(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    wire = await connect(running.port)
    await wire.send(head(60 * len(NOISE)))
    most = 0
    for _ in range(60):
        await wire.send(NOISE)
        most = max(most, held(running))
    assert (await wire.answer()).status == 200
    assert upstream.got[0].digest == sha(NOISE * 60)
    assert most < 3 * MIB
    wire.close()


# Ends that leave


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_client_that_leaves_inside_its_upload_ends_the_upstreams(start_relay: StartRelay, how: str) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    wire = await connect(running.port)
    await wire.send(head(10 * len(NOISE)) + NOISE)
    await until(lambda: bool(upstream.got))
    getattr(wire, how)()
    await until(lambda: upstream.got[0].is_cut)
    await until(lambda: held(running) == 0)


async def test_a_client_that_leaves_inside_its_answer_ends_the_upstreams(start_relay: StartRelay) -> None:
    upstream = RelayUpstream(Play(NOISE, repeat=100))
    running = await start_relay(upstream)
    wire = await connect(running.port)
    await wire.send(request("GET", "/v1/files/f/content"))
    await wire.head()
    wire.reset()
    await until(lambda: upstream.got[0].is_cut)


async def test_an_upstream_that_dies_inside_the_upload_is_a_502(start_relay: StartRelay) -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1000)
        writer.transport.abort()

    server = await asyncio.start_server(die, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    more = f'[[upstream]]\nname = "u0"\nprotocol = "openai"\nurl = "http://127.0.0.1:{port}/v1"\n'
    running = await start_relay(targets='{ upstream = "u0" }', more=more)
    wire = await connect(running.port)
    await wire.send(head(10 * len(NOISE)) + NOISE)
    answer = await wire.answer()
    assert (answer.status, answer.headers["connection"]) == (502, "close")
    wire.close()
    server.close()


async def test_an_answer_before_the_end_of_the_upload_is_told_at_once(start_relay: StartRelay) -> None:
    said = b'{"error": {"message": "too large for us", "code": "file_too_large"}}'
    running = await start_relay(RelayUpstream(Play(said, 413, early=True)))
    wire = await connect(running.port)
    await wire.send(head(10 * len(NOISE)) + NOISE)
    answer = await wire.answer()
    assert (answer.status, answer.json["error"]["message"]) == (413, "too large for us")
    assert answer.headers["connection"] == "close"
    wire.close()


@pytest.mark.parametrize("path", ["/v1/audio/transcriptions", "/v1/nowhere", "/v1/files"])
async def test_a_client_that_reads_only_after_its_upload_is_told_why_it_was_refused(
    start_relay: StartRelay, path: str
) -> None:
    running = await start_relay(RelayUpstream(), upstream='offers = ["audio/transcriptions"]')
    body = form(("model", b"nobody"), ("file", NOISE * (80 if path != "/v1/nowhere" else 10), "f"))
    answer = await call(running.port, "POST", path, body=body, headers=FORM)
    assert answer.status == 404


async def test_a_client_that_stops_sending_is_told_408(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream, server="body_timeout = 0.3")
    wire = await connect(running.port)
    await wire.send(head(10 * len(NOISE)) + NOISE)
    answer = await wire.answer()
    assert (answer.status, answer.json["error"]["code"]) == (408, "timeout")
    await until(lambda: upstream.got[0].is_cut)
    wire.close()


async def test_a_broken_chunk_is_told_400(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    wire = await connect(running.port)
    begun = request("POST", "/v1/files", headers={**FORM, "transfer-encoding": "chunked"})
    await wire.send(begun.replace(b"content-length: 0\r\n", b"") + b"5\r\nhello\r\n")
    await until(lambda: bool(upstream.got))
    await wire.send(b"zz\r\n")
    assert (await wire.answer()).status == 400
    await until(lambda: upstream.got[0].is_cut)
    wire.close()


async def test_requests_that_follow_an_upload_are_answered_in_order(start_relay: StartRelay) -> None:
    upstream = RelayUpstream(Play(b'{"n":1}'), Play(b'{"n":2}'), Play(b'{"n":3}'))
    running = await start_relay(upstream)
    wire = await connect(running.port)
    body = form(("file", NOISE, "f"))
    both = head(len(body)) + body + head(len(body)) + body + request("GET", "/v1/files/f")
    sending = asyncio.ensure_future(wire.send(both))
    assert [(await wire.answer()).json["n"] for _ in range(3)] == [1, 2, 3]
    await sending
    assert [got.digest for got in upstream.got[:2]] == [sha(body)] * 2
    wire.close()


async def test_expect_is_answered_before_the_upload(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    wire = await connect(running.port)
    body = form(("file", NOISE * 30, "f"))
    await wire.send(
        request("POST", "/v1/files", headers={**FORM, "content-length": str(len(body)), "expect": "100-continue"})
    )
    assert await asyncio.wait_for(wire.reader.readuntil(b"\r\n\r\n"), 5) == b"HTTP/1.1 100 Continue\r\n\r\n"
    await wire.send(body)
    assert (await wire.answer()).status == 200
    assert upstream.got[0].digest == sha(body)
    wire.close()


async def test_no_memory_for_an_upload_is_503(start_relay: StartRelay) -> None:
    running = await start_relay(RelayUpstream(), server="max_body = 3000000\nmax_body_memory = 3000000")
    wires = [await connect(running.port) for _ in range(2)]
    behind = form(("file", NOISE * 4, "f"), ("model", b"m"))  # held until the model is found
    for wire in wires:
        wire.writer.write(head(len(behind), "/v1/audio/transcriptions") + behind[:2_000_000])
    done, _ = await asyncio.wait(
        {asyncio.ensure_future(wire.answer()) for wire in wires}, return_when="FIRST_COMPLETED"
    )
    [answer] = [one.result() for one in done]
    assert (answer.status, answer.json["error"]["code"], answer.headers["retry-after"]) == (503, "overloaded", "1")
    for wire in wires:
        wire.reset()
    await until(lambda: held(running) == 0)


async def test_uploads_wait_for_their_turn_at_the_upstream(start_relay: StartRelay) -> None:
    hold = asyncio.Event()
    upstream = RelayUpstream(Play(hold=hold), Play())
    running = await start_relay(upstream, upstream="max_concurrent = 1")
    body = form(("file", NOISE * 5, "f"))
    uploads = [
        asyncio.ensure_future(call(running.port, "POST", "/v1/files", body=body, headers=FORM)) for _ in range(2)
    ]
    await until(lambda: bool(upstream.got))
    hold.set()
    assert [(await upload).status for upload in uploads] == [200, 200]
    assert [got.digest for got in upstream.got] == [sha(body)] * 2


async def test_an_upload_over_tls(start_relay: StartRelay) -> None:
    tls = f'tls = {{ cert = "{CERTS / "server.pem"}", key = "{CERTS / "server.key"}" }}'
    hold = asyncio.Event()
    upstream = RelayUpstream(Play(NOISE, hold=hold, repeat=5))
    running = await start_relay(upstream, server=tls)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    wire = Wire(*await asyncio.open_connection("127.0.0.1", running.port, ssl=context))
    body = form(("file", NOISE * 20, "f"))
    sending = asyncio.ensure_future(wire.send(head(len(body)) + body))
    await until(lambda: bool(upstream.got))
    hold.set()
    answer = await wire.answer()
    await sending
    assert (answer.status, sha(answer.body)) == (200, sha(NOISE * 5))
    assert upstream.got[0].digest == sha(body)
    wire.close()


async def test_a_packed_answer_is_unpacked(start_relay: StartRelay) -> None:
    packed = Play(gzip.compress(NOISE), kind="audio/mpeg", headers={"content-encoding": "gzip"})
    running = await start_relay(RelayUpstream(packed))
    answer = await call(running.port, "POST", "/v1/audio/speech", body=SPEECH)
    assert "content-encoding" not in answer.headers
    assert sha(answer.body) == sha(NOISE)


async def test_a_packed_request_is_unpacked(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    body = form(("model", b"m"), ("file", NOISE, "f"))
    headers = {**FORM, "content-encoding": "gzip"}
    path = "/v1/audio/transcriptions"
    assert (await call(running.port, "POST", path, body=gzip.compress(body), headers=headers)).status == 200
    assert upstream.got[0].digest == sha(body)
    assert "content-encoding" not in upstream.got[0].headers


# Keys, limits, lines

KEYED = '[[key]]\nname = "one"\nsecret = "env:KEY"\nmax_requests = 1\n'


async def test_a_key_is_needed_before_anything_is_read(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream, server="auth = true", more=KEYED)
    wire = await connect(running.port)
    await wire.send(head(30 * MIB) + NOISE)
    assert (await wire.answer()).status == 401
    wire.close()
    assert (await running.get("/v1/files")).status == 401
    assert (await running.get("/v1/files", {"authorization": "Bearer sk-client"})).status == 200
    assert [got.headers["authorization"] for got in upstream.got] == ["Bearer sk-upstream"]


async def test_a_keys_limit_counts_uploads(start_relay: StartRelay) -> None:
    hold = asyncio.Event()
    upstream = RelayUpstream(Play(hold=hold))
    key = {"authorization": "Bearer sk-client"}
    running = await start_relay(upstream, server="auth = true", more=KEYED)
    first = asyncio.ensure_future(running.get("/v1/files", key))
    await until(lambda: bool(upstream.got))
    assert (await running.get("/v1/files", key)).status == 429
    hold.set()
    assert (await first).status == 200
    assert (await running.get("/v1/files", key)).status == 200


async def test_every_relayed_turn_leaves_a_line(start_relay: StartRelay, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    upstream = RelayUpstream(Play(b"x", 201), Play(NOISE, cut=True), Play(status=500), Play())
    running = await start_relay(upstream, access_log=str(log))
    await call(running.port, "POST", "/v1/audio/speech", body=SPEECH)
    with pytest.raises(asyncio.IncompleteReadError):
        await call(running.port, "POST", "/v1/audio/speech", body=SPEECH)
    await running.get("/v1/files?after=secret")
    await running.get("/v1/files/f-1/content")
    await call(running.port, "POST", "/v1/rerank", body=b'{"model": "nobody"}')
    running.worker.log.flush()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    keys = ("method", "path", "status", "model", "route", "upstream", "attempts", "error")
    assert [tuple(line.get(key) for key in keys) for line in lines] == [
        ("POST", "/v1/audio/speech", 201, "m", "m", "u0", 1, None),
        ("POST", "/v1/audio/speech", 502, "m", "m", "u0", 1, "upstream_truncated"),
        ("GET", "/v1/files", 502, None, None, "u0", 1, "upstream_error"),
        ("GET", "/v1/files/f-1/content", 200, None, None, "u0", 1, None),
        ("POST", "/v1/rerank", 404, "nobody", None, None, None, "model_not_found"),
    ]


async def test_an_error_has_a_receipt(start_relay: StartRelay) -> None:
    running = await start_relay(RelayUpstream(Play(status=500)))
    headers = {"x-antiphon-receipt": "1"}
    answer = await call(running.port, "POST", "/v1/rerank", body=b'{"model": "named"}', headers=headers)
    receipt = answer.json["antiphon"]
    assert (receipt["route"], receipt["attempts"][0]["upstream"]) == ("named", "u0")
    assert receipt["rewritten"][0]["param"] == "model"


# Safety

FILTER = '[safety]\nmode = "filter"\n'


async def judged(running: Running, path: str, body: bytes, headers: Any = None) -> Answer:
    return await call(running.port, "POST", path, body=body, headers=headers)


@pytest.mark.parametrize(
    ("path", "body", "headers", "param"),
    [
        ("/v1/images/generations", b'{"model": "m", "prompt": "kill them"}', None, "prompt"),
        ("/v1/images/generations", b'{"prompt": "kill them"}', None, "prompt"),
        ("/v1/audio/speech", b'{"model": "m", "input": "kill them"}', None, "input"),
        ("/v1/audio/speech", b'{"model": "m", "input": "x", "instructions": "kill them"}', None, "input"),
        ("/v1/images/edits", form(("model", b"m"), ("prompt", b"kill them"), ("image", b"x", "i")), FORM, "prompt"),
        ("/v1/images/edits", form(("model", b"m"), ("image", NOISE, "i"), ("prompt", b"kill them")), FORM, "prompt"),
    ],
)
async def test_a_prompt_is_judged_before_it_is_sent(
    start_relay: StartRelay, path: str, body: bytes, headers: Any, param: str
) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream, judge=WordJudge(), more=FILTER)
    answer = await judged(running, path, body, headers)
    assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")
    assert answer.json["error"]["param"] == param
    assert not upstream.got
    assert (await judged(running, path, body.replace(b"kill them", b"greet them"), headers)).status == 200


async def test_a_prompt_that_cannot_be_read_is_not_called_safe(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream, judge=WordJudge(), more=FILTER + 'on_failure = "closed"\n')
    answer = await judged(running, "/v1/images/generations", b'{"model": "m", "prompt": ["kill them"]}')
    assert (answer.status, answer.json["error"]["code"]) == (503, "content_filter_error")
    assert not upstream.got
