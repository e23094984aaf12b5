"""instructor on the embedded model: objects by tools, by JSON and by schema, in a stream, and one of several types."""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import instructor
from embedded_shapes import ADA, BOUGHT, MODEL, Order, Person, say
from openai import OpenAI
from pydantic import BaseModel
from verdict import main

SHORT = {"model": MODEL, "temperature": 0, "max_tokens": 60, "max_retries": 0}


class GetWeather(BaseModel):
    """The weather in a city."""

    city: str


def connect(base, dialect):
    client = OpenAI(base_url=base, api_key="any", max_retries=0, timeout=60)
    return SimpleNamespace(chat=lambda mode: instructor.from_openai(client, mode=mode).chat.completions)


def typed(value):
    return [type(value).__name__, value.model_dump()]


def person(client, mode):
    return typed(client.chat(mode).create(messages=say(ADA), response_model=Person, **SHORT))


def tools(client):
    order = {"messages": say(ADA), "response_model": Person, **SHORT}
    found, completion = client.chat(instructor.Mode.TOOLS).create_with_completion(**order)
    usage = completion.usage
    return [*typed(found), [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]]


def tools_strict(client):
    return person(client, instructor.Mode.TOOLS_STRICT)


def json(client):
    """No limit of tokens: what a schema leaves open, the engine must bound."""
    order = {"model": MODEL, "temperature": 0, "max_retries": 0, "messages": say(BOUGHT)}
    return typed(client.chat(instructor.Mode.JSON).create(response_model=Order, **order))


def json_schema(client):
    return person(client, instructor.Mode.JSON_SCHEMA)


def partial(client):
    parts = list(client.chat(instructor.Mode.TOOLS).create_partial(messages=say(ADA), response_model=Person, **SHORT))
    return [len(parts), *typed(parts[-1])]


def parallel(client):
    order = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}], **SHORT}
    chat = client.chat(instructor.Mode.PARALLEL_TOOLS)
    return [typed(call) for call in chat.create(response_model=Iterable[GetWeather | Person], **order)]


CASES = [tools, tools_strict, json, json_schema, partial, parallel]

main(CASES, connect)
