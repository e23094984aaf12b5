"""pydantic-ai on the embedded model: agents with text, typed output (by tool and by schema) and tools."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from embedded_shapes import ADA, BOUGHT, MODEL, Order, Person
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from verdict import main

SUM = "What is 2+2?"
WEATHER = "What is the weather in Paris?"
LIMITS = UsageLimits(request_limit=5)


class Report(BaseModel):
    city: str
    celsius: int


def connect(base, dialect):
    def agent(max_tokens=60, **more):
        provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=base, api_key="any", max_retries=0, timeout=60))
        settings = {"temperature": 0, "max_tokens": max_tokens}
        return Agent(OpenAIChatModel(MODEL, provider=provider), model_settings=settings, retries=0, **more)

    return SimpleNamespace(agent=agent)


def weather_agent(client, **more):
    agent = client.agent(**more)
    heard = []

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather in a city."""
        heard.append(city)
        return f"22 °C in {city}"

    return agent, heard


def used(result):
    return [result.usage.input_tokens, result.usage.output_tokens]


def typed(value):
    return [type(value).__name__, value.model_dump()]


async def text(client):
    result = await client.agent().run(SUM, usage_limits=LIMITS)
    return {"text": result.output, "usage": used(result)}


async def stream(client):
    async with client.agent().run_stream(SUM, usage_limits=LIMITS) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return {"text": "".join(pieces), "usage": used(result)}


async def typed_by_tool(client):
    return typed((await client.agent(output_type=Person).run(ADA, usage_limits=LIMITS)).output)


async def nested_by_tool(client):
    """No limit of tokens: what a schema leaves open, the engine must bound."""
    agent = client.agent(output_type=Order, max_tokens=None)
    return typed((await agent.run(BOUGHT, usage_limits=LIMITS)).output)


async def typed_by_schema(client):
    return typed((await client.agent(output_type=NativeOutput(Person)).run(ADA, usage_limits=LIMITS)).output)


async def typed_by_prompt(client):
    return typed((await client.agent(output_type=PromptedOutput(Person)).run(ADA, usage_limits=LIMITS)).output)


async def stream_typed(client):
    async with client.agent(output_type=Person).run_stream(ADA, usage_limits=LIMITS) as result:
        return typed(await result.get_output())


async def tool_loop(client):
    agent, heard = weather_agent(client)
    result = await agent.run(WEATHER, usage_limits=LIMITS)
    return {"text": result.output, "heard": heard, "usage": used(result)}


async def stream_tool_loop(client):
    agent, heard = weather_agent(client)
    async with agent.run_stream(WEATHER, usage_limits=LIMITS) as result:
        said = "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])
        return {"text": said, "heard": heard, "usage": used(result)}


async def tool_then_typed(client):
    """A call is demanded at every step here: of the tool, or of the one that takes the final answer."""
    agent, heard = weather_agent(client, output_type=Report)
    result = await agent.run(WEATHER, usage_limits=LIMITS)
    return [typed(result.output), heard]


CASES = [
    *(text, stream, typed_by_tool, nested_by_tool, typed_by_schema, typed_by_prompt, stream_typed, tool_loop),
    *(stream_tool_loop, tool_then_typed),
]

main(CASES, connect)
