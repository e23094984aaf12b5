"""One script in every language: what is asked of it and said by it reads alike, by the gateway's own translation."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.errors import UpstreamError
from antiphon.upstreams.scripted import LANGUAGES, Reply, ScriptedCall, ScriptedUpstream
from tests.upstreams.languages import FOREIGN, THINKS, Client, speaking

Document = dict[str, Any]

ECHO = "This is the scripted upstream. You said: Hello there"
WEATHER: Document = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
            "required": ["city"],
        },
    },
}
CLOCK: Document = {
    "type": "function",
    "function": {"name": "clock", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}},
}


def chat(text: str = "Hello there", model: str = "scripted", **more: Any) -> Document:
    return {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 10_000, **more}


@pytest.fixture(params=FOREIGN)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with speaking(request.param) as client:
        yield client


both = pytest.mark.parametrize("stream", [False, True])


@both
async def test_text(client: Client, stream: bool) -> None:
    answer = await client.ask(chat(stream=stream))
    assert answer["content"] == ECHO
    assert answer["finish"] == "stop"
    usage = answer["usage"]
    assert usage["prompt_tokens"] > 0
    assert usage["completion_tokens"] == 11
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@both
async def test_a_system_message_counts(client: Client, stream: bool) -> None:
    plain = await client.ask(chat(stream=stream))
    document = chat(stream=stream)
    document["messages"].insert(0, {"role": "system", "content": "Be brief, please."})
    told = await client.ask(document)
    assert told["content"] == ECHO
    assert told["usage"]["prompt_tokens"] == plain["usage"]["prompt_tokens"] + 3 + 5


@both
async def test_tools_are_called_and_their_results_read(client: Client, stream: bool) -> None:
    document = chat("Use get weather and the clock", tools=[WEATHER, CLOCK], stream=stream)
    answer = await client.ask(document)
    assert answer["finish"] == "tool_calls"
    calls = answer["tool_calls"]
    assert [call["function"]["name"] for call in calls] == ["get_weather", "clock"]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [{"city": "city", "days": 2}, {}]
    for place, call in enumerate(calls):
        call.setdefault("id", f"call_{place}")  # Gemini gives none: the gateway makes them
    assert len({call["id"] for call in calls}) == 2
    said = {name: value for name, value in answer.items() if name not in ("finish", "usage")}
    document["messages"] += [
        {"role": "assistant", "content": None, **said, "tool_calls": calls},
        {"role": "tool", "tool_call_id": calls[0]["id"], "content": "rain"},
        {"role": "tool", "tool_call_id": calls[1]["id"], "content": "noon"},
    ]
    answer = await client.ask(document)
    assert answer["content"] == "This is the scripted upstream. The tool said: noon"


@both
async def test_a_call_is_forced(client: Client, stream: bool) -> None:
    choice = {"type": "function", "function": {"name": "clock"}}
    answer = await client.ask(chat(tools=[WEATHER, CLOCK], tool_choice=choice, stream=stream))
    assert [call["function"]["name"] for call in answer["tool_calls"]] == ["clock"]
    answer = await client.ask(chat(tools=[WEATHER, CLOCK], tool_choice="required", stream=stream))
    assert [call["function"]["name"] for call in answer["tool_calls"]] == ["get_weather"]


@both
async def test_a_schema_is_filled_in(client: Client, stream: bool) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = await client.ask(chat(response_format=form, stream=stream))
    assert json.loads(answer["content"]) == {"name": "name"}


@both
async def test_a_limit_and_a_stop_sequence(client: Client, stream: bool) -> None:
    answer = await client.ask(chat(stream=stream, max_tokens=3))
    assert (answer["content"], answer["finish"]) == ("This is the", "length")
    answer = await client.ask(chat(stream=stream, stop=["You"]))
    assert (answer["content"], answer["finish"]) == ("This is the scripted upstream. ", "stop")


@both
@pytest.mark.parametrize("speaks", ["anthropic", "bedrock"])
async def test_reasoning_comes_back_signed(speaks: str, stream: bool) -> None:
    async with speaking(speaks) as client:
        document = chat("Use the clock", model="us.anthropic.claude-sonnet-4-5", tools=[CLOCK], stream=stream)
        document["reasoning_effort"] = "low"
        answer = await client.ask(document, THINKS)
        assert answer["reasoning_content"].startswith("The user wants")
        assert answer["usage"]["completion_tokens"] > 10
        call = answer["tool_calls"][0]
        said = {
            "role": "assistant",
            "content": None,
            "tool_calls": [call],
            "thinking_blocks": answer["thinking_blocks"],
        }
        document["messages"] += [said, {"role": "tool", "tool_call_id": call["id"], "content": "noon"}]
        assert (await client.ask(document, THINKS))["content"].endswith("The tool said: noon")
        for block in said["thinking_blocks"]:
            block["thinking"] = "something else"
        with pytest.raises(UpstreamError, match="Invalid `signature`") as caught:
            await client.ask(document, THINKS)
        assert caught.value.status == 400


@both
async def test_a_model_that_reasons(client: Client, stream: bool) -> None:
    answer = await client.ask(chat(model="scripted-reasoning", stream=stream))
    assert answer["reasoning_content"] == "The user wants an answer. An echo will do."
    assert answer["content"] == ECHO


@both
async def test_redacted_reasoning(client: Client, stream: bool) -> None:
    answer = await client.ask(chat(model="scripted-redacted", stream=stream))
    assert answer["content"] == ECHO
    assert "reasoning_content" not in answer
    if client.speaks in ("anthropic", "bedrock"):
        assert answer["thinking_blocks"][0]["type"] == "redacted_thinking"


@both
async def test_sources(client: Client, stream: bool) -> None:
    answer = await client.ask(chat(model="scripted-citations", stream=stream))
    assert answer["content"] == ECHO
    assert "https://example.org/source" in json.dumps(answer["annotations"])


@both
async def test_cached_prompts(client: Client, stream: bool) -> None:
    plain = (await client.ask(chat(stream=stream)))["usage"]
    cached = (await client.ask(chat(model="scripted-cached", stream=stream)))["usage"]
    assert cached["prompt_tokens"] == plain["prompt_tokens"]
    assert cached["prompt_tokens_details"]["cached_tokens"] == plain["prompt_tokens"] // 2


async def outcome(client: Client, document: Document) -> str:
    """How a turn ends: its finish reason, or `error`."""
    try:
        return str((await client.ask(document))["finish"])
    except UpstreamError:
        return "error"


@both
@pytest.mark.parametrize("model", ["scripted-refusal", "scripted-filtered", "scripted-blocked"])
async def test_refusals(client: Client, model: str, stream: bool) -> None:
    """Cohere has no such finish: it refuses in words, or fails."""
    usual = "content_filter"
    if client.speaks == "cohere":
        usual = "stop" if model == "scripted-refusal" else "error"
    assert await outcome(client, chat(model=model, stream=stream)) == usual


@both
async def test_without_usage(client: Client, stream: bool) -> None:
    assert not (await client.ask(chat(model="scripted-no-usage", stream=stream)))["usage"]


@both
async def test_replies_are_scripted_once_for_all_languages(stream: bool) -> None:
    reply = Reply("Look.", reasoning="Hm.", calls=(ScriptedCall("call_1", "look", '{"at": "x"}'),), finish="tool_calls")
    for speaks in FOREIGN:
        async with speaking(speaks, [reply]) as client:
            answer = await client.ask(chat(model="scripted-reasoning", stream=stream))
            assert answer["finish"] == "tool_calls"
            assert json.loads(answer["tool_calls"][0]["function"]["arguments"]) == {"at": "x"}
            assert len(client.upstream.requests) == 1


async def test_the_same_turn_in_every_language_counts_alike() -> None:
    counts = set()
    for speaks in FOREIGN:
        async with speaking(speaks) as client:
            usage = (await client.ask(chat()))["usage"]
            counts.add((usage["prompt_tokens"], usage["completion_tokens"]))
    assert len(counts) == 1


def test_a_language_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="anthropic"):
        ScriptedUpstream(speaks="klingon")
    assert set(LANGUAGES) == {"openai", *FOREIGN}
