"""Words of a list: OpenAI's own pass always; any other is the upstream's to judge, unless strict [upstream-knows]."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.chat.request import parse
from antiphon.errors import RequestError

# Where the word stands, what OpenAI's sentence lists there, a typo, and words of vendors.
Row = tuple[str, str, str, list[str]]

FUNCTION = {"name": "f", "arguments": "{}"}

ROWS: list[Row] = [
    (
        "reasoning_effort",
        "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'",
        "hihg",
        ["default", "auto"],
    ),
    ("verbosity", "'low', 'medium', and 'high'", "loud", ["xhigh", "max"]),
    (
        "service_tier",
        "'auto', 'default', 'flex', 'scale', 'priority', and 'fast'",
        "turbo",
        ["on_demand", "performance", "standard_only"],
    ),
    ("modalities[0]", "'text' and 'audio'", "txt", ["image", "video"]),
    ("audio.format", "'wav', 'aac', 'mp3', 'flac', 'opus', and 'pcm16'", "wave", ["pcm"]),
    ("prompt_cache_retention", "'in_memory' and '24h'", "48h", ["in-memory"]),
    ("prompt_cache_options.mode", "'implicit' and 'explicit'", "on", []),
    ("prompt_cache_options.ttl", "'30m'", "31m", []),
    ("web_search_options.search_context_size", "'low', 'medium', and 'high'", "big", []),
    ("web_search_options.user_location.type", "'approximate'", "exact", []),
    (
        "response_format.type",
        "'text', 'json_object', and 'json_schema'",
        "json_objekt",
        ["structural_tag", "grammar", "regex"],
    ),
    (
        "messages[0].content[0].type",
        "'text', 'image_url', 'input_audio', and 'file'",
        "txt",
        ["video_url", "input_video", "audio_url", "image", "document", "document_url", "thinking", "input_text"],
    ),
    (
        "messages[0].content[0].image_url.detail",
        "'auto', 'low', and 'high'",
        "hi",
        ["original", "xhigh"],
    ),
    (
        "messages[0].content[0].input_audio.format",
        "'wav' and 'mp3'",
        "mpeg5",
        ["flac", "ogg", "m4a", "webm", "pcm16"],
    ),
    (
        "tools[0].type",
        "'function' and 'custom'",
        "functon",
        [
            "web_search",
            "web_search_preview",
            "web_search_preview_2025_03_11",
            "web_search_20250305",
            "text_editor_20250728",
            "openrouter:web_search",
            "builtin_function",
            "mcp",
            "browser_search",
            "x_search",
            "live_search",
            "google_search",
            "code_execution",
            "code_interpreter",
            "retrieval",
            "image_generation",
            "computer_use_preview",
            "web_fetch",
        ],
    ),
    ("tools[0].custom.format.type", "'text' and 'grammar'", "gramar", []),
    ("tools[0].custom.format.grammar.syntax", "'lark' and 'regex'", "lrak", []),
    ("tool_choice", "'none', 'auto', and 'required'", "must", ["any"]),
    (
        "tool_choice.type",
        "'function', 'custom', and 'allowed_tools'",
        "func",
        ["tool", "any", "auto", "none", "web_search", "file_search", "mcp"],
    ),
    ("tool_choice.allowed_tools.mode", "'auto' and 'required'", "any", []),
    ("function_call", "'none' and 'auto'", "always", ["required", "any"]),
]


def document(path: str, word: str) -> dict[str, Any]:
    """A good request with this word at this place."""
    changes: dict[str, dict[str, Any]] = {
        "modalities[0]": {"modalities": [word]},
        "audio.format": {"audio": {"format": word, "voice": "alloy"}},
        "prompt_cache_options.mode": {"prompt_cache_options": {"mode": word}},
        "prompt_cache_options.ttl": {"prompt_cache_options": {"ttl": word}},
        "web_search_options.search_context_size": {"web_search_options": {"search_context_size": word}},
        "web_search_options.user_location.type": {
            "web_search_options": {"user_location": {"type": word, "approximate": {}}}
        },
        "response_format.type": {"response_format": {"type": word}},
        "messages[0].content[0].type": said({"type": word}),
        "messages[0].content[0].image_url.detail": said(
            {"type": "image_url", "image_url": {"url": "u", "detail": word}}
        ),
        "messages[0].content[0].input_audio.format": said(
            {"type": "input_audio", "input_audio": {"data": "x", "format": word}}
        ),
        "tools[0].type": {"tools": [{"type": word}]},
        "tools[0].custom.format.type": custom({"type": word}),
        "tools[0].custom.format.grammar.syntax": custom(
            {"type": "grammar", "grammar": {"definition": "d", "syntax": word}}
        ),
        "tool_choice.type": {"tool_choice": {"type": word}},
        "tool_choice.allowed_tools.mode": {
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": word, "tools": []}}
        },
    }
    messages = [{"role": "user", "content": "hi"}]
    return {"model": "m", "messages": messages, **changes.get(path, {path: word})}


def said(part: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part]}]}


def custom(form: Any) -> dict[str, Any]:
    return {"tools": [{"type": "custom", "custom": {"name": "c", "format": form}}]}


def refusal(request: dict[str, Any], strict: bool) -> tuple[int, str, str | None, str | None]:
    with pytest.raises(RequestError) as caught:
        parse(request, strict=strict)
    return caught.value.status, caught.value.message, caught.value.param, caught.value.code


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_word_that_openai_does_not_have_travels_unless_strict(row: Row) -> None:
    path, listed, typo, known = row
    for word in (typo, "", listed.split("'")[1].upper(), listed.split("'")[1] + " ", *known):
        request = document(path, word)
        before = json.dumps(request)
        parse(request, strict=False)
        assert json.dumps(request) == before
        message = f"Invalid value: '{word}'. Supported values are: {listed}."
        assert refusal(request, True) == (400, message, path, "invalid_value")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_no_word_is_refused(row: Row) -> None:
    wrong: Any
    for wrong in (5, True, [[]]):
        assert refusal(document(row[0], wrong), False)[3] == "invalid_type"


def test_the_type_of_a_call_in_the_history_travels_too() -> None:
    call = {"id": "c", "type": "builtin_function", "function": FUNCTION}
    messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "r"}]
    request = {"model": "m", "messages": messages}
    parse(request, strict=False)
    message = "Invalid value: 'builtin_function'. Supported values are: 'function' and 'custom'."
    assert refusal(request, True) == (400, message, "messages[0].tool_calls[0].type", "invalid_value")


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_every_role_takes_parts_that_a_vendor_may_know(role: str) -> None:
    for kind in ("image_url", "thinking", "refusal", "unseen"):
        part = {"type": kind, "image_url": {"url": "u"}, "refusal": "no"}
        parse({"model": "m", "messages": [{"role": role, "content": [part]}]}, strict=False)


def test_words_that_the_gateway_acts_on_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"messages": [{"role": "modell", "content": "hi"}]}, "messages[0].role"),
        ({"moderation": {"policy": {"output": {"mode": "warn"}}}}, "moderation.policy.output.mode"),
    ]
    for changes, path in cases:
        request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **changes}
        assert refusal(request, False)[2:] == (path, "invalid_value")
