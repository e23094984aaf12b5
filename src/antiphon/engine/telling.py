"""How tools, calls and results are written for a model that was never taught any: as plain text, by example.

One page of examples serves both questions that are put to the model (`probe`: for which tool is this request meant;
`toolbox`: with which arguments), so that it is read once and stays in the prompt cache. A conversation that holds calls
and results is told in the three roles that every chat template knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

Document = dict[str, Any]
Words = tuple[str, str]  # (role, text)

CHAT: Final = "Chat"
EXAMPLES: Final = (
    ("get_forecast(city): Get the weather for a city", "Do I need an umbrella in Lisbon?", '{"city": "Lisbon"}'),
    (CHAT, "Hello, how are you?", "{}"),
    (
        "paint(object, color): Paint something in a color",
        "Please paint the garden fence green.",
        '{"object": "garden fence", "color": "green"}',
    ),
    (CHAT, "Tell me a joke.", "{}"),
    ("subtract(a, b): Subtract b from a", "What is 95 - 40?", '{"a": 95, "b": 40}'),
)
PAGE: Final = "".join(
    f"Tool: {tool}\nRequest: {request}\nArguments: {arguments}\n\n" for tool, request, arguments in EXAMPLES
)
MOST_DESCRIPTION: Final = 200  # characters
MOST_REQUEST: Final = 1000
MOST_RESULT: Final = 2000


def tool_line(name: str, description: str, parameters: Document) -> str:
    """get_weather(city, unit): Get the current weather"""
    properties = parameters.get("properties")
    names = ", ".join(properties) if type(properties) is dict else ""
    said = " ".join(description.split())[:MOST_DESCRIPTION].rstrip(". ")
    return f"{name}({names})" + (f": {said}" if said else "")


def before_request(line: str) -> str:
    """The prompt whose likeliest next words are requests to this tool."""
    return f"{PAGE}Tool: {line}\nRequest:"


def before_arguments(line: str, request: str) -> str:
    return f"{before_request(line)} {request}\nArguments:"


def request_of(messages: Sequence[Document]) -> str:
    """What the user wants, on one line: the last thing that was said by a user."""
    said = [message["content"] for message in messages if message["role"] == "user" and message["content"].strip()]
    text = " ".join(said[-1].split()) if said else ""
    if len(text) <= MOST_REQUEST:
        return text
    return text[: MOST_REQUEST // 2] + " … " + text[-MOST_REQUEST // 2 :]


def spell(messages: Sequence[Document], toolbox: object = None) -> list[Words]:
    """A conversation as (role, text) for an answer in text. Of the tools only what they said is told: the list of
    them would make a small model talk of tools."""
    spelled: list[Words] = []
    names: dict[str, str] = {}
    for message in messages:
        role = message["role"]
        if role in ("tool", "function"):
            name = names.get(message.get("tool_call_id", ""), message.get("name") or "tool")
            spelled.append(("user", f"Result of {name}: {message['content'][:MOST_RESULT]}"))
            continue
        calls = message.get("tool_calls") or []
        names.update({call["id"]: called(call)[0] for call in calls if "id" in call})
        lines = [message["content"]] if message["content"] else []
        lines += [f"{name}({arguments})" for name, arguments in map(called, calls)]
        if message.get("function_call"):
            lines.append(f"{message['function_call']['name']}({message['function_call']['arguments']})")
        spelled.append(("system" if role == "developer" else role, "\n".join(lines)))
    return spelled


def called(call: Document) -> tuple[str, str]:
    """A call's name and what it was called with."""
    inner = call.get("function") or call.get("custom") or {}
    return inner.get("name", "tool"), inner.get("arguments", inner.get("input", ""))
