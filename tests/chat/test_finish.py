from __future__ import annotations

from typing import Any

import pytest

from antiphon.chat.finish import FINISH_REASONS, read_finish, settle_finish
from antiphon.errors import UpstreamError
from tests.chat.machine import request


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        *((reason, reason) for reason in sorted(FINISH_REASONS)),
        ("eos", "stop"),
        ("eos_token", "stop"),
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("STOP", "stop"),
        ("COMPLETE", "stop"),
        ("FINISH_REASON_STOP", "stop"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("maxTokens", "length"),
        ("model_length", "length"),
        ("tool_use", "tool_calls"),
        ("TOOL_CALL", "tool_calls"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("content-filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("refusal", "content_filter"),
        ({"type": "stop", "matched": 2}, "stop"),
    ],
)
def test_known_words(word: object, reason: str) -> None:
    assert read_finish(word) == (reason, None)


@pytest.mark.parametrize("word", [None, "", "null", False, {}, [], 0, "FINISH_REASON_UNSPECIFIED"])
def test_not_finished(word: object) -> None:
    assert read_finish(word) == (None, None)


@pytest.mark.parametrize(
    ("word", "reason", "native"),
    [
        ("because", "stop", "because"),
        ("MALFORMED_FUNCTION_CALL", "stop", "MALFORMED_FUNCTION_CALL"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter", "content_filter: PROHIBITED_CONTENT"),
        ("insufficient_system_resource", "length", "insufficient_system_resource"),
        (7, "stop", "7"),
        (["x"], "stop", "['x']"),
    ],
)
def test_other_words_are_kept(word: object, reason: str, native: str) -> None:
    assert read_finish(word) == (reason, native)


@pytest.mark.parametrize("word", ["error", "ERROR", "network_error", "abort", {"type": "error"}])
def test_an_upstream_that_failed(word: object) -> None:
    with pytest.raises(UpstreamError):
        read_finish(word)


@pytest.mark.parametrize(
    ("reason", "asked", "called", "legacy", "told"),
    [
        ("stop", {}, False, False, "stop"),
        ("stop", {}, True, False, "tool_calls"),
        ("stop", {"named_tool": True}, True, False, "stop"),
        ("tool_calls", {"named_tool": True}, True, False, "tool_calls"),
        ("tool_calls", {}, True, False, "tool_calls"),
        ("tool_calls", {}, False, False, "stop"),
        ("function_call", {"legacy_functions": True}, False, False, "stop"),
        ("tool_calls", {"named_tool": True}, False, False, "stop"),
        ("length", {}, True, False, "length"),
        ("content_filter", {}, True, False, "content_filter"),
        ("function_call", {"legacy_functions": True}, False, True, "function_call"),
        ("stop", {"legacy_functions": True}, False, True, "function_call"),
        ("stop", {"legacy_functions": True, "named_tool": True}, False, True, "stop"),
        ("tool_calls", {"legacy_functions": True}, False, True, "function_call"),
        ("tool_calls", {"legacy_functions": True}, True, False, "tool_calls"),
        ("function_call", {}, True, False, "tool_calls"),
        ("function_call", {}, False, True, "tool_calls"),
        ("stop", {}, False, True, "tool_calls"),
    ],
)
def test_what_the_client_is_told(reason: str, asked: dict[str, Any], called: bool, legacy: bool, told: str) -> None:
    assert settle_finish(reason, request(**asked), called=called, legacy_called=legacy) == told
