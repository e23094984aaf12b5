"""`max_concurrent`: an upstream has no more requests at a time, and a turn that finds no room fails like any other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import Script, cut, hang, json_answer, sse
from tests.support.gateway import gateway
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start
from tests.turns.test_gone import ask, first_request
from tests.turns.test_routes import always

ONE = "max_concurrent = 1\nqueue = 0"
ENDLESS = sse(chunk({"role": "assistant", "content": "Hi"}), hang(), done=False)


@pytest.mark.parametrize("stream", [False, True])
async def test_without_room_the_client_is_told_when_to_come_back(start: Start, stream: bool) -> None:
    running, upstream = await start(Script((hang(),)), upstream=ONE)
    wire = await ask(running.port, stream=True)
    await first_request(upstream)
    answer = await running.post(stream=stream)
    assert answer.status == 503
    assert answer.json["error"]["code"] == "overloaded"
    assert answer.headers["retry-after"] == "1"
    assert len(upstream.requests) == 1
    wire.close()


async def test_nobody_waits_for_longer_than_queue_timeout(start: Start) -> None:
    running, upstream = await start(Script((hang(),)), upstream="max_concurrent = 1\nqueue_timeout = 0.2")
    wire = await ask(running.port, stream=True)
    await first_request(upstream)
    answer = await asyncio.wait_for(running.post(), 3)
    assert (answer.status, answer.json["error"]["code"]) == (503, "overloaded")
    wire.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_without_room_the_next_target_is_tried(tmp_path: Path, stream: bool) -> None:
    first, second = always(Script((hang(),))), always(sse(*hello()) if stream else json_answer(completion()))
    text = f"""
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "off"
[[upstream]]
name = "u0"
protocol = "openai"
url = "{await first.start()}"
{ONE}
[[upstream]]
name = "u1"
protocol = "openai"
url = "{await second.start()}"
[[route]]
model = "m"
targets = [{{ upstream = "u0" }}, {{ upstream = "u1", priority = 1 }}]
"""
    async with gateway(tmp_path, text) as running:
        wire = await ask(running.port, stream=True)
        await first_request(first)
        answer = await running.post(stream=stream, headers={"x-antiphon-receipt": "1"})
        assert answer.status == 200
        receipt = answer.chunks[-1]["antiphon"] if stream else answer.json["antiphon"]
        assert [(each["upstream"], each["outcome"]) for each in receipt["attempts"]] == [
            ("u0", "overloaded"),
            ("u1", "answered"),
        ]
        wire.close()
    await first.stop()
    await second.stop()


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("script", [Script((hang(),)), ENDLESS], ids=["before the answer", "in the stream"])
async def test_a_client_that_leaves_frees_the_place(start: Start, script: Script, how: str) -> None:
    running, upstream = await start(script, json_answer(completion()), upstream="max_concurrent = 1")
    wire = await ask(running.port, stream=True)
    await first_request(upstream)
    waiting = asyncio.create_task(running.post())
    getattr(wire, how)()
    assert (await asyncio.wait_for(waiting, 5)).status == 200
    assert len(upstream.requests) == 2


async def test_a_client_that_leaves_while_it_waits_costs_nothing(start: Start) -> None:
    running, upstream = await start(Script((hang(),)), json_answer(completion()), upstream="max_concurrent = 1")
    held = await ask(running.port, stream=True)
    await first_request(upstream)
    leaving = await ask(running.port, stream=True)
    last = asyncio.create_task(running.post())
    leaving.close()
    held.close()
    assert (await asyncio.wait_for(last, 5)).status == 200


@pytest.mark.parametrize(
    "script",
    [
        json_answer(completion()),
        sse(*hello()),
        sse(*hello(), hang(), done=False),
        sse(chunk({"role": "assistant", "content": "Hi"}), cut(), done=False),
        Script((cut(),)),
    ],
)
async def test_every_end_of_an_answer_frees_the_place_once(start: Start, script: Script) -> None:
    count = 6
    running, upstream = await start(
        *[script] * count, json_answer(completion()), upstream="max_concurrent = 1\ntimeout = { idle = 0.3 }"
    )
    await asyncio.gather(*(running.post(stream=True) for _ in range(count)))
    assert (await running.post()).status == 200
    assert len(upstream.requests) == count + 1
