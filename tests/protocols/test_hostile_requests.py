"""Whatever the front door lets through is said to a vendor, or refused with a RequestError."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.request import decode, parse
from antiphon.errors import RequestError
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.cohere import Cohere
from antiphon.protocols.facts import ModelFacts
from tests.protocols.bedrock_requests import FACTS
from tests.protocols.test_hostile_answers import bend

Document = dict[str, Any]
CONTROL = {"type": "ephemeral", "ttl": "1h"}
REQUEST: Document = {
    "model": "m",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": CONTROL}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
            "name": "ann",
        },
        {"role": "assistant", "content": "y"},
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"file_data": "aGk=", "filename": "a.pdf"}},
                {"type": "video_url", "video_url": {"url": "s3://b/a.mp4"}},
                {"type": "cachePoint", "cachePoint": {"type": "default"}},
            ],
        },
        {
            "role": "assistant",
            "content": "b",
            "refusal": "no",
            "reasoning_content": "r",
            "tool_plan": "p",
            "thinking_blocks": [{"index": 0, "text_offset": 1, "type": "thinking", "thinking": "t", "signature": "s"}],
            "content_parts": [{"index": 1, "text_offset": 1, "type": "toolUse", "toolUse": {}}],
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "x"}], "is_error": True},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "z", "cache_control": CONTROL},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}},
        {"type": "odd", "odd": {}},
        {"type": "toolSpec", "toolSpec": {"name": "x"}},
        {"type": "systemTool", "systemTool": {"name": "x"}},
    ],
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
    },
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
    "metadata": {"a": "b"},
    "stop": ["x"],
    "reasoning_effort": "high",
    "thinking": {"type": "enabled"},
    "service_tier": "flex",
    "temperature": 1.5,
    "top_p": 1,
    "top_k": 5,
    "max_tokens": 9,
    "user": "u",
    "parallel_tool_calls": False,
    "cache_control": CONTROL,
    "inferenceConfig": {"maxTokens": 5},
    "system": [{"text": "x"}],
    "extra_body": {"min_p": 1},
    "requestMetadata": {"a": "b"},
}


@pytest.mark.parametrize("protocol", [Bedrock(), Cohere()], ids=["bedrock", "cohere"])
@settings(max_examples=500)
@given(st.integers(0, 2**32), FACTS)
def test_any_checked_request(protocol: Any, seed: int, facts: ModelFacts) -> None:
    chance = random.Random(seed)
    document = {key: bend(value, chance, 0.01) for key, value in REQUEST.items() if chance.random() > 0.3}
    document |= {"model": "m", "messages": document.get("messages", REQUEST["messages"])}
    try:
        document = decode(json.dumps(document).encode())
        parse(document, strict=False)
    except RequestError:
        return
    if protocol.name == "cohere":
        document["messages"] = [message for message in document["messages"] if "cachePoint" not in str(message)]
    before = copy.deepcopy(document)
    try:
        encoded = protocol.encode(document, "us.anthropic.claude-x", facts, None, strict=chance.random() < 0.1)
    except RequestError:
        return
    assert document == before
    msgspec.json.encode(encoded.body)


@pytest.mark.parametrize("protocol", [Bedrock(), Cohere()], ids=["bedrock", "cohere"])
@pytest.mark.parametrize("call", [{"type": "odd", "function": 1}, {"type": "odd"}, {"type": "odd", "custom": {}}])
def test_a_call_of_a_type_that_nobody_knows_is_refused(protocol: Any, call: Document) -> None:
    said: Document = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", **call}]}
    document = {"model": "m", "messages": [said, {"role": "tool", "tool_call_id": "c", "content": "x"}]}
    parse(document, strict=False)
    with pytest.raises(RequestError) as refused:
        protocol.encode(document, "us.anthropic.claude-x", ModelFacts(), None, strict=False)
    assert refused.value.param == "messages[0].tool_calls[0].type"
