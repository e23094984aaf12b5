"""Whole answers of Converse, and answers with an error's status."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from antiphon.chat.completion import conform
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.protocols.bedrock import Bedrock
from tests.chat.machine import request, stamp
from tests.protocols.bedrock_streams import GUARDRAIL

Document = dict[str, Any]
USAGE = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}


def answer(*content: Document, reason: str = "end_turn", **more: Any) -> Document:
    message = {"role": "assistant", "content": list(content)}
    return {"output": {"message": message}, "stopReason": reason, "usage": USAGE, "metrics": {"latencyMs": 5}, **more}


def read(*content: Document, reason: str = "end_turn", **more: Any) -> Document:
    """Decoded and made canonical, and written in every dialect on the way."""
    given = answer(*content, reason=reason, **more)
    before = copy.deepcopy(given)
    decoded = Bedrock().decode(given, "amazon.nova-pro-v1:0")
    assert given == before
    conformed = conform(copy.deepcopy(decoded), request(), stamp())
    for dialect in DIALECTS.values():
        writer = dialect.writer(request(), WriteOptions(strict=False, target="up/model"))
        writer.completion(copy.deepcopy(conformed.document), dict(conformed.usage or {}))
    return conformed.document


def message(document: Document) -> Document:
    said: Document = document["choices"][0]["message"]
    return said


def test_text() -> None:
    document = read({"text": "The sea "}, {"text": "is wide."})
    assert message(document) == {"role": "assistant", "content": "The sea is wide."}
    assert document["choices"][0]["finish_reason"] == "stop"
    assert document["model"] == "amazon.nova-pro-v1:0"
    assert document["usage"] == {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def test_thinking_and_calls() -> None:
    said = message(
        read(
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": "aGlk"}},
            {"text": "I look."},
            {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"b": "Köln", "a": 1}}},
            {"toolUse": {"toolUseId": "t2", "name": "clock", "input": {}, "type": "tool_use"}},
            reason="tool_use",
        )
    )
    assert said["content"] == "I look."
    assert said["reasoning_content"] == "Hm."
    assert said["thinking_blocks"] == [
        {"index": 0, "type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"index": 1, "type": "redacted_thinking", "data": "aGlk"},
    ]
    assert said["tool_calls"] == [
        {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"b":"Köln","a":1}'}},
        {"id": "t2", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
    ]


def test_thinking_alone() -> None:
    said = message(read({"reasoningContent": {"reasoningText": {"text": "Only this."}}}))
    assert said == {"role": "assistant", "content": "", "reasoning_content": "Only this."}


def test_tools_that_bedrock_calls_itself() -> None:
    use = {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}}
    result = {"toolResult": {"toolUseId": "s1", "content": [{"text": "x"}], "status": "success", "type": "r"}}
    document = read(use, result, {"text": "So."})
    assert "tool_calls" not in message(document)
    assert message(document)["content_parts"] == [
        {"index": 0, "type": "toolUse", **use},
        {"index": 1, "type": "toolResult", **result},
    ]
    assert document["choices"][0]["finish_reason"] == "stop"


def test_citations() -> None:
    web = {"title": "Cities", "location": {"web": {"url": "https://c.example/p"}}}
    chars = {"title": "Atlas", "location": {"documentChar": {"documentIndex": 1, "start": 0, "end": 9}}}
    search = {"source": "s", "location": {"searchResultLocation": {"searchResultIndex": 0, "start": 0, "end": 1}}}
    cited = {"citationsContent": {"content": [{"text": "Pa"}, {"text": "ris."}], "citations": [web, chars, search]}}
    said = message(read({"text": "In "}, cited))
    assert said["content"] == "In Paris."
    assert said["annotations"][0]["url_citation"] == {
        "url": "https://c.example/p",
        "title": "Cities",
        "start_index": 3,
        "end_index": 9,
    }
    assert [note["type"] for note in said["annotations"]] == ["url_citation", "documentChar", "searchResultLocation"]
    assert said["annotations"][1]["documentChar"]["location"] == {"documentIndex": 1, "start": 0, "end": 9}


def test_a_guardrail() -> None:
    document = read({"text": "Sorry."}, reason="guardrail_intervened", trace=GUARDRAIL)
    choice = document["choices"][0]
    assert choice["finish_reason"] == "content_filter"
    assert choice["native_finish_reason"] == "guardrail_intervened"
    assert choice["content_filter_results"]["violence"] == {"filtered": False, "severity": "medium"}
    [prompt] = document["prompt_filter_results"]
    assert prompt["content_filter_results"]["jailbreak"] == {"filtered": True, "detected": True}
    assert document["trace"] == GUARDRAIL


def test_what_stands_beside_the_answer() -> None:
    document = read(
        {"text": "a"},
        serviceTier={"type": "flex"},
        performanceConfig={"latency": "optimized"},
        additionalModelResponseFields={"x": 1},
    )
    assert document["service_tier"] == "flex"
    assert document["performanceConfig"] == {"latency": "optimized"}
    assert document["additionalModelResponseFields"] == {"x": 1}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filtered", "content_filter"),
        ("a_word_of_next_year", "stop"),
    ],
)
def test_reasons(reason: str, finish: str) -> None:
    assert read({"text": "a"}, reason=reason)["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"output": {}},
        {"output": {"message": {"content": "a"}}, "stopReason": "end_turn"},
        {"output": {"message": {"content": ["a"]}}, "stopReason": "end_turn"},
        answer({"text": "a"}, reason=""),
        answer({"text": "a"}, reason="malformed_model_output"),
        answer({"text": "a"}, reason="malformed_tool_use"),
    ],
)
def test_what_is_no_answer(given: Document) -> None:
    with pytest.raises(UpstreamError) as caught:
        Bedrock().decode(given, "m")
    assert (caught.value.status, caught.value.code) == (502, "upstream_malformed")


def test_an_error_in_place_of_an_answer() -> None:
    with pytest.raises(UpstreamError) as caught:
        Bedrock().decode({"__type": "com.amazon#ThrottlingException", "message": "Too many requests."}, "m")
    assert caught.value.status == 429


@pytest.mark.parametrize(
    ("status", "body", "outward", "code"),
    [
        (400, {"message": "The provided model identifier is invalid."}, 404, "model_not_found"),
        (400, {"message": "Input is too long for requested model."}, 400, "context_length_exceeded"),
        (400, {"message": "Malformed input request."}, 400, None),
        (400, {"__type": "ServiceQuotaExceededException", "message": "Quota."}, 429, "rate_limit_exceeded"),
        (403, {"Message": "User: arn:aws:iam::1:user/x is not authorized"}, 502, "upstream_error"),
        (404, {"message": "No such profile."}, 404, None),
        (408, {"message": "The model took too long."}, 504, "timeout"),
        (424, {"message": "The model failed.", "originalStatusCode": 500}, 502, "upstream_error"),
        (429, {"message": "Too many tokens, please wait before trying again."}, 429, "rate_limit_exceeded"),
        (500, {"message": "Internal."}, 502, "upstream_error"),
        (503, {"message": "Bedrock is unable to process your request."}, 503, "upstream_error"),
    ],
)
def test_failures(status: int, body: Document, outward: int, code: str | None) -> None:
    failure = Bedrock().read_failure(status, json.dumps(body).encode())
    assert (failure.status, failure.code) == (outward, code)
    assert "arn:aws:iam" not in failure.message


@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b"\xff\xfe", b"[]", b'"x"', b"{" * 5000])
def test_failures_without_words(body: bytes) -> None:
    failure = Bedrock().read_failure(503, body)
    assert failure.status == 503
    assert failure.message
    assert "<html" not in failure.message
