"""langchain-openai on the embedded model: text, streams, structured output, tools and a loop with their results."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

from embedded_shapes import ADA, BOUGHT, MODEL, Order, Person
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from verdict import main

SUM = "What is 2+2?"
WEATHER = "What is the weather in Paris?"


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"22 °C in {city}"


@tool
def multiply(first: int, second: int) -> int:
    """Multiply two numbers."""
    return first * second


TOOLS = {"get_weather": get_weather, "multiply": multiply}


def connect(base, dialect):
    options = {"base_url": base, "api_key": "any", "max_retries": 0, "timeout": 60}
    said = {"model": MODEL, "temperature": 0, "stream_usage": True, "use_responses_api": False, **options}
    # Else it would send token ids, and those of another vocabulary.
    embeddings = OpenAIEmbeddings(model=MODEL, check_embedding_ctx_length=False, **options)
    chat, unlimited = ChatOpenAI(max_tokens=60, **said), ChatOpenAI(**said)
    return SimpleNamespace(chat=chat, unlimited=unlimited, embeddings=embeddings)


def read(message):
    usage = message.usage_metadata
    return {
        "text": message.content,
        "finish": message.response_metadata.get("finish_reason"),
        "usage": usage and [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]],
        "calls": [[call["name"], call["args"]] for call in message.tool_calls],
        "invalid calls": len(message.invalid_tool_calls),
    }


def joined(chunks):
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


def text(client):
    return read(client.chat.invoke(SUM))


def stream(client):
    return read(joined(client.chat.stream(SUM)))


def structured_by_tool(client):
    return typed(client.chat.with_structured_output(Person, method="function_calling").invoke(ADA))


def structured(client):
    return typed(client.chat.with_structured_output(Person, method="json_schema").invoke(ADA))


def nested_by_tool(client):
    """No limit of tokens: what a schema leaves open, the engine must bound."""
    return typed(client.unlimited.with_structured_output(Order, method="function_calling").invoke(BOUGHT))


def typed(value):
    return [type(value).__name__, value and value.model_dump()]


def tools(client):
    return read(client.chat.bind_tools(list(TOOLS.values())).invoke(WEATHER))


def required_tools(client):
    return read(client.chat.bind_tools(list(TOOLS.values()), tool_choice="any").invoke("Multiply 6 by 7."))


def stream_tools(client):
    return read(joined(client.chat.bind_tools(list(TOOLS.values())).stream(WEATHER)))


def no_tool_needed(client):
    return read(client.chat.bind_tools(list(TOOLS.values())).invoke("Hello! How are you?"))


def tool_loop(client):
    """As an agent goes on: until an answer without calls, five times at most."""
    model = client.chat.bind_tools(list(TOOLS.values()))
    messages = [HumanMessage(WEATHER)]
    for _ in range(5):
        messages.append(model.invoke(messages))
        if not messages[-1].tool_calls:
            break
        messages += [
            ToolMessage(TOOLS[call["name"]].invoke(call["args"]), tool_call_id=call["id"])
            for call in messages[-1].tool_calls
        ]
    return {**read(messages[-1]), "heard": [message.content for message in messages if message.type == "tool"]}


def embeddings(client):
    one, *two = [client.embeddings.embed_query("a cat"), *client.embeddings.embed_documents(["a kitten", "a dog"])]
    return [len(vector) for vector in (one, *two)]


CASES = [
    *(text, stream, structured_by_tool, structured, nested_by_tool, tools, required_tools, stream_tools),
    *(no_tool_needed, tool_loop, embeddings),
]

main(CASES, connect)
