"""Clients that go away, and clients that read slowly."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import Script, ScriptedUpstream, hang, json_answer, sse
from tests.http.client_kit import CERTS
from tests.support.gateway import gateway, to_one
from tests.support.raw import Wire, connect, request
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start


async def ask(port: int, *, stream: bool, **more: object) -> Wire:
    wire = await connect(port)
    document = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": stream, **more}
    await wire.send(request("POST", "/v1/chat/completions", json.dumps(document).encode()))
    return wire


async def first_request(upstream: ScriptedUpstream, count: int = 1) -> None:
    await asyncio.wait_for(upstream.received(count), 5)


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("stream", [False, True])
async def test_leaving_before_the_first_token_closes_the_upstream(start: Start, how: str, stream: bool) -> None:
    running, upstream = await start(Script((hang(),)))
    wire = await ask(running.port, stream=stream)
    await first_request(upstream)
    getattr(wire, how)()
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)


@pytest.mark.parametrize("stream", [False, True])
async def test_leaving_with_the_request_itself_leaves_an_entry(tmp_path: Path, stream: bool) -> None:
    """In TLS a request and the end of its connection can come in one read, before the turn's task has begun."""
    tls = json.dumps(str(CERTS / "server.pem")), json.dumps(str(CERTS / "server.key"))
    log = tmp_path / "access.log"
    settings = to_one("http://127.0.0.1:1", server=f"tls = {{ cert = {tls[0]}, key = {tls[1]} }}", access_log=str(log))
    document = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": stream, "logprobs": None}
    async with gateway(tmp_path, settings) as running:
        wire = await connect(running.port)
        await say_and_leave(wire, request("POST", "/v1/chat/completions", json.dumps(document).encode()))
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["status"] for entry in entries] == [499]


async def say_and_leave(wire: Wire, data: bytes) -> None:
    """A handshake, then `data` and the end of the TLS session in one piece; returns when the server has closed."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    heard, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(heard, said)
    while session.version() is None or said.pending:
        try:
            session.do_handshake()
        except ssl.SSLWantReadError:
            await wire.send(said.read())
            heard.write(await asyncio.wait_for(wire.reader.read(65536), 5))
        else:
            await wire.send(said.read())
    heard.write(await asyncio.wait_for(wire.reader.read(65536), 5))  # session tickets: the server is ready to read
    session.write(data)
    with pytest.raises(ssl.SSLWantReadError):
        session.unwrap()
    await wire.send(said.read())
    await asyncio.wait_for(wire.reader.read(), 5)
    wire.close()


async def test_leaving_in_mid_stream_closes_the_upstream(start: Start) -> None:
    running, upstream = await start(sse(*hello()[:3], hang(), done=False))
    wire = await ask(running.port, stream=True)
    await wire.head()
    assert b"data: " in await wire.chunk()
    wire.close()
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)


async def test_leaving_closes_every_call_of_a_fan_out(start: Start) -> None:
    running, upstream = await start(*[Script((hang(),))] * 3, upstream='lacks = ["n"]')
    wire = await ask(running.port, stream=True, n=3)
    await first_request(upstream, 3)
    wire.close()
    for received in upstream.requests:
        await asyncio.wait_for(received.closed.wait(), 1)


async def test_a_slow_reader_holds_up_its_own_upstream_and_nobody_else(start: Start) -> None:
    """Far more than the buffers on the way can hold: the upstream must be stuck while the reader sleeps."""
    big = "x" * 60_000
    flood = [chunk({"content": big}) for _ in range(800)]
    running, upstream = await start(
        sse(*flood, chunk({}, "stop")), json_answer(completion()), upstream="timeout = { idle = 60 }"
    )
    wire = await ask(running.port, stream=True)
    await first_request(upstream)
    assert (await running.post()).status == 200, "another client was disturbed"
    assert not upstream.requests[0].answered.is_set(), "48 MB went somewhere"
    total = 0
    status, _ = await wire.head()
    assert status == 200
    while piece := await wire.chunk():
        total += piece.count(b"x")
    assert total >= 800 * 60_000
    wire.close()


async def test_a_reader_that_stops_is_cut_and_its_upstream_closed(start: Start) -> None:
    flood = [chunk({"content": "x" * 60_000}) for _ in range(800)]
    running, upstream = await start(sse(*flood, chunk({}, "stop")), server="write_timeout = 1")
    wire = await ask(running.port, stream=True)
    await first_request(upstream)
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 8)
    wire.close()
