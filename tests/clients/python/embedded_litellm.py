"""litellm's SDK on the embedded model: text, streams, a tool, an object, embeddings."""

# mypy: ignore-errors
from __future__ import annotations

import json
import os
from functools import partial
from types import SimpleNamespace

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network

import litellm
from pydantic import BaseModel
from verdict import main

litellm.suppress_debug_info = True  # it would print among the verdicts
MODEL = "openai/smollm2-135m-instruct"
SUM = [{"role": "user", "content": "What is 2+2?"}]
ADA = [{"role": "user", "content": "Ada is 36 years old. Give her name and age."}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Person(BaseModel):
    name: str
    age: int


def connect(base, dialect):
    reach = {"model": MODEL, "api_base": base, "api_key": "any"}
    ask = partial(litellm.completion, temperature=0, max_tokens=60, num_retries=0, timeout=60, **reach)
    return SimpleNamespace(ask=ask, embed=partial(litellm.embedding, **reach))


def read(completion):
    choice, usage = completion.choices[0], completion.usage
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "usage": [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
        "calls": [
            [call.function.name, json.loads(call.function.arguments)] for call in choice.message.tool_calls or ()
        ],
    }


def streamed(client, messages, **more):
    chunks = list(client.ask(messages=messages, stream=True, stream_options={"include_usage": True}, **more))
    return read(litellm.stream_chunk_builder(chunks, messages=messages))


def text(client):
    return read(client.ask(messages=SUM))


def stream(client):
    return streamed(client, SUM)


def tools(client):
    return read(client.ask(messages=WEATHER, tools=[TOOL]))


def stream_tools(client):
    return streamed(client, WEATHER, tools=[TOOL])


def structured(client):
    found = Person.model_validate_json(client.ask(messages=ADA, response_format=Person).choices[0].message.content)
    return [type(found).__name__, found.model_dump()]


def embeddings(client):
    answer = client.embed(input=["a cat", "a kitten"])
    return [len(entry["embedding"]) for entry in answer.data]


main([text, stream, tools, stream_tools, structured, embeddings], connect)
