"""pydantic-ai against upstreams of other vendors: the model's name begins with the vendor's."""

# mypy: ignore-errors
from __future__ import annotations

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from verdict import main


class Person(BaseModel):
    name: str
    age: int


def connect(base, vendor):
    def agent(**more):
        provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=base, api_key="any", max_retries=0, timeout=20))
        return Agent(OpenAIChatModel(f"{vendor}/scripted", provider=provider), retries=0, **more)

    return agent


def weather_agent(client):
    agent, cities = client(), []

    @agent.tool_plain
    def get_weather(city: str) -> str:
        cities.append(city)
        return "sunny"

    return agent, cities


async def text(client):
    return (await client().run("Hi")).output


async def streamed(agent, prompt):
    async with agent.run_stream(prompt) as result:
        return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])


async def stream(client):
    return await streamed(client(), "Hi")


async def tools(client):
    agent, cities = weather_agent(client)
    return [(await agent.run("Use get weather")).output, cities]


async def stream_tools(client):
    agent, cities = weather_agent(client)
    return [await streamed(agent, "Use get weather"), cities]


async def structured(client):
    return (await client(output_type=NativeOutput(Person)).run("Hi")).output.model_dump()


main([text, stream, tools, stream_tools, structured], connect)
