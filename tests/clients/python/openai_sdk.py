"""The openai package: raw calls, streams, the `.stream()` and `.parse()` helpers, AsyncOpenAI, headers, retries."""

# mypy: ignore-errors
from __future__ import annotations

import json
import time
from types import SimpleNamespace

from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from verdict import main

ASK = [{"role": "user", "content": "Hi"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}
USAGE = {"include_usage": True}


class Person(BaseModel):
    name: str
    age: int


def connect(base, dialect):
    options = {"base_url": base, "api_key": "any", "max_retries": 0, "timeout": 20}
    return SimpleNamespace(plain=OpenAI(**options), later=AsyncOpenAI(**options), dialect=dialect, base=base)


def read(completion):
    """What every whole answer is asked for."""
    choice = completion.choices[0]
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "usage": tokens(completion.usage),
        "calls": called(choice.message.tool_calls),
        "role": choice.message.role,
        "model": completion.model,
    }


def tokens(usage):
    return usage and [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]


def called(calls):
    return [[call.id, call.type, call.function.name, json.loads(call.function.arguments)] for call in calls or ()]


def create(client, model, **more):
    return client.plain.chat.completions.create(model=model, messages=ASK, **more)


def text(client):
    return read(create(client, "text"))


def crooked_text(client):
    return read(create(client, "crooked-text"))


def strictly(client):
    """The package's own types as judge: pydantic refuses what has the wrong type."""
    strict = OpenAI(base_url=client.base, api_key="any", max_retries=0, _strict_response_validation=True)
    whole = strict.chat.completions.create(model="text", messages=ASK)
    chunks = list(strict.chat.completions.create(model="text", messages=ASK, stream=True, stream_options=USAGE))
    return {"text": whole.choices[0].message.content, "chunks": len({chunk.id for chunk in chunks})}


def joined(stream):
    chunks = list(stream)
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    return {
        "text": "".join(delta.content or "" for delta in deltas),
        "roles": [delta.role for delta in deltas if delta.role],
        "finish": [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason],
        "usage": [tokens(chunk.usage) for chunk in chunks if chunk.usage],
        "ids": len({chunk.id for chunk in chunks}),
        "models": sorted({chunk.model for chunk in chunks}),
    }


def stream(client):
    return joined(create(client, "text", stream=True, stream_options=USAGE))


def counted(client):
    """Usage that no upstream reported, of a model whose tokenizer is known."""
    streamed = joined(create(client, "gpt-4o", stream=True, stream_options=USAGE))
    return [tokens(create(client, "gpt-4o").usage), streamed["usage"]]


def stream_crooked(client):
    return joined(create(client, "crooked-text", stream=True))


def helper(client, model, **more):
    with client.plain.chat.completions.stream(model=model, messages=ASK, **more) as events:
        for _ in events:
            pass
        return events.get_final_completion()


def helper_text(client):
    return read(helper(client, "text", stream_options=USAGE))


def helper_crooked_text(client):
    return read(helper(client, "crooked-text", stream_options=USAGE))


def helper_tools(client):
    return read(helper(client, "tools", tools=[WEATHER]))


def helper_crooked_tools(client):
    return read(helper(client, "crooked-tools", tools=[WEATHER]))


def helper_only_calls(client):
    with client.plain.chat.completions.stream(model="only-calls", messages=ASK, tools=[WEATHER]) as events:
        texts = [event.delta for event in events if event.type == "content.delta"]
        return {"texts": texts, **read(events.get_final_completion())}


def only_calls(client):
    return read(create(client, "only-calls"))


def helper_pictures(client):
    message = helper(client, "pictures").choices[0].message
    return [message.content, [[part["index"], part["data"]] for part in message.content_parts]]


def pictures(client):
    message = create(client, "pictures").choices[0].message
    return [message.content, [part["data"] for part in message.content_parts]]


def helper_two(client):
    return [choice.message.content for choice in helper(client, "two", n=2).choices]


def helper_parse(client):
    return helper(client, "person", response_format=Person).choices[0].message.parsed.model_dump()


def helper_refusal(client):
    message = helper(client, "refusal").choices[0].message
    return [message.content, message.refusal]


