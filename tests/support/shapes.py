"""Upstream objects for tests: small, well-formed, and easy to bend."""

from __future__ import annotations

from typing import Any

USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def completion(content: Any = "Hi!", finish: Any = "stop", **top: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    base = {"id": "chatcmpl-up1", "object": "chat.completion", "created": 1700000000, "model": "target-2026"}
    return {**base, "choices": [choice], "usage": dict(USAGE), **top}


def chunk(delta: Any = None, finish: Any = None, index: int = 0, **top: Any) -> dict[str, Any]:
    base = {"id": "chatcmpl-up1", "object": "chat.completion.chunk", "created": 1700000000, "model": "target-2026"}
    choice = {"index": index, "delta": {} if delta is None else delta, "finish_reason": finish}
    return {**base, "choices": [choice], **top}


def usage_chunk(**usage: Any) -> dict[str, Any]:
    return {**chunk(), "choices": [], "usage": {**USAGE, **usage}}


def hello() -> list[dict[str, Any]]:
    """A usual stream: role, two words, finish, usage."""
    return [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        usage_chunk(),
    ]
