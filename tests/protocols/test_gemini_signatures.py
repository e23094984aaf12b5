"""Thought signatures in every spelling in which clients send them back."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.protocols.gemini import GEMINI, default_facts
from antiphon.protocols.protocol import Encoded

Document = dict[str, Any]
SIGNATURE = "c2lnbmVk"
SKIP = "skip_thought_signature_validator"


def encode(assistant: Document, model: str = "gemini-3-flash") -> Encoded:
    calls = assistant.get("tool_calls", ())
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", **assistant}, *results]
    return GEMINI.encode({"messages": messages}, model, default_facts(model), None, strict=False)


def said(assistant: Document, model: str = "gemini-3-flash") -> Any:
    return encode(assistant, model).body["contents"][1]["parts"]


def call(call_id: str = "call_1", **more: Any) -> Document:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}, **more}


@pytest.mark.parametrize(
    "one",
    [
        call(extra_content={"google": {"thought_signature": SIGNATURE}}),
        call(provider_specific_fields={"thought_signature": SIGNATURE}),
        call(f"call_1__thought__{SIGNATURE}"),
    ],
    ids=["google", "litellm", "in_the_id"],
)
def test_signatures_of_calls(one: Document) -> None:
    encoded = encode({"content": None, "tool_calls": [one]})
    assert encoded.body["contents"][1]["parts"] == [
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SIGNATURE}
    ]
    assert encoded.body["contents"][2]["parts"] == [
        {"functionResponse": {"name": "f", "response": {"output": "ok"}}},
    ]


def test_gemini_own_id_without_the_signature_that_was_hidden_in_it() -> None:
    encoded = encode({"content": None, "tool_calls": [call(f"abc9__thought__{SIGNATURE}")]})
    assert encoded.body["contents"][1]["parts"][0]["functionCall"]["id"] == "abc9"
    assert encoded.body["contents"][2]["parts"][0]["functionResponse"]["id"] == "abc9"


def test_the_signature_of_a_message() -> None:
    assert said({"content": "Hi", "extra_content": {"google": {"thought_signature": SIGNATURE}}}) == [
        {"text": "Hi", "thoughtSignature": SIGNATURE}
    ]


def test_images_with_signatures() -> None:
    image = {
        "index": 0,
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,aW1n"},
        "extra_content": {"google": {"thought_signature": SIGNATURE}},
    }
    assert said({"content": "Look", "images": [image]}) == [
        {"text": "Look"},
        {"inlineData": {"mimeType": "image/png", "data": "aW1n"}, "thoughtSignature": SIGNATURE},
    ]


@pytest.mark.parametrize("call_id", ["call_1", "toolu_1", "tooluse_1", "chatcmpl-tool-1"])
def test_calls_of_another_model_skip_the_check_on_the_first_one_only(call_id: str) -> None:
    assert said({"content": None, "tool_calls": [call(call_id), call(call_id + "b")]}) == [
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SKIP},
        {"functionCall": {"name": "f", "args": {}}},
    ]


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "models/gemini-2.0-flash-001", "gemma-3-27b-it"])
def test_earlier_models_check_nothing(model: str) -> None:
    assert said({"content": None, "tool_calls": [call()]}, model) == [{"functionCall": {"name": "f", "args": {}}}]


def test_thinking_of_another_vendor_is_never_sent() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "YW50aHJvcGlj"},
        {"type": "redacted_thinking", "data": "eHh4"},
    ]
    encoded = encode({"content": "Hi", "reasoning_content": "Hm", "thinking_blocks": blocks})
    assert encoded.body["contents"][1]["parts"] == [{"text": "Hi"}]
    assert [(change.param, change.action) for change in encoded.changes] == [("messages[1].thinking_blocks", "dropped")]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thought_signature"},
        {"type": "thought_signature", "of": "text", "start": 99, "end": -5, "signature": SIGNATURE},
        {"type": "thought_signature", "of": "text", "start": "x", "signature": SIGNATURE},
        {"type": "thought_signature", "of": "call", "call": "x", "signature": 3},
        {"type": "thought_signature", "of": "call", "call": 7, "signature": SIGNATURE},
        {"type": "gemini_part", "at": None, "part": 3},
        {"type": "gemini_part", "part": {"executableCode": {"code": "1"}}},
        {"type": "gemini_part", "part": {"text": "never judged"}},
        3,
    ],
)
def test_blocks_that_a_client_has_changed_break_nothing(block: Any) -> None:
    parts = said({"content": "Hi", "thinking_blocks": [block]})
    assert "".join(part.get("text", "") for part in parts) == "Hi"
