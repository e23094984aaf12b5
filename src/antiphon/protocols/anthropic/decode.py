"""A whole Message as a ChatCompletion."""

from __future__ import annotations

from typing import Final

import msgspec

from antiphon.chat.event import Lenient
from antiphon.chat.failure import malformed
from antiphon.document import Document
from antiphon.protocols.anthropic.answer import (
    ending,
    finish_of,
    read_call_extras,
    read_citations,
    read_tier,
    read_usage,
    refusal_of,
)
from antiphon.protocols.anthropic.errors import read_error

# Keys of a Message that have a place of their own in a ChatCompletion. All others travel at the top level.
_READ: Final = frozenset(
    {
        *("id", "type", "role", "model", "content", "usage"),
        *("stop_reason", "stop_sequence", "stop_details"),
        *("object", "created", "choices"),  # these are ours
    }
)


def decode(answer: Document, model: str) -> Document:
    if answer.get("type") == "error" or answer.get("error"):
        raise read_error(answer)
    blocks = answer.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise malformed()
    message = _Message()
    for index, block in enumerate(blocks):
        message.take(index, block)
    choice = {
        "index": 0,
        "message": message.whole(refusal_of(answer)),
        "finish_reason": finish_of(answer.get("stop_reason")),
        **ending(answer),
    }
    out: Document = {
        "id": answer.get("id"),
        "object": "chat.completion",
        "created": 0,  # nobody says when
        "model": answer.get("model") or model,
        "choices": [choice],
    }
    usage = answer.get("usage")
    if isinstance(usage, dict):
        out["usage"] = read_usage(usage)
        if tier := read_tier(usage):
            out["service_tier"] = tier
    out.update({key: value for key, value in answer.items() if key not in _READ and value is not None})
    return Lenient(out) if isinstance(answer, Lenient) else out


class _Message:
    """The blocks of one answer, sorted into the places that a ChatCompletion has for them."""

    __slots__ = ("_annotations", "_calls", "_length", "_parts", "_texts", "_thinking", "_thoughts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._thoughts: list[str] = []
        self._thinking: list[Document] = []
        self._parts: list[Document] = []
        self._calls: list[Document] = []
        self._annotations: list[Document] = []

    def take(self, index: int, block: Document) -> None:
        kind = block.get("type")
        if kind == "text":
            self._take_text(block)
        elif kind == "thinking":
            self._thoughts.append(str(block.get("thinking") or ""))
            if block.get("signature"):
                self._thinking.append(self._placed(index, block))
        elif kind == "redacted_thinking":
            self._thinking.append(self._placed(index, block))
        elif kind == "tool_use":
            self._calls.append(_call(block))
        else:  # of the vendor's own tools: no call that a client has to answer
            self._parts.append(self._placed(index, block))

    def _take_text(self, block: Document) -> None:
        text = block.get("text")
        if not isinstance(text, str):
            raise malformed()
        start = self._length
        self._texts.append(text)
        self._length += len(text)
        self._annotations += read_citations(block.get("citations"), start, self._length)

    def _placed(self, index: int, block: Document) -> Document:
        """Where a block stood, so that it can go back there."""
        return {"index": index, **({"text_offset": self._length} if self._length else {}), **block}

    def whole(self, refusal: str | None) -> Document:
        message: Document = {"role": "assistant", "content": "".join(self._texts) if self._texts else None}
        named = (
            ("refusal", refusal),
            ("reasoning_content", "".join(self._thoughts)),
            ("thinking_blocks", self._thinking),
            ("content_parts", self._parts),
            ("tool_calls", self._calls),
            ("annotations", self._annotations),
        )
        message.update({key: value for key, value in named if value})
        return message


def _call(block: Document) -> Document:
    name = block.get("name")
    if not isinstance(name, str):
        raise malformed()
    given = block.get("input")
    arguments = msgspec.json.encode(given if given is not None else {}).decode()
    call = {"id": block.get("id"), "type": "function", "function": {"name": name, "arguments": arguments}}
    return {**call, **read_call_extras(block)}
