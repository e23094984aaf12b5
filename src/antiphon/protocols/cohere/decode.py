"""A whole answer of Cohere's -> a ChatCompletion."""

from __future__ import annotations

from typing import Any

from antiphon.chat.event import Lenient, scrub
from antiphon.chat.failure import malformed, read_failure
from antiphon.document import Document
from antiphon.protocols.cohere.answers import annotate, arguments_of, read_end, read_logprobs, read_usage


def decode(answer: Document, model: str) -> Document:
    if isinstance(answer, Lenient):
        answer = dict(scrub(answer))
    message = answer.get("message")
    if isinstance(message, str):  # an error has its words there
        raise read_failure(answer)
    if not isinstance(message, dict):
        raise malformed()
    end = read_end(answer.get("finish_reason"), answer.get("error"))
    said = _read_message(message)
    choice: Document = {"index": 0, "message": said, **end, "logprobs": read_logprobs(answer.get("logprobs"))}
    completion: Document = {"object": "chat.completion", "model": model, "choices": [choice]}
    if isinstance(answer.get("id"), str):
        completion["id"] = answer["id"]
    if (usage := read_usage(answer.get("usage"))) is not None:
        completion["usage"] = usage
    return completion


def _read_message(message: Document) -> Document:
    texts: list[str] = []
    thoughts: list[str] = []
    offsets: dict[int, int] = {}
    for index, part in enumerate(_parts(message.get("content"))):
        offsets[index] = sum(map(len, texts))
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part.get("thinking"), str):
            thoughts.append(part["thinking"])
    if isinstance(plan := message.get("tool_plan"), str) and plan:
        thoughts.append(plan)
    calls = [_read_call(call) for call in _list(message.get("tool_calls"))]
    said: Document = {"role": "assistant", "content": "".join(texts) or (None if calls else "")}
    if thoughts:
        said["reasoning_content"] = "".join(thoughts)
    notes = [
        note
        for citation in _list(message.get("citations"))
        if isinstance(citation, dict)
        for note in annotate(citation, offsets)
    ]
    if notes:
        said["annotations"] = notes
    if calls:
        said["tool_calls"] = calls
    return said


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _parts(content: object) -> list[Document]:
    if isinstance(content, str):
        return [{"text": content}]
    if content is None:
        return []
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise malformed()
    return content


def _read_call(call: Any) -> Document:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise malformed()
    told = {"name": function.get("name"), "arguments": arguments_of(function.get("arguments"))}
    return {"id": call.get("id"), "type": "function", "function": told}
