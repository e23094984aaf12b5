"""Models, and short ways to encode a request for them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from antiphon.errors import AntiphonError, RequestError
from antiphon.protocols.anthropic import FLAVORS, Anthropic
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded, ForeignProtocol

Document = dict[str, Any]
PROTOCOL: ForeignProtocol = Anthropic()
HELLO: list[Document] = [{"role": "user", "content": "Hello"}]
LOOK: Document = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
BUDGET = ModelFacts(max_output=64_000, thinking=Thinking.BUDGET)
ADAPTIVE = ModelFacts(max_output=64_000, thinking=Thinking.ADAPTIVE, efforts=("low", "medium", "high", "max"))
ALWAYS = ModelFacts(
    max_output=64_000,
    thinking=Thinking.ALWAYS,
    efforts=("low", "medium", "high", "xhigh", "max"),
    takes_sampling=False,
    takes_prefill=False,
    takes_forced_tools=False,
)


def encode(facts: ModelFacts | None = None, host: str = "anthropic", strict: bool = False, **fields: Any) -> Encoded:
    document = {"model": "asked", "messages": HELLO, **fields}
    before = copy.deepcopy(document)
    encoded = Anthropic(FLAVORS[host]).encode(document, "claude-test", facts or ModelFacts(), None, strict=strict)
    assert document == before
    return encoded


def changed(encoded: Encoded) -> list[tuple[str, str]]:
    return [(change.param, change.action) for change in encoded.changes]


def body(facts: ModelFacts | None = None, **fields: Any) -> Document:
    return encode(facts, **fields).body


def refused(facts: ModelFacts | None = None, **fields: Any) -> AntiphonError:
    with pytest.raises(RequestError) as caught:
        encode(facts, strict=True, **fields)
    return caught.value
