from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.failure import is_failure, read_failure
from antiphon.dialects import DIALECTS
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
        ([{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}], 400, 400, None, "m"),
        ([{"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}], 503, 503, "upstream_error", "m"),
        ([], 500, 502, "upstream_error", "The upstream reported an error."),
        (None, 500, 502, "upstream_error", "The upstream reported an error."),
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


# Too long a prompt, in every vendor's words: the phrases are quoted from their own answers.
LONG: list[tuple[Any, int | None]] = [
    ({"error": {"code": 400, "message": "m", "type": "exceed_context_size_error", "n_ctx": 512}}, 400),  # llama.cpp
    ({"error": {"code": 400, "message": "m", "type": "exceed_context_size_error"}}, None),
    ({"error": {"code": 500, "message": "m", "type": "exceed_context_size_error"}}, 500),
    ({"error": {"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded"}}, 400),
    ({"error": {"message": "m", "code": "context_length_exceeded", "param": None}}, None),
    ({"error": {"message": "m", "type": "ContextWindowExceededError", "code": "400"}}, 400),  # LiteLLM
    ({"error": {"message": "m", "code": "model_max_prompt_tokens_exceeded"}}, 400),  # GitHub Copilot
    ({"error": {"message": "Request body too large.", "code": "tokens_limit_reached"}}, 413),  # GitHub Models
    *(
        ({"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}}, 400)
        for words in (
            # vLLM, DeepSeek, OpenRouter, old OpenAI
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            # SGLang
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            "Requested token count exceeds the model's maximum context length of 4096 tokens.",
            # Anthropic
            "prompt is too long: 210000 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            # Gemini
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            # Mistral, Moonshot, MiniMax, xAI, Cohere, Bedrock, Groq, Qwen, Zhipu, TGI
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            "Invalid request: Your request exceeded model token limit: 8192",
            "invalid params, context window exceeds limit (2013)",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081",
            "Input is too long for requested model.",
            "Please reduce the length of the messages or completion.",
            "Range of input length should be [1, 30720]",
            "Prompt exceeds max length",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
            # OpenAI today
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            # llama.cpp before it had a type, LM Studio, Ollama, llama-cpp-python
            "the request exceeds the available context size. try increasing the context size",
            "Trying to keep the first 11149 tokens when context the overflows. However, the model is loaded with "
            "context length of only 4096 tokens, which is not enough.",
            "The number of tokens to keep from the initial prompt is greater than the context length.",
            "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
            "Context size has been exceeded.",
            "prompt too long; exceeded max context length by 12 tokens",
            "the input length exceeds the context length",
            "Requested tokens (3014) exceed context window of 2048",
        )
    ),
    ({"error": "Reached context length of 4096 tokens with model (arch: llama)"}, None),  # LM Studio, in a stream
    ({"error": "input length exceeds the context length"}, 400),
    (
        [{"error": {"code": 400, "message": "The input token count exceeds the maximum number of tokens allowed 1."}}],
        400,
    ),
    ({"object": "error", "message": "This model's maximum context length is 8 tokens.", "code": 400}, None),
    ({"detail": "This model's maximum context length is 8 tokens."}, 422),
]


@pytest.mark.parametrize(("document", "http"), LONG)
def test_too_long_a_prompt_is_one_error_whoever_says_it(document: Any, http: int | None) -> None:
    error = read_failure(document, http)
    told = (error.status, error.type, error.code, error.param)
    status = http if http in (413, 422) else 400  # a 4xx keeps its status [upstream-status]
    assert told == (status, "invalid_request_error", "context_length_exceeded", "messages")
    assert error.message
    assert DIALECTS["skytells"].write_error(error, "req_1")["error"]["error_id"] == "INVALID_PARAMETER"


@pytest.mark.parametrize(
    ("document", "http", "status"),
    [
        (
            {
                "error": {
                    "message": "Request too large: reduce the length of the messages",
                    "code": "rate_limit_exceeded",
                }
            },
            413,
            413,
        ),
        ({"error": {"message": "maximum context length"}}, 429, 429),
        ({"error": {"message": "maximum context length"}}, 500, 502),
        (
            {"error": {"message": "Invalid 'user': string too long. Expected a string with maximum length 64."}},
            400,
            400,
        ),
        ({"error": {"message": "Unknown parameter: 'context_length'."}}, 400, 400),
        ({"error": {"message": "The context window of this model is 8192 tokens; n must be 1."}}, 400, 400),
        ({"error": {"message": "no such model with a maximum context length"}}, 404, 404),
    ],
)
def test_what_only_sounds_like_it_is_not(document: Any, http: int | None, status: int) -> None:
    error = read_failure(document, http)
    assert (error.status, error.code == "context_length_exceeded") == (status, False)


# A prompt that an upstream's filter refused

VERDICT = {
    "hate": {"filtered": False, "severity": "safe"},
    "jailbreak": {"detected": True, "filtered": True},
}


def refused(**changes: Any) -> Document:
    error = {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": VERDICT},
    }
    return {"error": {**error, **changes}}


@pytest.mark.parametrize("http", [400, 200, None])
def test_a_filters_verdict_is_kept(http: int | None) -> None:
    error = read_failure(refused(), http)
    told = (error.status, error.type, error.code, error.param)
    assert told == (400, "invalid_request_error", "content_filter", "prompt")
    assert error.extra == {"innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": VERDICT}}


def test_a_verdict_is_kept_in_all_its_spellings() -> None:
    error = read_failure(refused(innererror=None, content_filter_results=VERDICT), 400)
    assert error.extra == {"content_filter_results": VERDICT}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_results": VERDICT}
    error = read_failure(refused(innererror=None, inner_error=inner), 400)
    assert error.extra == {"inner_error": inner}


def test_an_inner_error_alone_says_what_it_is() -> None:
    error = read_failure(refused(code=None), 400)
    assert error.code == "content_filter"


def test_what_is_kept_is_clean_and_bounded() -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "url": "see https://x.internal/a", "n": [1, None, "sk-abcdefgh1"]}
    error = read_failure(refused(innererror=inner), 400, ["safe-word"])
    assert error.extra == {
        "innererror": {"code": "ResponsibleAIPolicyViolation", "url": "see [redacted]", "n": [1, None, "[redacted]"]}
    }
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep]
    error = read_failure(refused(innererror={"deep": deep}), 400)
    assert len(repr(error.extra)) < 1000
    while deep != "x":
        deep = deep[0]


def test_only_a_filters_error_has_an_inner_one() -> None:
    assert read_failure(refused(code="bad", innererror={"code": "x"}), 400).extra is None
    assert read_failure({"error": {"message": "m", "code": "content_filter"}}, 400).extra is None
    assert read_failure(refused(), 500).extra is None


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
