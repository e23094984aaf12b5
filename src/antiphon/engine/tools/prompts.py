"""How tools, calls and results are written for a model that was never taught any: as plain text, by example.

One page of examples serves both questions that are put to the model (`probe`: for which tool is this request meant;
`toolbox`: with which arguments), so that it is read once and stays in the prompt cache. A conversation that holds calls
and results is told in the three roles that every chat template knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from antiphon.document import Document

Words = tuple[str, str]  # (role, text)

CHAT: Final = "Chat"
BETWEEN: Final = ", "  # two calls
EXAMPLES: Final = (
    ("open_locker(number): Open a locker", "Can you open lockers 47 and 52?", '{"number": "47"}, {"number": "52"}'),
    (CHAT, "Hello, how are you?", "{}"),
    ("feed(animal, grams): Feed an animal", "Give the dog 200 grams", '{"animal": "dog", "grams": 200}'),
    (CHAT, "Tell me a joke.", "{}"),
    (
        "paint(object, color): Paint something in a color",
        "Please paint the garden fence green.",
        '{"object": "garden fence", "color": "green"}',
    ),
    (CHAT, "What is your favorite color?", "{}"),
)
PAGE: Final = "".join(
    f"Tool: {tool}\nRequest: {request}\nArguments: {arguments}\n\n" for tool, request, arguments in EXAMPLES
)
MOST_DESCRIPTION: Final = 200  # characters
MOST_NAMES: Final = 600  # characters
MOST_REQUEST: Final = 1000
MOST_EARLIER: Final = 400
SHORT: Final = 4  # words

# How a call and its result are told. Of eight wordings this one led to the result in the answer most often, in 8 of 10
# small conversations; with the bare call and result it was 4.
CALLING: Final = "I will look it up."
RESULT: Final = "The answer is: "
TELL: Final = "\nTell me the answer."


def tool_line(name: str, description: str, parameters: Document) -> str:
    """get_weather(city, unit): Get the current weather"""
    properties = parameters.get("properties")
    names = shortened(", ".join(properties) if type(properties) is dict else "", MOST_NAMES)
    said = one_line(description)[:MOST_DESCRIPTION].rstrip(". ")
    return f"{name}({names})" + (f": {said}" if said else "")


def shortened(names: str, most: int) -> str:
    return names if len(names) <= most else names[:most].rpartition(", ")[0] + ", …"


def before_request(line: str) -> str:
    """The prompt whose likeliest next words are requests to this tool."""
    return f"{PAGE}Tool: {line}\nRequest:"


def before_arguments(line: str, messages: Sequence[Document]) -> str:
    """What was said before is told only to a request that leans on it ("Where is it?"), since it distracts: with it
    always told, 43 of 54 complete requests got their arguments instead of 52."""
    request = request_of(messages)
    asked = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=0)
    earlier = [message["content"] for message in messages[:asked] if message["role"] not in ("system", "developer")]
    before = f"Before: {one_line(' '.join(earlier))[-MOST_EARLIER:]}\n" if earlier and leans(request) else ""
    return f"{PAGE}Tool: {line}\n{before}Request: {request}\nArguments:"


def request_of(messages: Sequence[Document]) -> str:
    """What the user wants, on one line: the last thing that a user said, and what tools have answered to it since."""
    said = ""
    results: list[str] = []
    for message in messages:
        if message["role"] == "user" and message["content"].strip():
            said, results = message["content"], []
        elif message["role"] in ("tool", "function"):
            results.append(f"Result: {message['content']}")
    text = one_line(" ".join([said, *results]))
    if len(text) <= MOST_REQUEST:
        return text
    return text[: MOST_REQUEST // 2] + " … " + text[-MOST_REQUEST // 2 :]


def leans(request: str) -> bool:
    """Is it too short to stand alone?"""
    return len(request.split()) <= SHORT and not any(map(str.isdigit, request))


def one_line(text: str) -> str:
    return " ".join(text.split())


def spell(messages: Sequence[Document], most: int) -> list[Words]:
    """A conversation as (role, text) for an answer in text. Of calls and results it is told what a person would tell:
    shown the calls themselves, a small model answers with another call. Of each result at most `most` characters are
    told: one page of the web would fill the context."""
    spelled: list[Words] = []
    results: list[str] = []
    for message in messages:
        role = message["role"]
        if role in ("tool", "function"):
            results.append(message["content"][:most])
            continue
        if results:
            spelled.append(("user", RESULT + "\n".join(results)))
            results = []
        calls = message.get("tool_calls") or message.get("function_call")
        said = message["content"] or (CALLING if calls else "")
        spelled.append(("system" if role == "developer" else role, said))
    if results:
        spelled.append(("user", RESULT + "\n".join(results) + TELL))
    return spelled


def called(call: Document) -> tuple[str, str]:
    """A call's name and what it was called with."""
    inner = call.get("function") or call.get("custom") or {}
    return inner.get("name", "tool"), inner.get("arguments", inner.get("input", ""))
