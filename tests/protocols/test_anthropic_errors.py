"""Errors of the Messages API, read by its own taxonomy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.protocols.anthropic import Anthropic

Document = dict[str, Any]


def body(kind: str, message: str, **more: Any) -> bytes:
    return json.dumps(
        {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "r"}
    ).encode()


@pytest.mark.parametrize(
    ("status", "kind", "outward", "type", "code"),
    [
        (400, "invalid_request_error", 400, "invalid_request_error", None),
        (401, "authentication_error", 502, "server_error", "upstream_error"),
        (402, "billing_error", 429, "insufficient_quota", "insufficient_quota"),
        (403, "permission_error", 502, "server_error", "upstream_error"),
        (404, "not_found_error", 404, "not_found_error", None),
        (409, "conflict_error", 409, "conflict_error", None),
        (413, "request_too_large", 413, "request_too_large", None),
        (429, "rate_limit_error", 429, "rate_limit_error", "rate_limit_exceeded"),
        (500, "api_error", 502, "server_error", "upstream_error"),
        (504, "timeout_error", 502, "server_error", "upstream_error"),
        (529, "overloaded_error", 503, "server_error", "overloaded"),
    ],
)
def test_the_taxonomy(status: int, kind: str, outward: int, type: str, code: str | None) -> None:
    error = Anthropic().read_failure(status, body(kind, "Something is wrong."))
    assert (error.status, error.type, error.code) == (outward, type, code)


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 215000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length",
    ],
)
def test_too_long_a_prompt(message: str) -> None:
    error = Anthropic().read_failure(400, body("invalid_request_error", message))
    assert (error.status, error.code, error.param) == (400, "context_length_exceeded", "messages")


def test_an_unknown_model() -> None:
    error = Anthropic().read_failure(404, body("not_found_error", "model: claude-nine"))
    assert (error.status, error.code, error.param) == (404, "model_not_found", "model")


@pytest.mark.parametrize(
    "message",
    [
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
        "You have reached your specified API usage limits. You will regain access on 2026-12-01.",
        "This request would exceed the organization's spend limit.",
    ],
)
def test_an_account_that_is_used_up_is_not_the_clients_fault(message: str) -> None:
    error = Anthropic().read_failure(400, body("invalid_request_error", message))
    assert (error.status, error.code) == (429, "insufficient_quota")
    assert "credit" not in error.message


def test_a_filtered_answer() -> None:
    message = "Output blocked by content filtering policy"
    error = Anthropic().read_failure(400, body("invalid_request_error", message))
    assert (error.status, error.code) == (400, "content_filter")


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("messages.3.content.0.image.source: bad", "messages"),
        ("stop_sequences: each must be non-whitespace", "stop"),
        ("output_config.format.schema: not supported", "response_format"),
        ("system.0: text content blocks must be non-empty", "messages"),
        ("This model does not support that.", None),
    ],
)
def test_the_field_by_the_name_that_clients_know(message: str, param: str | None) -> None:
    error = Anthropic().read_failure(400, body("invalid_request_error", message))
    assert (error.message, error.param) == (message, param)


@pytest.mark.parametrize("data", [b"", b"<html>Bad gateway</html>", b"connect error", b"\xff\xfe", b"[]", b"5"])
def test_what_a_proxy_on_the_way_says(data: bytes) -> None:
    error = Anthropic().read_failure(503, data)
    assert error.status == 503
    assert "html" not in error.message


def test_secrets_stay_out_of_messages() -> None:
    for status, kind in ((529, "overloaded_error"), (400, "invalid_request_error")):
        error = Anthropic().read_failure(status, body(kind, "key sk-ant-api03-abcDEF123456789xyzABC987 is busy"))
        assert "abcDEF" not in error.message
