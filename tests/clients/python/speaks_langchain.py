"""langchain-openai against upstreams of other vendors: the model's name begins with the vendor's."""

# mypy: ignore-errors
from __future__ import annotations

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
    return "sunny"


def connect(base, vendor):
    options = {"max_retries": 0, "timeout": 20, "stream_usage": True, "use_responses_api": False}
    return ChatOpenAI(model=f"{vendor}/scripted", base_url=base, api_key="any", **options)


def text(client):
    return client.invoke("Hi").content


def stream(client):
    return "".join(chunk.content for chunk in client.stream("Hi"))


def tools(client):
    return loop(client.bind_tools([get_weather]), lambda model, said: model.invoke(said))


def stream_tools(client):
    def ask(model, said):
        whole = None
        for chunk in model.stream(said):
            whole = chunk if whole is None else whole + chunk
        return whole

    return loop(client.bind_tools([get_weather]), ask)


def loop(model, ask):
    said, cities = [HumanMessage("Use get weather")], []
    for _ in range(3):
        message = ask(model, said)
        if not message.tool_calls:
            return [message.content, cities]
        said.append(message)
        for call in message.tool_calls:
            cities.append(call["args"]["city"])
            said.append(ToolMessage("sunny", tool_call_id=call["id"]))
    return None


def structured(client):
    return client.with_structured_output(Person, method="json_schema").invoke("Hi").model_dump()


main([text, stream, tools, stream_tools, structured], connect)
