from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.failure import is_failure, read_failure, redact
from antiphon.errors import UpstreamError

Document = dict[str, Any]


@pytest.mark.parametrize(
    ("document", "http", "status", "code", "message"),
    [
        # an HTTP status told of it
        ({"error": {"message": "m", "type": "invalid_request_error", "code": "bad"}}, 400, 400, "bad", "m"),
        ({"error": {"message": "m", "code": "context_length_exceeded"}}, 400, 400, "context_length_exceeded", "m"),
        ({"error": {"message": "m"}}, 404, 404, None, "m"),
        ({"error": {"message": "m"}}, 408, 408, None, "m"),
        ({"error": {"message": "m"}}, 422, 422, None, "m"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, 422, 422, None, "field required"),
        ({"error": {"message": "slow down"}}, 429, 429, "rate_limit_exceeded", "slow down"),
        ({"error": {"message": "m", "code": "insufficient_quota"}}, 429, 429, "insufficient_quota", "m"),
        ({"error": {"message": "m"}}, 500, 502, "upstream_error", "m"),
        ({"error": {"message": "m"}}, 501, 502, "upstream_error", "m"),
        ({"error": {"message": "m"}}, 504, 502, "upstream_error", "m"),
        ({"error": {"message": "m"}}, 503, 503, "upstream_error", "m"),
        ({"message": "m"}, 400, 400, None, "m"),
        ({}, 500, 502, "upstream_error", "The upstream reported an error."),
        ("<html><title>502 nginx</title>", 502, 502, "upstream_error", "The upstream reported an error."),
        ("no such page", 404, 404, None, "no such page"),
        ({"error": {"message": "m"}}, 302, 502, "upstream_error", "m"),
        # a 200, or inside a stream: the document tells
        ({"error": {"message": "m", "code": 400}}, 200, 400, None, "m"),
        ({"error": {"message": "m", "code": "429"}}, None, 429, "rate_limit_exceeded", "m"),
        ({"error": {"message": "m", "type": "BadRequestError", "code": 400, "param": None}}, None, 400, None, "m"),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, None, 400, None, "m"),
        ({"object": "error", "message": "m", "code": 500}, None, 502, "upstream_error", "m"),
        ({"error": "plain words"}, None, 502, "upstream_error", "plain words"),
        ({"error": {"type": "overloaded_error", "message": "m"}, "type": "error"}, None, 503, "upstream_error", "m"),
        ({"error": {"message": "m", "type": "rate_limit_error"}}, None, 429, "rate_limit_exceeded", "m"),
        ({"error": {"message": "m", "code": "insufficient_quota"}}, None, 429, "insufficient_quota", "m"),
        ({"error": {"message": "m", "type": "invalid_request_error"}}, None, 400, None, "m"),
        ({"error": {"message": "m", "type": "server_error"}}, None, 502, "upstream_error", "m"),
        ({"error": {"message": "m", "code": "timeout"}}, None, 504, "timeout", "m"),
        ({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}, None, 503, "upstream_error", "m"),
        (
            [{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}],
            None,
            429,
            "rate_limit_exceeded",
            "m",
        ),
        ({"base_resp": {"status_code": 1004, "status_msg": "m"}}, 200, 502, "upstream_error", "m"),
        ({"error_code": 17, "error_msg": "m"}, 200, 502, "upstream_error", "m"),
        ({"status": False, "response": "m"}, 200, 502, "upstream_error", "m"),
        ({"error": {"error": {"message": "m", "code": 429}}}, None, 429, "rate_limit_exceeded", "m"),
        ({"errors": [{"message": "m"}]}, None, 502, "upstream_error", "m"),
    ],
)
def test_shapes(document: Any, http: int | None, status: int, code: str | None, message: str) -> None:
    error = read_failure(document, http)
    assert (error.status, error.code, error.message) == (status, code, message)
    if not isinstance(document, str) and document and http in (None, 200):
        assert isinstance(document, list) or is_failure(document)


