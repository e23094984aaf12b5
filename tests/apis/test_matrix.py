"""Every API towards clients before every protocol of an upstream: text, tools over three turns, structured output,
reasoning, errors before an answer and within it. The table is generated: a new API or protocol is one row."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.apis import ApiClient, Results, Turn, Wish
from tests.support.gateway import Running, gateway
from tests.support.responses_api import CLIENTS
from tests.upstreams.languages import FOREIGN

UPSTREAMS = ("openai", *FOREIGN)
SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "off"
""" + "".join(
    f"""
[[upstream]]
name = "{speaks}"
protocol = "scripted"
speaks = "{speaks}"

[[route]]
model = "{speaks}/*"
targets = [{{ upstream = "{speaks}" }}]
"""
    for speaks in UPSTREAMS
)
ECHO = "This is the scripted upstream. You said: Hello"
TOLD = "This is the scripted upstream. The tool said: "
WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CLOCK = {"name": "clock", "description": "Tells the time.", "schema": {"type": "object", "properties": {}}}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}

pytestmark = pytest.mark.asyncio(loop_scope="module")
every = pytest.mark.parametrize("speaks", UPSTREAMS)
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    async with gateway(tmp_path_factory.mktemp("matrix"), SETTINGS) as running:
        yield running


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> ApiClient:
    return CLIENTS[request.param]


@every
@both
async def test_text(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    said = await client.ask(running.port, f"{speaks}/scripted", ["Hello"], Wish(system="Be kind."), stream=stream)
    assert (said.text, said.thought, said.calls, said.finish) == (ECHO, "", [], "stop")
    assert said.counted[0] > 0
    assert said.counted[1] == 10


@every
@both
async def test_tools_over_three_turns(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    model, wish = f"{speaks}/scripted", Wish(tools=(WEATHER, CLOCK))
    turns: list[Turn] = ["Use get weather and the clock"]
    first = await client.ask(running.port, model, turns, wish, stream=stream)
    assert [(name, given) for _, name, given in first.calls] == [("get_weather", {"city": "city"}), ("clock", {})]
    assert first.finish == "tools"
    turns += [first, Results(("sunny", "noon"))]
    second = await client.ask(running.port, model, turns, wish, stream=stream)
    assert (second.text, second.finish) == (TOLD + "noon", "stop")
    turns += [second, "Now the clock again"]
    third = await client.ask(running.port, model, turns, wish, stream=stream)
    assert [name for _, name, _ in third.calls] == ["clock"]
    turns += [third, Results(("one",))]
    assert (await client.ask(running.port, model, turns, wish, stream=stream)).text == TOLD + "one"


@every
@both
async def test_structured_output(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    said = await client.ask(running.port, f"{speaks}/scripted", ["Hello"], Wish(schema=PERSON), stream=stream)
    assert json.loads(said.text) == {"name": "name"}


@every
@both
async def test_reasoning_with_tools(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    """What is signed comes back unchanged: the upstream refuses anything else."""
    model = f"{speaks}/scripted-reasoning"
    wish = Wish(tools=(WEATHER,), effort="low", limit=9000)
    turns: list[Turn] = ["Use get weather"]
    first = await client.ask(running.port, model, turns, wish, stream=stream)
    assert first.thought
    assert first.finish == "tools"
    turns += [first, Results(("sunny",))]
    assert (await client.ask(running.port, model, turns, wish, stream=stream)).text == TOLD + "sunny"


@every
@both
async def test_a_limit(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    said = await client.ask(running.port, f"{speaks}/scripted", ["Hello"], Wish(limit=3), stream=stream)
    assert (said.text, said.finish) == ("This is the", "length")


@every
@both
async def test_an_error_before_the_answer(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    answer = await client.post(running.port, f"{speaks}/scripted-error-429-retry-9", ["Hello"], stream=stream)
    assert answer.status == 429
    assert answer.headers["retry-after"] == "9"
    assert client.message_of(answer.json)


@every
async def test_an_error_within_the_answer(running: Running, client: ApiClient, speaks: str) -> None:
    answer = await client.post(running.port, f"{speaks}/scripted-truncated", ["Hello"], stream=True)
    assert answer.status == 200
    said = client.fold(answer)
    assert said.error is not None, answer.body
    assert client.message_of(said.error)


@pytest.mark.parametrize("speaks", [speaks for speaks in UPSTREAMS if speaks != "cohere"])  # it has no such end
@both
async def test_a_filter_of_the_upstream(running: Running, client: ApiClient, speaks: str, stream: bool) -> None:
    said = await client.ask(running.port, f"{speaks}/scripted-filtered", ["Hello"], stream=stream)
    assert said.finish == "filter"


async def test_no_such_model(running: Running, client: ApiClient) -> None:
    answer = await client.post(running.port, "nobody/x", ["Hello"])
    assert answer.status == 404
    assert "nobody/x" in client.message_of(answer.json)
