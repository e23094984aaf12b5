"""What the dialect tests share: requests, writers, and a small upstream answer to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import conform
from antiphon.chat.stream import ChatStream
from antiphon.dialects import DIALECTS, WriteOptions, Writer
from tests.chat.machine import request as ask

Document = dict[str, Any]
ENTROPY = bytes(range(16))


def options(**changes: Any) -> WriteOptions:
    fields: Document = {"strict": False, "target": "up/model"}
    return WriteOptions(**{**fields, **changes})


def stamp(dialect: str) -> AnswerDefaults:
    row = DIALECTS[dialect]
    return AnswerDefaults(
        model="target-model",
        now=1_700_000_000,
        keeps_id=row.keeps_id,
        new_id=lambda: row.new_id(ENTROPY),
        new_call_id=lambda: "call_new",
    )


@pytest.fixture
def make_stream() -> Callable[..., ChatStream]:
    def make(dialect: str, asked: Document | None = None) -> ChatStream:
        return ChatStream(ask(**(asked or {})), stamp(dialect))

    return make


@pytest.fixture
def make_writer() -> Callable[..., Writer]:
    """make_writer(dialect, request fields in `asked`, write options as keywords)."""

    def make(dialect: str, asked: Document | None = None, **write: Any) -> Writer:
        return DIALECTS[dialect].writer(ask(**(asked or {})), options(**write))

    return make


@pytest.fixture
def render() -> Callable[..., Document]:
    """render(dialect, upstream's JSON): conformed and written, as a turn does it."""

    def write(dialect: str, document: Document, asked: Document | None = None, **how: Any) -> Document:
        row = DIALECTS[dialect]
        request = ask(**(asked or {}))
        result = conform(document, request, stamp(dialect))
        counted = {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15}
        return row.writer(request, options(**how)).completion(result.document, result.usage or counted)

    return write


@pytest.fixture
def bare_completion() -> Document:
    """The least an upstream may answer."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_600_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }


@pytest.fixture
def bare_chunk() -> Document:
    """A canonical chunk with one content delta, as the stream machine hands it over."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_600_000_000,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}],
    }
