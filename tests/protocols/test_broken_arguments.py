"""A model may have written arguments that are no JSON object; the next turn carries them back. [broken-arguments]"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from antiphon.errors import RequestError
from antiphon.protocols.anthropic import Anthropic
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.cohere import Cohere
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini import Gemini
from antiphon.protocols.protocol import ForeignProtocol

PROTOCOLS = [Anthropic(), Gemini("gemini"), Bedrock(), Cohere()]
PARAM = "messages[1].tool_calls[0].function.arguments"


def conversation(arguments: str) -> dict[str, Any]:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "That was no JSON."},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    }


def find_arguments(value: object) -> object:
    """The arguments of the call, under whatever name the protocol has for them."""
    if isinstance(value, dict):
        for key in ("input", "args", "arguments"):
            if key in value and "name" in value:
                found = value[key]
                return msgspec.json.decode(found) if isinstance(found, str) else found
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        if (found := find_arguments(inner)) is not None:
            return found
    return None


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", "not JSON", '"text"', "null"])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_broken_arguments_travel_as_text_and_are_named(protocol: ForeignProtocol, arguments: str) -> None:
    encoded = protocol.encode(conversation(arguments), "m", ModelFacts(), None, strict=False)
    assert find_arguments(encoded.body) == {"arguments": arguments}
    assert [(change.param, change.action) for change in encoded.changes] == [(PARAM, "rewritten")]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_strict_refuses_them(protocol: ForeignProtocol) -> None:
    with pytest.raises(RequestError) as caught:
        protocol.encode(conversation('{"a": '), "m", ModelFacts(), None, strict=True)
    assert caught.value.param == PARAM
    assert caught.value.code == "unsupported_parameter"


@pytest.mark.parametrize("arguments", ["", " ", "{}"])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_no_arguments_are_an_empty_object(protocol: ForeignProtocol, arguments: str) -> None:
    encoded = protocol.encode(conversation(arguments), "m", ModelFacts(), None, strict=True)
    assert find_arguments(encoded.body) == {}
    assert encoded.changes == ()
