"""The scripted upstream behind a gateway, in every language: `protocol = "scripted"` and `speaks`, without a key."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import Running, gateway
from tests.support.raw import Answer
from tests.upstreams.languages import FOREIGN, gather

Document = dict[str, Any]

both = pytest.mark.parametrize("stream", [False, True])

SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "off"

[[upstream]]
name = "fake"
protocol = "scripted"
speaks = "{speaks}"

[[route]]
model = "*"
targets = [{{ upstream = "fake" }}]
"""
ECHO = "This is the scripted upstream. You said: Hello"
CLOCK: Document = {
    "type": "function",
    "function": {"name": "clock", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}},
}
WEATHER: Document = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture(params=["openai", *FOREIGN])
async def running(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    async with gateway(tmp_path, SETTINGS.format(speaks=request.param)) as running:
        yield running


async def ask(running: Running, *, stream: bool, **more: Any) -> Document:
    """The message of the one choice, with `finish` and `usage`."""
    if stream:
        more |= {"stream": True, "stream_options": {"include_usage": True}}
    answer = await running.post(**{"model": "scripted", **more})
    assert answer.status == 200, answer.body
    if stream:
        return gather(answer.chunks)
    choice = answer.json["choices"][0]
    return {**choice["message"], "finish": choice["finish_reason"], "usage": answer.json["usage"]}


@both
async def test_text(running: Running, stream: bool) -> None:
    message = await ask(running, stream=stream)
    assert (message["content"], message["finish"]) == (ECHO, "stop")
    assert (message["usage"]["prompt_tokens"], message["usage"]["completion_tokens"]) == (7, 10)


@both
@pytest.mark.parametrize("remembers", [True, False])
async def test_a_tool_loop(running: Running, stream: bool, remembers: bool) -> None:
    """Also for clients that send back nothing but the calls themselves."""
    said: list[Document] = [{"role": "user", "content": "Use get weather and the clock"}]
    asked: Document = {"tools": [WEATHER, CLOCK], "reasoning_effort": "low", "max_completion_tokens": 9000}
    message = await ask(running, stream=stream, messages=said, **asked)
    assert message["finish"] == "tool_calls"
    calls = message["tool_calls"]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [{"city": "city"}, {}]
    if not remembers:
        calls = [{name: call[name] for name in ("id", "type", "function")} for call in calls]
    kept = ("reasoning_content", "thinking_blocks") if remembers else ()
    more = {name: message[name] for name in kept if name in message}
    said += [
        {"role": "assistant", "content": None, "tool_calls": calls, **more},
        *({"role": "tool", "tool_call_id": call["id"], "content": "fine"} for call in calls),
    ]
    message = await ask(running, stream=stream, messages=said, **asked)
    assert message["content"] == "This is the scripted upstream. The tool said: fine"


@both
@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        ("scripted-error-500", 502, "upstream_error"),
        ("scripted-error-429-retry-7", 429, None),
        ("scripted-truncated", 502, "upstream_truncated"),
        ("scripted-close", 502, None),
    ],
)
async def test_faults(running: Running, model: str, status: int, code: str | None, stream: bool) -> None:
    """Before anything has left a fault is a status, after that an error in the stream."""
    answer = await running.post(model=model, stream=stream)
    assert answer.status in (status, 200)
    error = find_error(answer)
    assert code is None or error["code"] == code
    if "retry-7" in model:
        assert (answer.status, answer.headers["retry-after"]) == (429, "7")


def find_error(answer: Answer) -> Document:
    document = answer.json if answer.status != 200 else answer.chunks[-1]
    error: Document = document["error"]
    return error


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize("fault", ["cut", "error-late", "malformed", "bad-frame"])
async def test_a_stream_that_breaks_anywhere_is_never_a_stop(running: Running, fault: str, number: int) -> None:
    answer = await running.post(model=f"scripted-{fault}-after-{number}", stream=True)
    assert find_error(answer)["message"]
    assert b'"finish_reason":"stop"' not in answer.body


async def test_the_receipt_and_the_access_log_name_each_protocol(tmp_path: Path) -> None:
    fakes = "".join(
        f'[[upstream]]\nname = "{speaks}-fake"\nprotocol = "scripted"\nspeaks = "{speaks}"\n' for speaks in FOREIGN
    )
    models = ["scripted-error-503"] * (len(FOREIGN) - 1) + ["scripted"]
    targets = ", ".join(
        f'{{ upstream = "{speaks}-fake", model = "{model}", priority = {place} }}'
        for place, (speaks, model) in enumerate(zip(FOREIGN, models, strict=True))
    )
    log = tmp_path / "access.log"
    head = f'[server]\nlisten = "127.0.0.1:0"\naccess_log = "{log}"\nerror_log = "off"\n'
    text = f'{head}{fakes}[[route]]\nmodel = "*"\ntargets = [{targets}]\n'
    async with gateway(tmp_path, text) as running:
        for stream in (False, True):
            answer = await running.post(model="m", stream=stream, headers={"x-antiphon-receipt": "1"})
            receipt = answer.chunks[-1]["antiphon"] if stream else answer.json["antiphon"]
            assert [attempt["protocol"] for attempt in receipt["attempts"]] == list(FOREIGN)
        running.worker.log.flush()
        logged = [json.loads(line) for line in log.read_text().splitlines()]
        assert [entry["protocol"] for entry in logged] == [FOREIGN[-1]] * 2


# Conversations that some vendors would refuse


@both
async def test_two_calls_of_one_id_get_their_own_results(running: Running, stream: bool) -> None:
    """Some models number their calls carelessly; the n-th result of an id answers its n-th call."""
    calls = [
        {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": f'{{"city":"{city}"}}'}}
        for city in ("A", "B")
    ]
    results = [{"role": "tool", "tool_call_id": "c", "content": said} for said in ("rain", "sun")]
    asked = {"role": "user", "content": "Weather?"}
    messages = [asked, {"role": "assistant", "content": None, "tool_calls": calls}, *results]
    message = await ask(running, stream=stream, messages=messages, tools=[WEATHER])
    assert "sun" in message["content"]


@both
async def test_the_assistant_may_begin(running: Running, stream: bool) -> None:
    messages = [{"role": "assistant", "content": "How can I help?"}, {"role": "user", "content": "Hello"}]
    assert (await ask(running, stream=stream, messages=messages))["content"] == ECHO


@pytest.mark.parametrize("speaks", ["anthropic", "cohere"])
async def test_nothing_said_is_refused_before_it_is_sent(tmp_path: Path, speaks: str) -> None:
    async with gateway(tmp_path, SETTINGS.format(speaks=speaks)) as running:
        answer = await running.post(model="m", messages=[{"role": "user", "content": ""}])
        assert answer.status == 400
        error = answer.json["error"]
        assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", "messages", "invalid_value")
