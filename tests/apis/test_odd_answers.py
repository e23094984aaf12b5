"""Answers that upstreams give now and then, in every API: calls in turns, and values of the wrong type."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from antiphon.upstreams.scripted import Script, ScriptedUpstream, json_answer, sse
from tests.support.apis import ApiClient, Said
from tests.support.gateway import gateway, to_one
from tests.support.responses_api import CLIENTS
from tests.support.shapes import chunk, completion, usage_chunk

Document = dict[str, Any]

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Played:
    """The gateway, and the script of its upstream's next answers."""

    def __init__(self) -> None:
        self.script: Script = sse()
        self.port = 0

    async def stream(self, client: ApiClient, *deltas: Document, finish: str = "stop") -> Said:
        self.script = sse(*(chunk(delta) for delta in deltas), chunk({}, finish), usage_chunk())
        return await client.ask(self.port, "m", ["Hello"], stream=True)

    async def whole(self, client: ApiClient, message: Document, **beside: Any) -> Said:
        document = completion()
        document["choices"][0]["message"] |= message
        document["choices"][0] |= beside
        self.script = json_answer(document)
        return await client.ask(self.port, "m", ["Hello"])


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Played]:
    played = Played()
    upstream = ScriptedUpstream(lambda _: played.script)
    url = await upstream.start()
    async with gateway(tmp_path_factory.mktemp("odd"), to_one(url)) as running:
        played.port = running.port
        yield played
    await upstream.stop()


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> ApiClient:
    return CLIENTS[request.param]


def piece(number: int, arguments: str, name: str = "") -> Document:
    """A delta with a piece of a call; with a name it is the first one."""
    begun = {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{"index": number, **(begun if name else {"function": {"arguments": arguments}})}]}


async def test_pieces_of_calls_come_in_turns(played: Played, client: ApiClient) -> None:
    deltas = [piece(0, '{"a":', "f"), piece(1, '{"b', "g"), piece(2, "", "h"), piece(0, "1}"), piece(1, '":{"c":2}}')]
    said = await played.stream(client, *deltas, finish="tool_calls")
    expected = [("call_f", "f", {"a": 1}), ("call_g", "g", {"b": {"c": 2}}), ("call_h", "h", {})]
    assert said.calls == expected
    assert said.finish == "tools"


async def test_text_comes_between_the_pieces_of_a_call(played: Played, client: ApiClient) -> None:
    texts = [{"content": "one "}, {"content": "two "}, {"content": "three "}]
    rest = [piece(0, '{"a":', "f"), {"content": "four "}, {"content": "five "}, piece(0, "1}"), {"content": "six"}]
    said = await played.stream(client, *texts, *rest, finish="tool_calls")
    assert said.calls == [("call_f", "f", {"a": 1})]
    assert said.text == "one two three four five six"


async def test_more_of_a_call_that_was_whole_is_an_error(played: Played) -> None:
    deltas = [piece(0, '{"a":1}', "f"), piece(1, "{}", "g"), piece(0, '{"b":2}')]
    said = await played.stream(CLIENTS["messages"], *deltas, finish="tool_calls")
    assert said.error is not None
    assert said.error["error"]["details"]["error_code"] == "upstream_malformed"


ODD: list[Document] = [
    {"thinking_blocks": 5},
    {"thinking_blocks": [5]},
    {"thinking_blocks": [{"of": "text", "start": 0, "end": "x", "signature": 4}]},
    {"content_parts": 5},
    {"content_parts": [5]},
    {"images": 5},
    {"images": [5, {"image_url": 5}]},
    {"annotations": [5]},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_an_odd_field_costs_no_answer(played: Played, client: ApiClient, odd: Document) -> None:
    streamed = await played.stream(client, {"content": "Hi"}, {"content": "!", **odd})
    whole = await played.whole(client, {"content": "Hi!", **odd})
    assert streamed.text == whole.text == "Hi!"


@pytest.mark.parametrize(
    "logprobs", [5, {"content": 5}, {"content": [5]}, {"content": [{"top_logprobs": [5]}]}], ids=str
)
async def test_odd_logprobs_cost_no_answer(played: Played, client: ApiClient, logprobs: Any) -> None:
    odd = chunk({"content": "!"})
    odd["choices"][0]["logprobs"] = logprobs
    played.script = sse(chunk({"content": "Hi"}), odd, chunk({}, "stop"), usage_chunk())
    assert (await client.ask(played.port, "m", ["Hello"], stream=True)).text == "Hi!"
    assert (await played.whole(client, {"content": "Hi!"}, logprobs=logprobs)).text == "Hi!"
