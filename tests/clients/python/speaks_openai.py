"""The openai package against upstreams of other vendors: the model's name begins with the vendor's."""

# mypy: ignore-errors
from __future__ import annotations

import json
from types import SimpleNamespace

from openai import OpenAI
from pydantic import BaseModel
from verdict import main

PROMPT = "Use get weather"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


class Person(BaseModel):
    name: str
    age: int


def connect(base, vendor):
    client = OpenAI(base_url=base, api_key="any", max_retries=0, timeout=20)
    return SimpleNamespace(chat=client.chat.completions, model=lambda name="scripted": f"{vendor}/{name}")


def hello(text="Hi"):
    return [{"role": "user", "content": text}]


def text(client):
    return client.chat.create(model=client.model(), messages=hello()).choices[0].message.content


def stream(client):
    chunks = client.chat.create(model=client.model(), messages=hello(), stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def tools(client):
    return loop(client, lambda **asked: client.chat.create(**asked))


def stream_tools(client):
    def ask(**asked):
        with client.chat.stream(**asked) as events:
            return events.get_final_completion()

    return loop(client, ask)


def loop(client, ask):
    said, cities = hello(PROMPT), []
    for _ in range(3):
        message = ask(model=client.model(), messages=said, tools=[WEATHER]).choices[0].message
        if not message.tool_calls:
            return [message.content, cities]
        said.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in message.tool_calls:
            cities.append(json.loads(call.function.arguments)["city"])
            said.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
    return None


def structured(client):
    parsed = client.chat.parse(model=client.model(), messages=hello(), response_format=Person)
    return parsed.choices[0].message.parsed.model_dump()


def thinking_tools(client):
    return loop(client, lambda **asked: client.chat.create(**asked, reasoning_effort="low", max_completion_tokens=9000))


def truncated(client):
    chunks = client.chat.create(model=client.model("scripted-cut-after-3"), messages=hello(), stream=True)
    return [chunk.id for chunk in chunks]


def limited(client):
    client.chat.create(model=client.model("scripted-error-429"), messages=hello())


main([text, stream, tools, stream_tools, structured, thinking_tools, truncated, limited], connect)
