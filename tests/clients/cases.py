"""What the upstream answers, by the model that a client asks for. Some answers are as crooked as vendors send them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from antiphon.upstreams.scripted import Received, Script, cut, error, json_answer, sse, wait

Document = dict[str, Any]

TEXT = "Hello, wörld 👋!"
PIECES = ("Hello", ", wör", "ld 👋", "!")
USAGE = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
PERSON = '{"name":"Ada","age":36}'
ENVELOPE = {"id": "chatcmpl-up1", "created": 1_700_000_000, "model": "up-1"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
WORD = "forbiddenword"  # on the gateway's list of what nobody may say
BLOCKED = ("The weather in Paris is ", "forbid", "denword", " today.")
HARMLESS = "The weather in Paris is mild and the trees are green. " * 30  # more than is held back
OVERLOADED = {"error": {"message": "overloaded, try later", "type": "server_error", "param": None, "code": None}}
WRONG = {"error": {"message": "no such thing", "type": "invalid_request_error", "param": "tools", "code": "bad_tool"}}


def whole(message: Document, finish: str = "stop", **more: Any) -> Document:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {**ENVELOPE, "object": "chat.completion", "choices": [choice], "usage": USAGE, **more}


def chunk(delta: Document | None, finish: str | None = None, index: int = 0, **choice: Any) -> Document:
    one = {"index": index, "delta": delta, "finish_reason": finish, **choice}
    return {**ENVELOPE, "object": "chat.completion.chunk", "choices": [one]}


ROLE = chunk({"role": "assistant", "content": ""})
COUNTED = {**ENVELOPE, "object": "chat.completion.chunk", "choices": [], "usage": USAGE}


def either(document: Document, answer: Document, *chunks: Document) -> Script:
    return sse(*chunks, COUNTED) if document.get("stream") else json_answer(answer)


def text(document: Document) -> Script:
    pieces = [chunk({"content": piece}) for piece in PIECES]
    return either(document, whole({"content": TEXT}), ROLE, *pieces, chunk({}, "stop"))


def crooked_text(document: Document) -> Script:
    """Role on every chunk, a new id each, Azure's empty first chunk, text on the finish chunk, no usage, no [DONE]."""
    empty = {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []}
    pieces = [chunk({"role": "assistant", "content": piece}) for piece in PIECES[:-1]]
    last = chunk({"content": PIECES[-1]}, "eos")
    crooked = [{**piece, "id": f"x-{number}"} for number, piece in enumerate([*pieces, last])]
    parts = [{"type": "text", "text": piece} for piece in PIECES]
    answer = {"choices": [{"message": {"content": parts}, "finish_reason": "end_turn"}]}
    return sse(empty, *crooked, done=False) if document.get("stream") else json_answer(answer)