@pytest.mark.parametrize("status", [401, 403, 407])
def test_our_own_credential_is_never_the_clients_affair(status: int) -> None:
    error = read_failure({"error": {"message": "Incorrect API key: my-odd-key", "code": "invalid_api_key"}}, status)
    assert (error.status, error.type, error.code) == (502, "server_error", "upstream_error")
    assert "my-odd-key" not in error.message


def test_the_same_inside_a_stream() -> None:
    error = read_failure({"error": {"message": "bad key my-odd-key", "code": "invalid_api_key", "type": "x"}})
    assert error.status == 502
    assert "my-odd-key" not in error.message


def test_type_code_and_param_are_kept_for_a_fault_of_the_client() -> None:
    error = read_failure({"error": {"message": "m", "type": "t", "code": "c", "param": "messages"}}, 400)
    assert (error.type, error.code, error.param) == ("t", "c", "messages")
    error = read_failure({"error": {"message": "m", "type": "t", "code": "c", "param": "messages"}}, 500)
    assert (error.type, error.code, error.param) == ("server_error", "upstream_error", None)


@pytest.mark.parametrize(
    "document",
    [
        {"choices": [], "error": None},
        {"choices": [], "error": {}},
        {"choices": [], "error": {"code": "", "message": ""}},
        {"choices": [], "error": ""},
        {"choices": [], "error": False},
        {"choices": [], "message": "m"},
        {"choices": [{"index": 0}], "detail": "x", "base_resp": {"status_code": 0}},
        {"usage": {"prompt_tokens": 1}},
        {"id": "x", "message": {"role": "assistant"}},
        {},
    ],
)
def test_no_failures(document: Document) -> None:
    assert not is_failure(document)


@pytest.mark.parametrize(
    "secret",
    [
        "https://api.internal.example.com/v1?key=1",
        "http+unix://x/y",
        "api.openai.com",
        "vllm-0.pods.svc.cluster.local:8000",
        "localhost:8080",
        "my-host:8000",
        "10.1.2.3",
        "10.1.2.3:443",
        "[::1]:8000",
        "fe80::1ff:fe23:4567:890a",
        "2001:db8:0:0:0:0:0:1",
        "sk-proj-abcdefghij0123456789",
        "sk-abc***xyz",
        "Bearer abcdefghijkl",
        "AIzaSyA0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc",
        "0123456789abcdef0123456789abcdef",
        "org-0123456789abc",
    ],
)
def test_redacts(secret: str) -> None:
    told = redact(f"cannot reach {secret} now")
    assert secret not in told
    assert told.startswith("cannot reach [redacted]")
    assert told.endswith(" now")


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (max_tokens:4096).",
        "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an integer.",
        "Unsupported: 'tools.function.name' for claude-3-5-sonnet-20241022 and meta-llama/Llama-3.3-70B-Instruct",
        "std::string at 12:30:45, main.py line 3",
        "stream_options.include_usage is not supported by accounts/fireworks/models/llama-v3p1-405b-instruct",
        "请求过多 → später",
    ],
)
def test_leaves_what_helps(text: str) -> None:
    assert redact(text) == text


def test_bounds_and_control_characters() -> None:
    assert len(redact("word " * 5000)) <= 2000
    assert redact("a\x00b\r\nc\x85d\ud800") == "a b c d\ufffd"
    assert redact("it is hunter-two!", ["hunter-two"]) == "it is [redacted]!"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "status", "errors", "object", "param", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.none() | st.integers(100, 599))
def test_anything_is_an_upstream_error(document: Any, status: int | None) -> None:
    if isinstance(document, dict):
        is_failure(document)
    error = read_failure(document, status)
    assert type(error) is UpstreamError
    assert 400 <= error.status <= 599
    assert error.status not in (401, 403, 407)
    assert error.message
    error.message.encode()


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    redact(text).encode()
