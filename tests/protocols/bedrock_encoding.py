"""Encodes requests for Bedrock in tests, and says what was changed or refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from antiphon.errors import RequestError
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded

Document = dict[str, Any]
CLAUDE = "us.anthropic.claude-sonnet-4-5-v1:0"
NOVA = "amazon.nova-2-lite-v1:0"
USER: Document = {"role": "user", "content": "Hi"}
WEATHER: Document = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells it.", "parameters": {"type": "object", "properties": {}}},
}
CALL: Document = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"b": 1, "a": 2}'}}
ASKED: list[Document] = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "t1", "content": "rain"},
]
BUDGET = ModelFacts(thinking=Thinking.BUDGET, max_output=32_000)


class Remembered:
    def __init__(self, **blocks: list[Document]) -> None:
        self._blocks = blocks

    def find(self, call_id: str) -> list[Document] | None:
        return self._blocks.get(call_id)


def encode(
    *messages: Document,
    model: str = NOVA,
    facts: ModelFacts | None = None,
    strict: bool = False,
    memory: Any = None,
    **fields: Any,
) -> Encoded:
    document = {"model": "asked", "messages": list(messages) or [USER], **fields}
    before = copy.deepcopy(document)
    encoded = Bedrock().encode(document, model, facts or ModelFacts(), memory, strict=strict)
    assert document == before
    return encoded


def changed(encoded: Encoded) -> dict[str, str]:
    return {change.param: change.action for change in encoded.changes}


def refused(*messages: Document, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        encode(*messages, **fields)
    assert caught.value.status == 400
    assert caught.value.code == "unsupported_parameter"
    return caught.value