def tools(document: Document) -> Script:
    if any(message.get("role") == "tool" for message in document["messages"]):
        return text(document)
    fragments = [
        chunk({"tool_calls": [{"index": 0, **CALL, "function": {"name": "get_weather", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"Paris"}'}}]}),
    ]
    answer = whole({"content": None, "tool_calls": [CALL]}, "tool_calls")
    return either(document, answer, ROLE, *fragments, chunk({}, "tool_calls"))


def crooked_tools(document: Document) -> Script:
    """No index, id and name repeated, arguments as an object or in pieces, `stop` though a tool was called."""
    if any(message.get("role") == "tool" for message in document["messages"]):
        return text(document)
    pieces = ['{"city":', '"Paris"}']
    fragments = [
        chunk({"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "get_weather", "arguments": piece}}]})
        for piece in pieces
    ]
    call = {"id": "call_1", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
    return either(document, whole({"content": "", "tool_calls": [call]}), *fragments, chunk(None, "stop"))


def only_calls(document: Document) -> Script:
    """A call from the first delta on, as OpenAI begins one, with an empty object before its real arguments."""
    began = {**CALL, "function": {"name": "get_weather", "arguments": "{}"}}
    first = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **began}], "refusal": None}
    pieces = ['{"city":', '"Paris"}']
    fragments = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    call = {**CALL, "function": {"name": "get_weather", "arguments": "{}" + "".join(pieces)}}
    answer = whole({"content": None, "tool_calls": [call]}, "tool_calls")
    return either(document, answer, chunk(first), *fragments, chunk({}, "tool_calls"))


def pictures(document: Document) -> Script:
    """Content in parts, two of them no text, and more in a later delta."""
    parts = [{"type": "picture", "data": name} for name in ("a", "b", "c")]
    contents = [[parts[0], {"type": "text", "text": TEXT}, parts[1]], [parts[2]]]
    answer = whole({"content": [part for content in contents for part in content]})
    return either(document, answer, ROLE, *(chunk({"content": content}) for content in contents), chunk({}, "stop"))


def person(document: Document) -> Script:
    """JSON to a schema: as text, or as the arguments of the one tool that is offered."""
    offered = document.get("tools")
    if not offered:
        halves = [chunk({"content": PERSON[:9]}), chunk({"content": PERSON[9:]})]
        return either(document, whole({"content": PERSON}), ROLE, *halves, chunk({}, "stop"))
    call = {
        "id": "call_2",
        "type": "function",
        "function": {"name": offered[0]["function"]["name"], "arguments": PERSON},
    }
    fragment = chunk({"tool_calls": [{"index": 0, **call}]})
    return either(document, whole({"tool_calls": [call]}, "tool_calls"), ROLE, fragment, chunk({}, "tool_calls"))


def refusal(document: Document) -> Script:
    pieces = [chunk({"refusal": "I can"}), chunk({"refusal": "not."})]
    return either(document, whole({"content": None, "refusal": "I cannot."}), ROLE, *pieces, chunk({}, "stop"))


def reasoning(document: Document) -> Script:
    deltas = [chunk({"reasoning": "Greet"}), chunk({"reasoning": " back."}), chunk({"content": TEXT})]
    answer = whole({"content": TEXT, "reasoning": "Greet back."})
    return either(document, answer, ROLE, *deltas, chunk({}, "stop"))


def two(document: Document) -> Script:
    choices = [
        {"index": i, "message": {"role": "assistant", "content": f"no. {i}"}, "finish_reason": "stop"} for i in (0, 1)
    ]
    deltas = [chunk({"content": f"no. {i}"}, index=i) for i in (1, 0)]
    ends = [chunk({}, "stop", index=i) for i in (0, 1)]
    return either(document, {**whole({}), "choices": choices}, *deltas, *ends)


def logprobs(document: Document) -> Script:
    def entry(token: str) -> Document:
        one = {"token": token, "logprob": -0.5, "bytes": list(token.encode())}
        return {**one, "top_logprobs": [one]}

    entries = [entry(piece) for piece in PIECES]
    answer = whole({"content": TEXT})
    answer["choices"][0]["logprobs"] = {"content": entries, "refusal": None}
    deltas = [
        chunk({"content": piece}, logprobs={"content": [entry], "refusal": None})
        for piece, entry in zip(PIECES, entries, strict=True)
    ]
    return either(document, answer, ROLE, *deltas, chunk({}, "stop"))


def ending(finish: str) -> Callable[[Document], Script]:
    return lambda document: either(
        document, whole({"content": TEXT}, finish), ROLE, chunk({"content": TEXT}), chunk({}, finish)
    )


def saying(*pieces: str) -> Callable[[Document], Script]:
    said = [chunk({"content": piece}) for piece in pieces]
    return lambda document: either(document, whole({"content": "".join(pieces)}), ROLE, *said, chunk({}, "stop"))


def blocked_of_two(document: Document) -> Script:
    """The first choice says the word, the second does not."""
    said = [*(chunk({"content": piece}) for piece in BLOCKED), chunk({"content": TEXT}, index=1)]
    choices = [
        {"index": i, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        for i, content in enumerate(("".join(BLOCKED), TEXT))
    ]
    ends = [chunk({}, "stop", index=i) for i in (0, 1)]
    return either(document, {**whole({}), "choices": choices}, *said, *ends)


def blocked_tools(document: Document) -> Script:
    call = {**CALL, "function": {"name": "get_weather", "arguments": json.dumps({"city": WORD})}}
    pieces = ['{"city":"forbid', 'denword"}']
    fragments = [
        chunk({"tool_calls": [{"index": 0, **CALL, "function": {"name": "get_weather", "arguments": ""}}]}),
        *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces),
    ]
    answer = whole({"content": None, "tool_calls": [call]}, "tool_calls")
    return either(document, answer, ROLE, *fragments, chunk({}, "tool_calls"))


def late_error(document: Document) -> Script:
    return sse(ROLE, chunk({"content": "Hel"}), OVERLOADED) if document.get("stream") else json_answer(OVERLOADED)


def truncated(document: Document) -> Script:
    return sse(ROLE, chunk({"content": "Hel"}), done=False) if document.get("stream") else error(500)


def broken_off(document: Document) -> Script:
    return sse(ROLE, chunk({"content": "Hel"}), cut())


CASES: dict[str, Callable[[Document], Script]] = {
    "text": text,
    "crooked-text": crooked_text,
    "gpt-4o": crooked_text,  # no usage either, but a family whose tokens can be counted exactly
    "tools": tools,
    "crooked-tools": crooked_tools,
    "only-calls": only_calls,
    "pictures": pictures,
    "person": person,
    "refusal": refusal,
    "reasoning": reasoning,
    "two": two,
    "logprobs": logprobs,
    "length": ending("length"),
    "filtered": ending("content_filter"),
    "blocked": saying(*BLOCKED),
    "blocked-of-two": blocked_of_two,
    "blocked-tools": blocked_tools,
    "late-error": late_error,
    "truncated": truncated,
    "broken-off": broken_off,
    "wrong": lambda document: error(400, WRONG),
    "locked": lambda document: error(401, {"error": {"message": "key sk-secret is wrong", "code": "invalid_api_key"}}),
    "down": lambda document: error(500),
}


class Cast:
    """Chooses the script for a request. A model "busy-…" is refused once with 429, then answers. "late-word-…" says
    what is harmless, and the forbidden word when "go-on-…" was asked for."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._told: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def __call__(self, request: Received) -> Script:
        document = request.document
        name = document.get("model", "")
        if name.startswith("busy-"):
            self._asked[name] += 1
            return error(429, headers={"retry-after": "1"}) if self._asked[name] == 1 else text(document)
        if name.startswith("late-word-"):
            said = [chunk({"content": piece}) for piece in BLOCKED]
            told = wait(self._told[name.removeprefix("late-word-")])
            return sse(ROLE, chunk({"content": HARMLESS}), told, *said, chunk({}, "stop"), COUNTED)
        if name.startswith("go-on-"):
            self._told[name.removeprefix("go-on-")].set()
            return text(document)
        return CASES[name](document) if name in CASES else error(404)
