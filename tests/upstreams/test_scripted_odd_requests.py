"""Arbitrary values anywhere in a request: the scripted upstream answers or refuses it, and never fails itself."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.upstreams.scripted import Credential, Send
from antiphon.upstreams.scripted.answers import Answers, find_language
from antiphon.upstreams.scripted.received import Received
from tests.upstreams.languages import FOREIGN, SHOWN

Document = dict[str, Any]

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
BODIES: dict[str, Document] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 5000,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Use look"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
        ],
        "tools": [{"name": "look", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "adaptive"},
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    },
    "bedrock": {
        "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Use look"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "look", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "x"}]}}]},
        ],
        "inferenceConfig": {"maxTokens": 50, "stopSequences": ["END"], "temperature": 0.5},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}],
            "toolChoice": {"auto": {}},
        },
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        "outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": "{}"}}}},
    },
    "cohere": {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Use look"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "t", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "t", "content": [{"type": "document", "document": {"data": "x"}}]},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}],
        "tool_choice": "REQUIRED",
        "response_format": {"type": "json_object", "schema": SCHEMA},
        "thinking": {"type": "enabled"},
        "stop_sequences": ["END"],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Use look"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "look", "args": {}},
                        "thoughtSignature": "skip_thought_signature_validator",
                    }
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "x"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "stopSequences": ["END"],
            "candidateCount": 2,
            "thinkingConfig": {"includeThoughts": True},
        },
    },
}
PATHS = {
    "anthropic": "/v1/messages",
    "bedrock": "/model/m/converse",
    "cohere": "/v2/chat",
    "gemini": "/v1beta/models/m:generateContent",
}
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def put(body: Document, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed: Any = copy.deepcopy(body)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


@pytest.mark.parametrize("speaks", FOREIGN)
def test_these_requests_are_good(speaks: str) -> None:
    assert status(speaks, BODIES[speaks]) == 200


@pytest.mark.parametrize("speaks", FOREIGN)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_it_answers_or_refuses(speaks: str, data: st.DataObject) -> None:
    body = BODIES[speaks]
    odd = put(body, data.draw(st.sampled_from(places(body))), data.draw(ODD))
    assert status(speaks, odd) in (200, 400)


def status(speaks: str, body: Any) -> int:
    answers = Answers(find_language(speaks), Credential())
    script = answers(Received("POST", PATHS[speaks], "", dict(SHOWN[speaks]), json.dumps(body).encode()))
    first = script.steps[0]
    assert isinstance(first, Send)
    return int(first.data.split(b" ")[1])
