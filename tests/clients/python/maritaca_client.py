"""langchain-maritaca, written against Maritaca's own API: speaks to the maritaca dialect only."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from langchain_core.tools import tool
from langchain_maritaca import ChatMaritaca
from verdict import main


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def connect(base, dialect):
    def chat(model, **more):
        return ChatMaritaca(model=model, base_url=base, api_key="any", max_retries=more.pop("retries", 0), **more)

    return SimpleNamespace(chat=chat, dialect=dialect)


def read(message):
    usage = message.usage_metadata
    return {
        "text": message.content,
        "usage": usage and [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]],
        "calls": [[call["name"], call["args"], call["id"]] for call in message.tool_calls],
    }


def text(client):
    return read(client.chat("text").invoke("Hi"))


def crooked_text(client):
    return client.chat("crooked-text").invoke("Hi").content


def stream(client):
    return "".join(chunk.content for chunk in client.chat("text").stream("Hi"))


async def later_stream(client):
    return "".join([chunk.content async for chunk in client.chat("crooked-text").astream("Hi")])


def tools(client):
    return read(client.chat("crooked-tools").bind_tools([get_weather]).invoke("Hi"))


def retry(client):
    return client.chat("busy-maritaca-own", retries=2).invoke("Hi").content


def wrong(client):
    return client.chat("wrong").invoke("Hi").content


main([text, crooked_text, stream, later_stream, tools, retry, wrong], connect, dialects=["maritaca"])
