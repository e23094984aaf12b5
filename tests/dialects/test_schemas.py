"""The openai dialect against OpenAI's own words: the published schemas, and the types of its Python package.

Both are extra checks: the schemas where they lie beside the checkout, the package where it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from antiphon.dialects import DIALECTS, Writer
from antiphon.errors import RequestError, UpstreamError

Document = dict[str, Any]

SCHEMAS = Path(__file__).parents[3] / "shared" / "openai-schemas.json"
TOKEN = {"token": "Hi", "logprob": -0.5}
CALL = {"function": {"name": "f", "arguments": {"a": 1}}}
MESSAGES: list[Document] = [
    {"role": "assistant", "content": "Hi"},
    {},
    {"content": [{"type": "text", "text": "Hi"}]},
    {"content": "", "tool_calls": [CALL, {"id": "call_2", "custom": {"name": "g", "input": "x"}}]},
    {"content": None, "refusal": "No.", "annotations": None, "audio": None, "tool_calls": []},
    {"content": None, "function_call": {"name": "f"}},
    {"content": None, "audio": {"id": "a", "expires_at": 1, "data": "", "transcript": ""}},
    {"content": "Hi", "reasoning": "hm", "foo": 1},
]
DELTAS: list[Document] = [
    {"role": "assistant", "content": ""},
    {"content": "Hi"},
    {"refusal": "No."},
    {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
    {"function_call": {"name": "f", "arguments": ""}},
    {},
]


@cache
def schemas() -> Document:
    if not SCHEMAS.exists():
        pytest.skip("OpenAI's schemas are not beside this checkout")
    loaded: Document = json.loads(SCHEMAS.read_text())
    return loaded


def validate(document: Document, name: str) -> None:
    root = {**schemas(), "$ref": f"#/components/schemas/{name}"}
    jsonschema.Draft202012Validator(root).validate(document)


def completions(render: Callable[..., Document], bare: Document) -> list[Document]:
    written = []
    for message in MESSAGES:
        for logprobs in (None, {"content": [TOKEN]}):
            for strict in (False, True):
                choice = {
                    "message": json.loads(json.dumps(message)),
                    "finish_reason": "stop",
                    "logprobs": json.loads(json.dumps(logprobs)),
                }
                upstream = {"choices": [choice], "system_fingerprint": None, "service_tier": "default"}
                written.append(render("openai", {**bare, **upstream}, strict=strict))
                written.append(render("openai", {"choices": [{"finish_reason": "stop"}]}, strict=strict))
    return written


def chunks(make_writer: Callable[..., Writer]) -> list[Document]:
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "completion_tokens_details": None}
    written = []
    for asked in (False, True):
        request = {"include_usage": asked, "include_obfuscation": asked}
        writer = make_writer("openai", request, entropy="x".__mul__)
        for delta in DELTAS:
            choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
            written.append(writer.chunk({**envelope, "system_fingerprint": None, "choices": [choice]}))
        written.append(writer.extra_chunk({**envelope, "antiphon": {}}))
        last = writer.usage_chunk(dict(envelope), dict(usage))
        written += [last] if last else []
    return written


def test_completions_validate(render: Callable[..., Document], bare_completion: Document) -> None:
    for document in completions(render, bare_completion):
        validate(document, "CreateChatCompletionResponse")


def test_chunks_validate(make_writer: Callable[..., Writer]) -> None:
    for document in chunks(make_writer):
        validate(document, "CreateChatCompletionStreamResponse")


def test_errors_and_models_validate() -> None:
    for error in (RequestError("x"), UpstreamError("x", code=None), RequestError("x", param="n", code="c")):
        validate(DIALECTS["openai"].write_error(error, "req_1"), "ErrorResponse")
    models = DIALECTS["openai"].write_models([{"id": "m", "shutdown_date": None}, {"id": "n", "created": 3}])
    validate(models, "ListModelsResponse")
    validate(models["data"][0], "Model")


def test_openais_own_types_accept_them(
    render: Callable[..., Document], make_writer: Callable[..., Writer], bare_completion: Document
) -> None:
    chat = pytest.importorskip("openai.types.chat")
    for document in completions(render, bare_completion):
        parsed = chat.ChatCompletion.model_validate(document, strict=True)
        assert parsed.model_dump(mode="json", exclude_unset=True) == document
    for document in chunks(make_writer):
        parsed = chat.ChatCompletionChunk.model_validate(document, strict=True)
        assert parsed.model_dump(mode="json", exclude_unset=True) == document
