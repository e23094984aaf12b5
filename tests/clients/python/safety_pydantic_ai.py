"""pydantic-ai where something is blocked: prompts, answers whole and streamed, tools, typed output."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from verdict import main

FORBIDDEN = "Please say forbiddenword."


class Person(BaseModel):
    name: str
    age: int


def connect(base, dialect):
    def agent(model, **more):
        provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=base, api_key="any", max_retries=0, timeout=20))
        return Agent(OpenAIChatModel(model, provider=provider), retries=0, **more)

    return SimpleNamespace(agent=agent)


async def whole(agent, ask="Hi"):
    result = await agent.run(ask)
    return [result.output, result.response.finish_reason]


async def streamed(agent, ask="Hi"):
    async with agent.run_stream(ask) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return ["".join(pieces), result.response.finish_reason]


def weather_agent(client):
    agent = client.agent("blocked-tools")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        raise AssertionError(f"called with {city}")

    return agent


async def prompt(client):
    return await whole(client.agent("text"), FORBIDDEN)


async def prompt_stream(client):
    return await streamed(client.agent("text"), FORBIDDEN)


async def blocked(client):
    return await whole(client.agent("blocked"))


async def blocked_stream(client):
    return await streamed(client.agent("blocked"))


async def blocked_tools(client):
    return await whole(weather_agent(client))


async def blocked_tools_stream(client):
    return await streamed(weather_agent(client))


async def typed_blocked(client):
    return await whole(client.agent("blocked", output_type=NativeOutput(Person)))


async def typed_by_tool_blocked(client):
    return await whole(client.agent("blocked", output_type=Person))


async def annotated(client):
    return await whole(client.agent("text"))


async def annotated_stream(client):
    return await streamed(client.agent("text"))


async def async_stream(client):
    return await streamed(client.agent("text-async"))


CASES = [
    *(prompt, prompt_stream, blocked, blocked_stream, blocked_tools, blocked_tools_stream),
    *(typed_blocked, typed_by_tool_blocked, annotated, annotated_stream, async_stream),
]

main(CASES, connect)
