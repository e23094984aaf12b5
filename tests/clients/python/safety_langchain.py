"""langchain-openai where something is blocked or annotated: invoke, stream, tools, structured output, n."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from verdict import main

FORBIDDEN = "Please say forbiddenword."


class Person(BaseModel):
    """Someone."""

    name: str
    age: int


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def connect(base, dialect):
    def chat(model, **more):
        options = {"max_retries": 0, "timeout": 20, "stream_usage": True, "use_responses_api": False, **more}
        return ChatOpenAI(model=model, base_url=base, api_key="any", **options)

    return SimpleNamespace(chat=chat, dialect=dialect)


def read(message):
    usage = message.usage_metadata
    return {
        "text": message.content,
        "finish": message.response_metadata.get("finish_reason"),
        "usage": usage and [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]],
        "calls": len(message.tool_calls) + len(message.invalid_tool_calls),
    }


def streamed(model, ask="Hi"):
    whole = None
    for chunk in model.stream(ask):
        whole = chunk if whole is None else whole + chunk
    return read(whole)


def prompt(client):
    return read(client.chat("text").invoke(FORBIDDEN))


def prompt_stream(client):
    return streamed(client.chat("text"), FORBIDDEN)


async def prompt_later(client):
    return read(await client.chat("text").ainvoke(FORBIDDEN))


def blocked(client):
    return read(client.chat("blocked").invoke("Hi"))


def blocked_stream(client):
    return streamed(client.chat("blocked"))


async def blocked_later(client):
    return read(await client.chat("blocked").ainvoke("Hi"))


async def blocked_stream_later(client):
    return "".join([chunk.content async for chunk in client.chat("blocked").astream("Hi")])


def blocked_tools(client):
    return read(client.chat("blocked-tools").bind_tools([get_weather]).invoke("Hi"))


def blocked_tools_stream(client):
    return streamed(client.chat("blocked-tools").bind_tools([get_weather]))


def blocked_of_two(client):
    answer = client.chat("blocked-of-two", n=2).generate([[HumanMessage("Hi")]])
    return [[choice.text, choice.generation_info["finish_reason"]] for choice in answer.generations[0]]


def structured_blocked(client):
    return client.chat("blocked").with_structured_output(Person, method="json_schema").invoke("Hi")


def structured_by_tool_blocked(client):
    return client.chat("blocked").with_structured_output(Person, method="function_calling").invoke("Hi")


def annotated(client):
    return read(client.chat("text").invoke("Hi"))


def annotated_stream(client):
    return streamed(client.chat("text"))


def async_stream(client):
    return streamed(client.chat("text-async"))


CASES = [
    *(prompt, prompt_stream, prompt_later, blocked, blocked_stream, blocked_later, blocked_stream_later),
    *(blocked_tools, blocked_tools_stream, blocked_of_two, structured_blocked, structured_by_tool_blocked),
    *(annotated, annotated_stream, async_stream),
]

main(CASES, connect)
