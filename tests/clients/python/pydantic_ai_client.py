"""pydantic-ai: agents with text, streams, tools and typed output, over its OpenAI chat model."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from verdict import main


class Person(BaseModel):
    name: str
    age: int


def connect(base, dialect):
    def agent(model, **more):
        provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=base, api_key="any", max_retries=0, timeout=20))
        return Agent(OpenAIChatModel(model, provider=provider), retries=0, **more)

    return SimpleNamespace(agent=agent)


def weather_agent(client, model):
    agent = client.agent(model)
    heard = []

    @agent.tool_plain
    def get_weather(city: str) -> str:
        heard.append(city)
        return "sunny"

    return agent, heard


async def text(client):
    result = await client.agent("text").run("Hi")
    usage = result.usage
    usage = usage() if callable(usage) else usage
    return {"text": result.output, "usage": [usage.input_tokens, usage.output_tokens]}


async def crooked_text(client):
    return (await client.agent("crooked-text").run("Hi")).output


async def streamed(agent):
    async with agent.run_stream("Hi") as result:
        return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]


async def stream(client):
    return "".join(await streamed(client.agent("text")))


async def stream_crooked(client):
    return "".join(await streamed(client.agent("crooked-text")))


async def tool_loop(client):
    agent, heard = weather_agent(client, "tools")
    return [(await agent.run("Hi")).output, heard]


async def crooked_tool_loop(client):
    agent, heard = weather_agent(client, "crooked-tools")
    return [(await agent.run("Hi")).output, heard]


async def stream_crooked_tool_loop(client):
    agent, heard = weather_agent(client, "crooked-tools")
    return ["".join(await streamed(agent)), heard]


async def typed(client):
    return (await client.agent("person", output_type=NativeOutput(Person)).run("Hi")).output.model_dump()


async def typed_by_tool(client):
    return (await client.agent("person", output_type=Person).run("Hi")).output.model_dump()


async def stream_typed(client):
    async with client.agent("person", output_type=Person).run_stream("Hi") as result:
        return (await result.get_output()).model_dump()


async def wrong(client):
    return (await client.agent("wrong").run("Hi")).output


async def late_error(client):
    return await streamed(client.agent("late-error"))


async def truncated(client):
    return await streamed(client.agent("truncated"))


CASES = [
    *(text, crooked_text, stream, stream_crooked, tool_loop, crooked_tool_loop, stream_crooked_tool_loop),
    *(typed, typed_by_tool, stream_typed, wrong, late_error, truncated),
]

main(CASES, connect)
