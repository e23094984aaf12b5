"""A whole answer of Converse -> a ChatCompletion."""

from __future__ import annotations

from typing import Any

import msgspec

from antiphon.chat.event import Lenient, scrub
from antiphon.chat.failure import malformed
from antiphon.document import Document
from antiphon.protocols.bedrock.answers import (
    SERVER_TOOL,
    annotate,
    part_of,
    placed,
    read_beside,
    read_end,
    read_findings,
    read_usage,
    redacted,
    thought_of,
)
from antiphon.protocols.bedrock.failure import read_document

_encode = msgspec.json.Encoder().encode


def decode(answer: Document, model: str) -> Document:
    if isinstance(answer, Lenient):
        answer = dict(scrub(answer))
    output = answer.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    if message is None and ("message" in answer or "Message" in answer or "__type" in answer):
        raise read_document(answer, None)
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        raise malformed()
    end = read_end(answer.get("stopReason"))
    prompt, said = read_findings(answer)
    choice: Document = {"index": 0, "message": _Whole().read(content), **end, "logprobs": None}
    if said:
        choice["content_filter_results"] = said
    completion: Document = {"object": "chat.completion", "model": model, "choices": [choice], **read_beside(answer)}
    if prompt is not None:
        completion["prompt_filter_results"] = prompt
    if (usage := read_usage(answer.get("usage"))) is not None:
        completion["usage"] = usage
    return completion


class _Whole:
    """One message under way."""

    def __init__(self) -> None:
        self._text = ""
        self._reasoning = ""
        self._thoughts: list[Document] = []
        self._calls: list[Document] = []
        self._annotations: list[Document] = []
        self._others: list[Document] = []

    def read(self, content: list[Any]) -> Document:
        for index, block in enumerate(content):
            if not isinstance(block, dict):
                raise malformed()
            self._take(index, block)
        message: Document = {"role": "assistant", "content": self._text or None}
        if self._reasoning:
            message["reasoning_content"] = self._reasoning
        for key, found in (
            ("thinking_blocks", self._thoughts),
            ("annotations", self._annotations),
            ("content_parts", self._others),
            ("tool_calls", self._calls),
        ):
            if found:
                message[key] = found
        if not self._calls and message["content"] is None:
            message["content"] = ""
        return message

    def _take(self, index: int, block: Document) -> None:
        if isinstance(text := block.get("text"), str):
            self._text += text
        elif isinstance(thought := block.get("reasoningContent"), dict):
            self._think(index, thought)
        elif isinstance(use := block.get("toolUse"), dict) and use.get("type") != SERVER_TOOL:
            self._call(use)
        elif isinstance(cited := block.get("citationsContent"), dict):
            self._cite(cited)
        elif block:
            self._others.append(placed(index, len(self._text), part_of(block)))

    def _think(self, index: int, thought: Document) -> None:
        said, hidden = thought.get("reasoningText"), thought.get("redactedContent")
        if isinstance(hidden, str) and hidden:
            self._thoughts.append(placed(index, len(self._text), redacted(hidden)))
        if isinstance(said, dict) and isinstance(said.get("text"), str):
            self._reasoning += said["text"]
            if isinstance(signature := said.get("signature"), str) and signature:
                self._thoughts.append(placed(index, len(self._text), thought_of(said["text"], signature)))

    def _call(self, use: Document) -> None:
        arguments = use.get("input")
        if arguments is None:
            arguments = {}
        function = {"name": use.get("name"), "arguments": _encode(arguments).decode()}
        self._calls.append({"id": use.get("toolUseId"), "type": "function", "function": function})

    def _cite(self, cited: Document) -> None:
        start = len(self._text)
        for piece in _records(cited.get("content")):
            if isinstance(piece.get("text"), str):
                self._text += piece["text"]
        for citation in _records(cited.get("citations")):
            if (note := annotate(citation, start, len(self._text))) is not None:
                self._annotations.append(note)


def _records(value: object) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
