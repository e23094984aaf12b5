"""Clients that go away, and clients that read slowly."""

from __future__ import annotations

import asyncio
import json

import pytest

from antiphon.upstreams.scripted import Script, ScriptedUpstream, hang, json_answer, sse
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
