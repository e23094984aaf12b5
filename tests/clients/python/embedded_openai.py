"""The openai package on the embedded model: text, streams, models, embeddings, `.parse()`, `.stream()`, a tool loop."""

# mypy: ignore-errors
from __future__ import annotations

import json
from types import SimpleNamespace

import openai
from embedded_shapes import ADA, BOUGHT, MODEL, Order, Person, say
from openai import OpenAI
from pydantic import BaseModel
from verdict import main

SUM = [{"role": "user", "content": "What is 2+2?"}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]
SHORT = {"model": MODEL, "temperature": 0, "max_tokens": 60}
USAGE = {"include_usage": True}


class GetWeather(BaseModel):
    """The weather in a city."""

    city: str


TOOL = openai.pydantic_function_tool(GetWeather, name="get_weather")


def connect(base, dialect):
    options = {"base_url": base, "api_key": "any", "max_retries": 0, "timeout": 60}
    strict = OpenAI(**options, _strict_response_validation=True)  # pydantic refuses what has the wrong type
    return SimpleNamespace(plain=OpenAI(**options), strict=strict)


def read(completion):
    choice = completion.choices[0]
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "usage": tokens(completion.usage),
        "model": completion.model,
    }


def tokens(usage):
    return usage and [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]


def text(client):
    return read(client.strict.chat.completions.create(messages=SUM, **SHORT))


def stream(client):
    chunks = list(client.strict.chat.completions.create(messages=SUM, stream=True, stream_options=USAGE, **SHORT))
    choices = [choice for chunk in chunks for choice in chunk.choices]
    return {
        "text": "".join(choice.delta.content or "" for choice in choices),
        "finish": next(choice.finish_reason for choice in choices if choice.finish_reason),
        "usage": tokens(chunks[-1].usage),
        "model": chunks[0].model,
    }


def helper(client):
    with client.plain.chat.completions.stream(messages=SUM, stream_options=USAGE, **SHORT) as events:
        kinds = {event.type for event in events}
        return {**read(events.get_final_completion()), "events": sorted(kinds)}


def parse(client):
    answer = client.plain.chat.completions.parse(messages=say(ADA), response_format=Person, **SHORT)
    return typed(answer.choices[0].message.parsed)


def parse_nested(client):
    """No limit of tokens: what a schema leaves open, the engine must bound."""
    order = {"model": MODEL, "temperature": 0, "messages": say(BOUGHT), "response_format": Order}
    return typed(client.plain.chat.completions.parse(**order).choices[0].message.parsed)


def helper_parse(client):
    with client.plain.chat.completions.stream(messages=say(ADA), response_format=Person, **SHORT) as events:
        return typed(events.get_final_completion().choices[0].message.parsed)


def typed(value):
    return [type(value).__name__, value.model_dump()]


def calls(message):
    return [[call.function.name, *typed(call.function.parsed_arguments)] for call in message.tool_calls or ()]


def parse_tools(client):
    answer = client.plain.chat.completions.parse(messages=WEATHER, tools=[TOOL], tool_choice="required", **SHORT)
    return [calls(answer.choices[0].message), answer.choices[0].finish_reason]


def helper_tools(client):
    order = {"messages": WEATHER, "tools": [TOOL], "tool_choice": "required", **SHORT}
    with client.plain.chat.completions.stream(**order) as events:
        kinds = {event.type for event in events}
        choice = events.get_final_completion().choices[0]
        return [calls(choice.message), choice.finish_reason, "tool_calls.function.arguments.done" in kinds]


def tool_loop(client):
    create = client.strict.chat.completions.create
    asked = create(messages=WEATHER, tools=[TOOL], **SHORT).choices[0].message
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"22 °C in {json.loads(call.function.arguments)['city']}"}
        for call in asked.tool_calls
    ]
    answer = create(messages=[*WEATHER, asked, *results], tools=[TOOL], **SHORT)
    return {**read(answer), "heard": [result["content"] for result in results]}


def models(client):
    return [[model.id for model in client.strict.models.list()], client.strict.models.retrieve(MODEL).id]


def embeddings(client):
    """By default the package asks for base64, which it decodes; its own types know only the list."""
    answer = client.plain.embeddings.create(model=MODEL, input=["a cat", "a kitten"])
    as_list = client.strict.embeddings.create(model=MODEL, input="a cat", encoding_format="float")
    vectors = [entry.embedding for entry in answer.data]
    return {
        "lengths": [len(vector) for vector in vectors],
        "types": sorted({type(number).__name__ for vector in vectors for number in vector}),
        "different": vectors[0] != vectors[1],
        "either way": max(abs(a - b) for a, b in zip(vectors[0], as_list.data[0].embedding, strict=True)) < 1e-3,
        "usage": [answer.usage.prompt_tokens, answer.usage.total_tokens],
    }


CASES = [
    text,
    stream,
    helper,
    parse,
    parse_nested,
    helper_parse,
    parse_tools,
    helper_tools,
    tool_loop,
    models,
    embeddings,
]

main(CASES, connect)
