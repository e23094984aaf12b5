"""What of a request is text to be counted, and what is known by formula."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.tokens.prompt import LOW_PICTURE, PICTURE, read_prompt


def test_plain_chat_by_openais_formula() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi", "name": "ada"},
    ]
    prompt = read_prompt({"messages": messages})
    assert prompt.fixed == 3 + 3 + (3 + 1)
    assert prompt.texts == ["system", "Be brief.", "user", "ada", "Hi"]


def test_parts_pictures_and_sound() -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "A" * 64_000, "format": "wav"}},
    ]
    prompt = read_prompt({"messages": [{"role": "user", "content": parts}]})
    assert prompt.fixed == 3 + 3 + LOW_PICTURE + PICTURE + 48_000 // 4800
    assert prompt.texts == ["user", "What is this?"]


def test_tools_calls_and_schemas_count_as_compact_json() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    prompt = read_prompt(
        {
            "messages": [{"role": "assistant", "tool_calls": [call]}],
            "tools": [tool],
            "response_format": {"type": "json_object"},
        }
    )
    assert '[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]' in prompt.texts
    assert '[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]' in prompt.texts
    assert '{"type":"json_object"}' in prompt.texts


@pytest.mark.parametrize(
    ("document", "fixed", "texts"),
    [
        ({"prompt": "Once"}, 0, ["Once"]),
        ({"input": ["a", "b"]}, 0, ["a", "b"]),
        ({"prompt": [1, 2, 3]}, 3, []),
        ({"input": [[1, 2], [3]]}, 3, []),
        ({"prompt": [None, 1.5, {}, [[]]]}, 1, []),
    ],
)
def test_what_is_completed_or_embedded_is_only_itself(document: dict[str, Any], fixed: int, texts: list[str]) -> None:
    prompt = read_prompt(document)
    assert (prompt.fixed, prompt.texts) == (fixed, texts)


def test_a_chats_unknown_fields_are_no_prompt() -> None:
    assert read_prompt({"messages": [], "prompt": "x", "input": "y"}).texts == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"messages": None},
        {"messages": "text"},
        {"messages": [None, 3, "x", {}]},
        {"messages": [{"role": 1, "content": {"a": 1}, "name": 2, "tool_calls": None}]},
        {"messages": [{"content": [None, 1, {"image_url": None}, {"file": 3}, {"input_audio": {"data": 4}}]}]},
    ],
)
def test_any_document_is_read(document: dict[str, Any]) -> None:
    prompt = read_prompt(document)
    assert prompt.fixed >= 3
    assert all(isinstance(text, str) for text in prompt.texts)