def helper_length(client):
    return read(helper(client, "length"))


def helper_filtered(client):
    return read(helper(client, "filtered"))


def helper_logprobs(client):
    logprobs = helper(client, "logprobs", logprobs=True, top_logprobs=1).choices[0].logprobs
    return [entry.token for entry in logprobs.content]


def parse(client):
    answer = client.plain.chat.completions.parse(model="person", messages=ASK, response_format=Person)
    return answer.choices[0].message.parsed.model_dump()


def tools(client):
    return read(create(client, "tools", tools=[WEATHER]))


def crooked_tools(client):
    return read(create(client, "crooked-tools", tools=[WEATHER]))


def two(client):
    return [choice.message.content for choice in create(client, "two", n=2).choices]


def refusal(client):
    message = create(client, "refusal").choices[0].message
    return [message.content, message.refusal]


def reasoning(client):
    message = create(client, "reasoning").choices[0].message
    return [message.reasoning_content, message.content]


def logprobs(client):
    answer = create(client, "logprobs", logprobs=True, top_logprobs=1)
    return [[entry.token, len(entry.top_logprobs)] for entry in answer.choices[0].logprobs.content]


async def later(client):
    return read(await client.later.chat.completions.create(model="text", messages=ASK))


async def later_stream(client):
    said = ""
    async for chunk in await client.later.chat.completions.create(model="text", messages=ASK, stream=True):
        said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
    return said


async def later_helper(client):
    async with client.later.chat.completions.stream(model="text", messages=ASK, stream_options=USAGE) as events:
        return read(await events.get_final_completion())


def headers(client):
    answer = client.plain.chat.completions.with_raw_response.create(model="text", messages=ASK)
    streamed = client.plain.chat.completions.with_raw_response.create(model="text", messages=ASK, stream=True)
    return {
        "id": answer.headers["x-request-id"][:4],
        "type": answer.headers["content-type"].split(";")[0],
        "stream id": streamed.headers["x-request-id"][:4],
        "stream type": streamed.headers["content-type"].split(";")[0],
        "text": answer.parse().choices[0].message.content,
        "same as": answer.parse()._request_id == answer.headers["x-request-id"],
    }


def models(client):
    return [[model.id, model.object] for model in client.plain.models.list()]


def model(client):
    return client.plain.models.retrieve("text").id


def retry(client):
    """429 with retry-after 1: the package waits that long, then asks again."""
    began = time.monotonic()
    answer = client.plain.with_options(max_retries=2).chat.completions.create(
        model=f"busy-{client.dialect}", messages=ASK
    )
    return {"text": answer.choices[0].message.content, "waited": 0.9 <= time.monotonic() - began < 10}


def invalid(client):
    return read(create(client, "text", temperature=3))


def wrong(client):
    return read(create(client, "wrong"))


def locked(client):
    return read(create(client, "locked"))


def down(client):
    return read(create(client, "down"))


def late_error(client):
    return joined(create(client, "late-error", stream=True))


def early_error(client):
    return read(create(client, "late-error"))


def truncated(client):
    return joined(create(client, "truncated", stream=True))


def helper_truncated(client):
    return read(helper(client, "truncated"))


def broken_off(client):
    return joined(create(client, "broken-off", stream=True))


async def later_truncated(client):
    return await later_all(client, "truncated")


async def later_all(client, name):
    return [
        chunk.id async for chunk in await client.later.chat.completions.create(model=name, messages=ASK, stream=True)
    ]


CASES = [
    *(text, crooked_text, strictly, stream, stream_crooked, counted, helper_text, helper_crooked_text, helper_tools),
    *(helper_crooked_tools, helper_two, helper_parse, helper_refusal, helper_length, helper_filtered, helper_logprobs),
    *(parse, tools, crooked_tools, two, refusal, reasoning, logprobs, later, later_stream, later_helper, headers),
    *(models, model, retry, invalid, wrong, locked, down, late_error, early_error, truncated, helper_truncated),
    *(broken_off, later_truncated, helper_only_calls, only_calls, helper_pictures, pictures),
]

main(CASES, connect)
