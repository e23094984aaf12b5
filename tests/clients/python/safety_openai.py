"""The openai package where something is blocked or annotated: calls, streams, helpers, AsyncOpenAI, moderations."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from openai import AsyncOpenAI, BadRequestError, OpenAI
from pydantic import BaseModel
from verdict import main, told

ASK = [{"role": "user", "content": "Hi"}]
FORBIDDEN = [{"role": "user", "content": "Please say forbiddenword."}]
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
USAGE = {"include_usage": True}
GREETING, THREAT = "Hello, how are you today?", "I will kill you and everyone in your family."


class Person(BaseModel):
    name: str
    age: int


def connect(base, dialect):
    options = {"base_url": base, "api_key": "any", "max_retries": 0, "timeout": 20}
    strict = OpenAI(**options, _strict_response_validation=True)
    return SimpleNamespace(plain=OpenAI(**options), strict=strict, later=AsyncOpenAI(**options), dialect=dialect)


def create(client, model, messages=ASK, **more):
    return client.plain.chat.completions.create(model=model, messages=messages, **more)


def tokens(usage):
    return usage and [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]


def read(completion):
    """Every choice, and what was found in it."""
    return {
        "text": [choice.message.content for choice in completion.choices],
        "finish": [choice.finish_reason for choice in completion.choices],
        "calls": sum(len(choice.message.tool_calls or ()) for choice in completion.choices),
        "usage": tokens(completion.usage),
        "prompt": completion.model_extra["prompt_filter_results"],
        "answer": [choice.model_extra["content_filter_results"] for choice in completion.choices],
    }


def joined(chunks):
    """The same of a stream; of the findings those with the finish."""
    choices = sorted((choice for chunk in chunks for choice in chunk.choices), key=lambda choice: choice.index)
    ends = [choice for choice in choices if choice.finish_reason]
    texts = {choice.index: "" for choice in choices}
    for choice in choices:
        texts[choice.index] += choice.delta.content or ""
    return {
        "text": list(texts.values()),
        "finish": [choice.finish_reason for choice in ends],
        "calls": sum(len(choice.delta.tool_calls or ()) for choice in choices),
        "usage": [tokens(chunk.usage) for chunk in chunks if chunk.usage],
        "prompt": [one for chunk in chunks for one in chunk.model_extra.get("prompt_filter_results", ())],
        "answer": [choice.model_extra["content_filter_results"] for choice in ends],
        "all annotated": all("content_filter_results" in choice.model_extra for choice in choices),
    }


def streamed(client, model, **more):
    return joined(list(create(client, model, stream=True, stream_options=USAGE, **more)))


def helper(client, model, messages=ASK, **more):
    with client.plain.chat.completions.stream(model=model, messages=messages, **more) as events:
        return events.get_final_completion()


def refused(ask):
    """The error, and the verdict in its body."""
    try:
        return ask()
    except BadRequestError as error:
        return {**told(error), "found": error.body["innererror"]["content_filter_result"]}


def prompt(client):
    return refused(lambda: create(client, "text", FORBIDDEN))


def prompt_stream(client):
    return refused(lambda: create(client, "text", FORBIDDEN, stream=True))


def prompt_helper(client):
    return refused(lambda: helper(client, "text", FORBIDDEN))


async def prompt_later(client):
    return await client.later.chat.completions.create(model="text", messages=FORBIDDEN)


def blocked(client):
    return read(create(client, "blocked"))


def blocked_strictly(client):
    """The package's own types as judge."""
    whole = client.strict.chat.completions.create(model="blocked", messages=ASK)
    chunks = client.strict.chat.completions.create(model="blocked", messages=ASK, stream=True, stream_options=USAGE)
    return [whole.choices[0].finish_reason, joined(list(chunks))["finish"]]


async def blocked_later(client):
    return read(await client.later.chat.completions.create(model="blocked", messages=ASK))


def blocked_of_two(client):
    return read(create(client, "blocked-of-two", n=2))


def blocked_tools(client):
    return read(create(client, "blocked-tools", tools=[WEATHER]))


def blocked_stream(client):
    return streamed(client, "blocked")


async def blocked_stream_later(client):
    options = {"model": "blocked", "messages": ASK, "stream": True, "stream_options": USAGE}
    return joined([chunk async for chunk in await client.later.chat.completions.create(**options)])


def blocked_of_two_stream(client):
    return streamed(client, "blocked-of-two", n=2)


def blocked_tools_stream(client):
    return streamed(client, "blocked-tools", tools=[WEATHER])


def blocked_late(client):
    """The word is said after some text has been read."""
    name = f"python-{client.dialect}"
    chunks = []
    for chunk in create(client, f"late-word-{name}", stream=True, stream_options=USAGE):
        if has_text(chunk) and not any(has_text(before) for before in chunks):
            create(client, f"go-on-{name}")
        chunks.append(chunk)
    return joined(chunks)


def has_text(chunk):
    return bool(chunk.choices and chunk.choices[0].delta.content)


def helper_blocked(client):
    return read(helper(client, "blocked"))


def helper_blocked_tools(client):
    return read(helper(client, "blocked-tools", tools=[WEATHER]))


def parse_blocked(client):
    return client.plain.chat.completions.parse(model="blocked", messages=ASK, response_format=Person)


def annotated(client):
    return read(create(client, "text"))


def annotated_stream(client):
    return streamed(client, "text")


def annotated_helper(client):
    return read(helper(client, "text", stream_options=USAGE))


def async_stream(client):
    """The verdict comes after the text, as a rule after its end too."""
    chunks = list(create(client, "text-async", stream=True, stream_options=USAGE))
    choices = [choice for chunk in chunks for choice in chunk.choices]
    return {
        "text": "".join(choice.delta.content or "" for choice in choices),
        "finish": [choice.finish_reason for choice in choices if choice.finish_reason],
        "usage": [tokens(chunk.usage) for chunk in chunks if chunk.usage],
        "told": [choice.model_extra for choice in choices if "content_filter_offsets" in choice.model_extra],
    }


def async_helper(client):
    completion = helper(client, "text-async", stream_options=USAGE)
    return [completion.choices[0].message.content, completion.choices[0].finish_reason, tokens(completion.usage)]


def moderations(client):
    return judged(client.plain.moderations.create(input=[GREETING, THREAT]))


def moderations_strictly(client):
    return judged(client.strict.moderations.create(input=[GREETING, THREAT]))


async def moderations_later(client):
    return judged(await client.later.moderations.create(input=[GREETING, THREAT]))


def judged(answer):
    return [[one.flagged, one.categories.violence, len(one.categories.to_dict())] for one in answer.results]


CASES = [
    *(prompt, prompt_stream, prompt_helper, prompt_later, blocked, blocked_strictly, blocked_later, blocked_of_two),
    *(blocked_tools, blocked_stream, blocked_stream_later, blocked_of_two_stream, blocked_tools_stream, blocked_late),
    *(helper_blocked, helper_blocked_tools, parse_blocked, annotated, annotated_stream, annotated_helper),
    *(async_stream, async_helper),
    *(moderations, moderations_strictly, moderations_later),
]

main(CASES, connect)
