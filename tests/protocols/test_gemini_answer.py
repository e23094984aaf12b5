"""Gemini's whole answers and errors."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from antiphon.chat.completion import conform
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.protocols.gemini import GEMINI
from tests.chat.machine import request, stamp
from tests.protocols.gemini_recordings import COUNTS, RECORDINGS, SIGNATURE, call, event

Document = dict[str, Any]


def decode(answer: Document) -> Document:
    before = copy.deepcopy(answer)
    decoded = GEMINI.decode(answer, "asked")
    assert answer == before
    return decoded


def message(*parts: Document, finish: str = "STOP", **more: Any) -> Document:
    [choice] = decode(event(list(parts), finish, **more))["choices"]
    assert isinstance(choice, dict)
    return choice


def fails(answer: Any) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        GEMINI.decode(answer, "asked")
    return caught.value


def test_an_answer() -> None:
    answer = event([{"text": "Hm.", "thought": True}, {"text": "Hi"}, {"text": "!"}], "STOP", usageMetadata=COUNTS)
    decoded = decode({**answer, "createTime": "2026-11-01T10:00:00.5Z"})
    assert decoded == {
        "id": "r-Id_1",
        "object": "chat.completion",
        "created": 1_793_527_200,
        "model": "gemini-3-flash",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi!", "reasoning_content": "Hm."},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 13,
            "completion_tokens": 12,
            "total_tokens": 25,
            "prompt_tokens_details": {"cached_tokens": 0, "text_tokens": 13},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_writes_it(name: str, dialect: str) -> None:
    events = [one for one in copy.deepcopy(RECORDINGS[name]) if "candidates" in one or "promptFeedback" in one]
    answer = events[-1]
    if "candidates" in answer:
        parts = [part for one in events for part in one["candidates"][0].get("content", {}).get("parts", ())]
        answer["candidates"][0]["content"] = {"role": "model", "parts": parts}
    asked = request(stream=False)
    conformed = conform(decode(answer), asked, stamp())
    written = DIALECTS[dialect].writer(asked, WriteOptions(strict=False, target="asked"))
    json.dumps(written.completion(conformed.document, {"prompt_tokens": 1, "completion_tokens": 1}))


def test_calls_and_signatures() -> None:
    choice = message(
        {"text": "", "thought": True, "thoughtSignature": "dGhvdWdodA=="},
        call("a", {"x": [1, {"y": None}]}, thoughtSignature=SIGNATURE),
        {"functionCall": {"id": "own1", "name": "b"}},
    )
    assert choice["finish_reason"] == "tool_calls"
    said = choice["message"]
    assert said["content"] is None
    assert said["tool_calls"] == [
        {
            "type": "function",
            "function": {"name": "a", "arguments": '{"x":[1,{"y":null}]}'},
            "extra_content": {"google": {"thought_signature": SIGNATURE}},
        },
        {"id": "own1", "type": "function", "function": {"name": "b", "arguments": "{}"}},
    ]
    assert said["thinking_blocks"] == [
        {"type": "thought_signature", "of": "thought", "text": "", "at": 0, "signature": "dGhvdWdodA=="},
        {"type": "thought_signature", "of": "call", "call": 0, "signature": SIGNATURE},
    ]


def test_an_answer_of_thoughts_alone_has_no_content() -> None:
    [choice] = decode({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]})["choices"]
    assert choice == {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "length"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"promptTokenCount": 9, "thoughtsTokenCount": 30, "totalTokenCount": 39}, (9, 30, 39)),
        ({"promptTokenCount": 9, "candidatesTokenCount": 1}, (9, 1, 10)),
        ({"promptTokenCount": 9, "cachedContentTokenCount": 8, "totalTokenCount": 9}, (9, 0, 9)),
        ({"promptTokenCount": 9, "toolUsePromptTokenCount": 6, "totalTokenCount": 15}, (15, 0, 15)),
    ],
)
def test_usage(metadata: Document, expected: tuple[int, int, int]) -> None:
    usage = decode(event([{"text": "x"}], "STOP", usageMetadata=metadata))["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == expected
    assert usage["prompt_tokens_details"]["cached_tokens"] == metadata.get("cachedContentTokenCount", 0)
    assert usage["completion_tokens_details"]["reasoning_tokens"] == metadata.get("thoughtsTokenCount", 0)
    conformed = conform(decode(event([{"text": "x"}], "STOP", usageMetadata=metadata)), request(), stamp())
    assert conformed.usage is not None
    assert conformed.usage["completion_tokens"] == expected[1]


def test_usage_by_kind_of_token() -> None:
    counts = {
        "promptTokenCount": 30,
        "candidatesTokenCount": 20,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}, {"modality": "AUDIO", "tokenCount": 20}],
        "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 20}],
        "trafficType": "ON_DEMAND",
    }
    usage = decode(event([{"text": "x"}], "STOP", usageMetadata=counts))["usage"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0, "text_tokens": 10, "audio_tokens": 20}
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 0, "image_tokens": 20}
    assert usage["trafficType"] == "ON_DEMAND"


def test_no_counts_are_no_usage() -> None:
    assert "usage" not in decode(event([{"text": "x"}], "STOP", usageMetadata={"trafficType": "ON_DEMAND"}))


@pytest.mark.parametrize(
    ("word", "finding"),
    [
        ("RECITATION", {"protected_material_text": {"filtered": True, "detected": True}}),
        ("BLOCKLIST", {"custom_blocklists": {"filtered": True, "details": []}}),
        ("PROHIBITED_CONTENT", None),
        ("SPII", None),
        ("IMAGE_SAFETY", None),
        ("IMAGE_PROHIBITED_CONTENT", None),
        ("IMAGE_RECITATION", None),
        ("LANGUAGE", None),
        ("MODEL_ARMOR", None),
    ],
)
def test_stops_by_a_filter(word: str, finding: Document | None) -> None:
    choice = message({"text": "x"}, finish=word, candidate={"finishMessage": "why"})
    assert choice["finish_reason"] == "content_filter"
    assert choice["native_finish_reason"] == word
    assert choice["finishMessage"] == "why"
    assert choice.get("content_filter_results") == finding


def test_severity_is_told_before_probability() -> None:
    ratings = [
        {
            "category": "HARM_CATEGORY_DANGEROUS_CONTENT",
            "probability": "HIGH",
            "severity": "HARM_SEVERITY_LOW",
            "severityScore": 0.2,
        },
        {"category": "HARM_CATEGORY_CIVIC_INTEGRITY", "probability": "HIGH"},
        {"category": "HARM_CATEGORY_JAILBREAK", "probability": "HIGH"},
    ]
    choice = message({"text": "x"}, candidate={"safetyRatings": ratings})
    assert choice["content_filter_results"] == {
        "violence": {"filtered": False, "severity": "low"},
        "jailbreak": {"filtered": False, "detected": True},
    }
    assert choice["safetyRatings"] == ratings


def test_a_jailbreak_that_blocked_the_prompt() -> None:
    decoded = decode({"promptFeedback": {"blockReason": "JAILBREAK", "blockReasonMessage": "no"}})
    assert decoded["choices"] == [
        {
            "index": 0,
            "finish_reason": "content_filter",
            "message": {"role": "assistant", "content": None, "refusal": None},
        }
    ]
    assert decoded["prompt_filter_results"] == [
        {"prompt_index": 0, "content_filter_results": {"jailbreak": {"filtered": True, "detected": True}}}
    ]
    assert decoded["promptFeedback"]["blockReasonMessage"] == "no"


def test_quotes_are_annotations() -> None:
    quote = {"startIndex": 3, "endIndex": 7, "uri": "https://poems.example", "license": "x"}
    choice = message({"text": "é Ode"}, candidate={"citationMetadata": {"citationSources": [quote]}})
    assert choice["message"]["annotations"] == [
        {
            "type": "url_citation",
            "url_citation": {"start_index": 2, "end_index": 5, "title": "", "url": "https://poems.example"},
        }
    ]


@pytest.mark.parametrize("answer", [{}, {"candidates": []}, {"candidates": None}, [], {"candidates": [[]]}, "x"])
def test_no_answer_is_malformed(answer: Any) -> None:
    assert fails(answer).code == "upstream_malformed"


def test_an_answer_without_its_end_was_cut() -> None:
    assert fails({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}).code == "upstream_truncated"


def test_an_error_inside_a_200() -> None:
    error = fails([{"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}])
    assert (error.status, error.message) == (503, "Overloaded.")


def failure(status: int, body: Any) -> UpstreamError:
    return GEMINI.read_failure(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def error(code: int, status: str, message: str = "Said so.", **more: Any) -> Document:
    return {"error": {"code": code, "message": message, "status": status, **more}}


@pytest.mark.parametrize(
    ("status", "word", "outward", "code"),
    [
        (400, "INVALID_ARGUMENT", 400, None),
        (400, "FAILED_PRECONDITION", 400, None),
        (401, "UNAUTHENTICATED", 502, "upstream_error"),
        (403, "PERMISSION_DENIED", 502, "upstream_error"),
        (404, "NOT_FOUND", 404, "model_not_found"),
        (429, "RESOURCE_EXHAUSTED", 429, "rate_limit_exceeded"),
        (500, "INTERNAL", 502, "upstream_error"),
        (503, "UNAVAILABLE", 503, "upstream_error"),
        (504, "DEADLINE_EXCEEDED", 502, "upstream_error"),
    ],
)
def test_failures_by_status(status: int, word: str, outward: int, code: str | None) -> None:
    for body in (error(status, word), [error(status, word)]):
        found = failure(status, body)
        assert (found.status, found.code) == (outward, code)


def test_a_wrong_key_is_our_fault_though_google_says_400() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    message = "API key not valid. Please pass a valid API key: AIzaSyA1234567890abcdefghijklmnopqrstuv."
    for body in (error(400, "INVALID_ARGUMENT", "No.", details=details), error(400, "INVALID_ARGUMENT", message)):
        found = failure(400, body)
        assert (found.status, found.code) == (502, "upstream_error")
        assert "AIza" not in found.message


@pytest.mark.parametrize(
    ("delay", "seconds"), [("34.4s", 35), ("7s", 7), ("0.2s", 1), ("3.000s", 3), ("soon", None), (3, None)]
)
def test_retry_after(delay: Any, seconds: int | None) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]
    assert failure(429, error(429, "RESOURCE_EXHAUSTED", details=details)).retry_after == seconds


def test_retry_after_in_words() -> None:
    assert failure(429, error(429, "RESOURCE_EXHAUSTED", "Please retry in 12.5s.")).retry_after == 13


def test_too_long_a_prompt() -> None:
    said = "The input token count (1048580) exceeds the maximum number of tokens allowed (1048576)."
    assert failure(400, error(400, "INVALID_ARGUMENT", said)).code == "context_length_exceeded"


@pytest.mark.parametrize(
    "said",
    [
        "Function call is missing a thought_signature in functionCall parts. Position 2.",
        "Corrupted thought signature.",
    ],
)
def test_a_signature_that_is_refused_has_a_code_of_its_own(said: str) -> None:
    assert failure(400, error(400, "INVALID_ARGUMENT", said)).code == "invalid_thought_signature"


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[]", b"nonsense", b'{"error": "text"}', b"\xff"])
def test_bodies_that_are_no_error_of_google(body: bytes) -> None:
    found = failure(502, body)
    assert found.status == 502
    assert "<html>" not in found.message
