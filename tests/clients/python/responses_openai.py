"""The openai package on the Responses API: create, streams, the `.stream()` and `.parse()` helpers, tools, errors."""

# mypy: ignore-errors
from __future__ import annotations

import json
from types import SimpleNamespace

from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from verdict import main

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


class Person(BaseModel):
    name: str
    age: int


def connect(base, dialect):
    options = {"base_url": base, "api_key": "any", "max_retries": 0, "timeout": 20}
    strict = OpenAI(**options, _strict_response_validation=True)
    return SimpleNamespace(plain=OpenAI(**options).responses, strict=strict.responses, later=AsyncOpenAI(**options))


def read(response):
    usage = response.usage
    return {
        "text": response.output_text,
        "status": response.status,
        "why": response.incomplete_details and response.incomplete_details.reason,
        "usage": usage and [usage.input_tokens, usage.output_tokens, usage.total_tokens],
        "items": [item.type for item in response.output],
        "model": response.model,
    }


def text(client):
    return read(client.plain.create(model="text", input="Hi", instructions="Be brief."))


def strictly(client):
    """The package's own types as judge: pydantic refuses what has the wrong type."""
    whole = client.strict.create(model="tools", input="Hi", tools=[WEATHER], tool_choice="auto")
    events = list(client.strict.create(model="text", input="Hi", stream=True))
    return [whole.output[0].type, events[-1].type]


def stream(client):
    events = list(client.plain.create(model="text", input="Hi", stream=True))
    joined = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    return [joined, read(events[-1].response), [event.sequence_number for event in events] == list(range(len(events)))]


def helper_text(client):
    with client.plain.stream(model="text", input="Hi") as stream:
        seen = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        return [seen[-1], read(stream.get_final_response())]


def helper_tools(client):
    with client.plain.stream(model="tools", input="Hi", tools=[WEATHER]) as stream:
        stream.until_done()
        return called(stream.get_final_response().output)


def helper_parse(client):
    with client.plain.stream(model="person", input="Hi", text_format=Person) as stream:
        stream.until_done()
        return stream.get_final_response().output_parsed.model_dump()


def parse(client):
    return client.plain.parse(model="person", input="Hi", text_format=Person).output_parsed.model_dump()


def called(output):
    return [[item.call_id, item.name, json.loads(item.arguments)] for item in output if item.type == "function_call"]


def tools(client):
    """Two turns: the items of the first go back as they came."""
    first = client.plain.create(model="tools", input="Hi", tools=[WEATHER])
    calls = called(first.output)
    outputs = [{"type": "function_call_output", "call_id": call[0], "output": "mild"} for call in calls]
    history = [{"role": "user", "content": "Hi"}, *first.output, *outputs]
    return [calls, client.plain.create(model="tools", input=history, tools=[WEATHER]).output_text]


def reasoning(client):
    """It comes back with the next turn, as the client got it."""
    include = ["reasoning.encrypted_content"]
    first = client.plain.create(model="reasoning", input="Hi", include=include, reasoning={"summary": "auto"})
    again = client.plain.create(model="text", input=[*first.output, {"role": "user", "content": "And?"}])
    return [first.output[0].summary[0].text, first.output_text, again.output_text]


def refusal(client):
    return client.plain.create(model="refusal", input="Hi").output[0].content[0].refusal


def logprobs(client):
    include = ["message.output_text.logprobs"]
    response = client.plain.create(model="logprobs", input="Hi", top_logprobs=1, include=include)
    return [token.token for token in response.output[0].content[0].logprobs]


def length(client):
    return read(client.plain.create(model="length", input="Hi"))


def filtered(client):
    return read(client.plain.create(model="filtered", input="Hi"))


def blocked(client):
    with client.plain.stream(model="blocked", input="Hi") as stream:
        return [event.type for event in stream][-1]


async def later(client):
    stream = await client.later.responses.create(model="text", input="Hi", stream=True)
    return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])


def invalid(client):
    return client.plain.create(model="text", input="Hi", temperature=3)


def built_in(client):
    return client.plain.create(model="text", input="Hi", tools=[{"type": "web_search"}])


def wrong(client):
    return client.plain.create(model="wrong", input="Hi")


def late_error(client):
    return list(client.plain.create(model="late-error", input="Hi", stream=True))


def truncated(client):
    return list(client.plain.create(model="truncated", input="Hi", stream=True))


main(
    [
        *(text, strictly, stream, helper_text, helper_tools, helper_parse, parse, tools, reasoning, refusal, logprobs),
        *(length, filtered, blocked, later, invalid, built_in, wrong, late_error, truncated),
    ],
    connect,
)
