"""langchain-openai: invoke, stream, tools, structured output, usage, errors."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from verdict import main


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
        "calls": [[call["name"], call["args"], call["id"]] for call in message.tool_calls],
        "invalid calls": len(message.invalid_tool_calls),
    }


def streamed(model, **more):
    whole = None
    for chunk in model.stream("Hi", **more):
        whole = chunk if whole is None else whole + chunk
    return read(whole)


def text(client):
    return read(client.chat("text").invoke("Hi"))


def stream(client):
    return streamed(client.chat("text"))


def stream_crooked(client):
    saw = streamed(client.chat("crooked-text"))
    prompt, completion, total = saw.pop("usage")
    return {**saw, "counted": prompt > 0 and completion > 0 and total == prompt + completion}


async def later(client):
    return read(await client.chat("text").ainvoke("Hi"))


async def later_stream(client):
    return "".join([chunk.content async for chunk in client.chat("text").astream("Hi")])


def tools(client):
    return read(client.chat("tools").bind_tools([get_weather]).invoke("Hi"))


def stream_tools(client):
    return streamed(client.chat("tools").bind_tools([get_weather]))


def stream_crooked_tools(client):
    return streamed(client.chat("crooked-tools").bind_tools([get_weather]))


def tool_loop(client):
    model = client.chat("crooked-tools").bind_tools([get_weather])
    asked = model.invoke("Hi")
    call = asked.tool_calls[0]
    result = ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])
    return [result.content, model.invoke([("user", "Hi"), asked, result]).content]


def structured(client):
    return client.chat("person").with_structured_output(Person, method="json_schema").invoke("Hi").model_dump()


def structured_by_tool(client):
    return client.chat("person").with_structured_output(Person, method="function_calling").invoke("Hi").model_dump()


def two(client):
    answer = client.chat("two", n=2).generate([[HumanMessage("Hi")]])
    return [choice.text for choice in answer.generations[0]]


def length(client):
    return read(client.chat("length").invoke("Hi"))


def wrong(client):
    return read(client.chat("wrong").invoke("Hi"))


def late_error(client):
    return streamed(client.chat("late-error"))


def truncated(client):
    return streamed(client.chat("truncated"))


CASES = [
    *(text, stream, stream_crooked, later, later_stream, tools, stream_tools, stream_crooked_tools, tool_loop),
    *(structured, structured_by_tool, two, length, wrong, late_error, truncated),
]

main(CASES, connect)
