"""What a policy blocks, in the shape of every API: a prompt is an error, an answer ends by the filter, unsaid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from antiphon.upstreams.scripted import Reply, ScriptedUpstream, cut, sse, wait
from tests.support.apis import PLAIN, ApiClient
from tests.support.gateway import Running, gateway, to_one
from tests.support.judge import WordJudge
from tests.support.raw import connect, request
from tests.support.responses_api import CLIENTS

pytestmark = pytest.mark.asyncio(loop_scope="module")
FILTER = '[safety]\nmode = "filter"'
HARM = "I will kill them all, and then some more."


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    upstream = ScriptedUpstream(lambda _: Reply(HARM))
    url = await upstream.start()
    async with gateway(tmp_path_factory.mktemp("blocked"), to_one(url, more=FILTER), judge=WordJudge()) as running:
        yield running
    await upstream.stop()


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> ApiClient:
    return CLIENTS[request.param]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_prompt(running: Running, client: ApiClient, stream: bool) -> None:
    answer = await client.post(running.port, "m", ["Shall I kill them?"], stream=stream)
    assert answer.status == 400
    assert client.message_of(answer.json)
    assert "content_filter" in answer.body.decode().lower()


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer(running: Running, client: ApiClient, stream: bool) -> None:
    answer = await client.post(running.port, "m", ["Hello"], stream=stream)
    assert b"them" not in answer.body
    said = client.fold(answer) if stream else client.read(answer.json)
    assert said.finish == "filter"


async def test_the_details_of_a_refusal(running: Running) -> None:
    answer = await CLIENTS["messages"].post(running.port, "m", ["Hello"])
    details = answer.json["stop_details"]
    assert (details["type"], details["category"]) == ("refusal", "general_harms")
    assert "violence" in details["explanation"]
    assert answer.json["content"] == []


@pytest.mark.parametrize("stream", [False, True])
async def test_ollamas_clients_see_no_usual_end(running: Running, stream: bool) -> None:
    answer = await CLIENTS["ollama"].post(running.port, "m", ["Hello"], stream=stream)
    assert json.loads(answer.body.splitlines()[-1])["done_reason"] == "content_filter"


async def test_silence_is_a_ping(tmp_path: Path) -> None:
    more = asyncio.Event()
    upstream = ScriptedUpstream([sse(wait(more), cut())])
    url = await upstream.start()
    async with gateway(tmp_path, to_one(url, server="keepalive_comment = 1")) as running:
        wire = await connect(running.port)
        body = CLIENTS["messages"].body("m", ["Hello"], PLAIN, stream=True)
        await wire.send(request("POST", "/v1/messages", json.dumps(body).encode()))
        assert (await wire.head())[0] == 200
        assert await wire.chunk() == b'event: ping\ndata: {"type": "ping"}\n\n'
        more.set()
        rest = b""
        while piece := await wire.chunk():
            rest += piece
        wire.close()
    await upstream.stop()
    assert rest.startswith(b'event: error\ndata: {"type":"error","error":{"type":"api_error"')
