"""Requests with one value changed at random, in every API: answered or refused, never met with a fault of ours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apis.conftest import Api

Document = dict[str, Any]

pytestmark = pytest.mark.asyncio(loop_scope="module")
PIXEL = "iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
MESSAGES: Document = {
    "model": "scripted",
    "max_tokens": 2000,
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hello"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": "t"},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True}]},
    ],
    "tools": [{"name": "look", "description": "d", "input_schema": SCHEMA, "strict": False}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    "metadata": {"user_id": "u"},
    "stop_sequences": ["x"],
}
GEMINI: Document = {
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Hello"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "x"}}}]},
        {"role": "user", "parts": [{"fileData": {"fileUri": "https://x.test/a.pdf", "mimeType": "application/pdf"}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "look", "description": "d", "parameters": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
    "generationConfig": {
        "temperature": 0.5,
        "stopSequences": ["x"],
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}},
        "thinkingConfig": {"thinkingBudget": 100},
        "responseModalities": ["TEXT"],
    },
    "labels": {"a": "b"},
}
OLLAMA: Document = {
    "model": "scripted",
    "stream": False,
    "messages": [
        {"role": "user", "content": "Hello", "images": [PIXEL]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]},
        {"role": "tool", "tool_name": "look", "content": "x"},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "description": "d", "parameters": SCHEMA}}],
    "format": SCHEMA,
    "think": "low",
    "options": {"temperature": 0.5, "num_predict": 50, "stop": ["x"], "seed": 1},
}
MARITALK: Document = {
    "model": "scripted",
    "messages": [{"role": "user", "content": "Hello"}],
    "temperature": 0.7,
    "max_tokens": 50,
    "stopping_tokens": ["x"],
    "stream": False,
    "do_sample": True,
    "chat_mode": True,
}
ASKED: dict[str, Document] = {
    "/v1/messages": MESSAGES,
    "/v1/messages/count_tokens": MESSAGES,
    "/v1beta/models/scripted:generateContent": GEMINI,
    "/v1beta/models/scripted:streamGenerateContent": GEMINI,
    "/api/chat": OLLAMA,
    "/api/chat/inference": MARITALK,
}
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["tool_use", "thinking", "text", "image", "auto", "adaptive", "model", "json_schema"]),
    st.just([]),
    st.just({}),
    st.just([None]),
    st.just({"type": {}}),
    st.just([[]]),
    st.just({"a": [{"b": 1}]}),
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, item in inner for path in paths(item, (*here, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("path", ASKED)
@given(number=st.integers(0, 10_000), new=values, is_claude=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_one_value_is_odd(api: Api, path: str, number: int, new: Any, is_claude: bool) -> None:
    places = paths(ASKED[path])
    place = places[number % len(places)]
    asked = changed(ASKED[path], place, new)
    if is_claude and isinstance(asked, dict) and asked.get("model") == "scripted":
        asked = {**asked, "model": "claude/scripted"}
    answer = await api.post(path, asked)
    assert answer.status in (200, 400, 404), (place, answer.body)
    assert answer.status == 200 or answer.json


@pytest.mark.parametrize("path", ASKED)
async def test_the_usual_request_is_answered(api: Api, path: str) -> None:
    answer = await api.post(path, ASKED[path])
    assert answer.status == 200, answer.body
