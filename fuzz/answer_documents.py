"""Valid answers of an upstream, whole and as chunks: the base of the mutated ones.

The text is made of numbered words (`a7w0 a7w1 …` for case 7), so that lost, repeated, invented and foreign text shows.
"""

from __future__ import annotations

import random
from typing import Any

Document = dict[str, Any]

USAGE: Document = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


def words(number: int, count: int) -> list[str]:
    return [f"a{number}w{place} " for place in range(count)]


def envelope(kind: str) -> Document:
    return {"id": "chatcmpl-up", "object": kind, "created": 1767225600, "model": "target"}


def whole(number: int, chance: random.Random, endpoint: str) -> Document:
    text = "".join(words(number, chance.randint(1, 8)))
    if endpoint == "embeddings":
        row = {"object": "embedding", "index": 0, "embedding": [0.5, -1.25, 3e-05]}
        return {"object": "list", "data": [row], "model": "target", "usage": {"prompt_tokens": 2, "total_tokens": 2}}
    if endpoint == "completions":
        choice: Document = {"index": 0, "text": text, "logprobs": None, "finish_reason": "stop"}
        return {**envelope("text_completion"), "choices": [choice], "usage": dict(USAGE)}
    message: Document = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": chance.choice(("stop", "length"))}
    _decorate(choice, message, chance)
    return {**envelope("chat.completion"), "choices": [choice], "usage": dict(USAGE), "system_fingerprint": "fp_1"}


def chunks(number: int, chance: random.Random, endpoint: str) -> list[Document]:
    texts = words(number, chance.randint(1, 12))
    if endpoint == "completions":
        return _text_chunks(texts)
    first: Document = {"role": "assistant", "content": chance.choice(("", None))}
    out = [_chunk(first)]
    if chance.random() < 0.15:
        out.append(_chunk({"reasoning_content": "because"}))
    out += [_chunk({"content": text}) for text in texts]
    if chance.random() < 0.2:
        out += _call_chunks()
        out.append(_chunk({}, "tool_calls"))
    else:
        out.append(_chunk({}, chance.choice(("stop", "stop", "length"))))
    if chance.random() < 0.6:
        out.append({**envelope("chat.completion.chunk"), "choices": [], "usage": dict(USAGE)})
    if chance.random() < 0.1:
        results = [{"prompt_index": 0, "content_filter_results": SAFE}]
        out.insert(
            0, {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": results}
        )
    return out


def _decorate(choice: Document, message: Document, chance: random.Random) -> None:
    if chance.random() < 0.15:
        function = {"name": "weather", "arguments": '{"city": "Paris"}'}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        choice["finish_reason"] = "tool_calls"
    if chance.random() < 0.1:
        message["reasoning_content"] = "because"
    if chance.random() < 0.1:
        entry = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
        choice["logprobs"] = {"content": [entry], "refusal": None}
    if chance.random() < 0.1:
        choice["content_filter_results"] = SAFE


def _chunk(delta: Document, finish: str | None = None) -> Document:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**envelope("chat.completion.chunk"), "choices": [choice]}


def _text_chunks(texts: list[str]) -> list[Document]:
    entries = [{"index": 0, "text": text, "logprobs": None, "finish_reason": None} for text in texts]
    entries.append({"index": 0, "text": "", "logprobs": None, "finish_reason": "stop"})
    return [{**envelope("text_completion"), "choices": [entry]} for entry in entries]


def _call_chunks() -> list[Document]:
    opening = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in ('{"ci', 'ty": "Par', 'is"}')]
    return [_chunk({"tool_calls": [call]}) for call in (opening, *pieces)]


ERRORS: tuple[Any, ...] = (
    {"error": {"message": "The model is overloaded.", "type": "server_error", "param": None, "code": "overloaded"}},
    {"error": "busy"},
    {"error": {"code": 429, "message": "slow down"}},
    {"error": {"message": None, "type": 5, "code": {"a": 1}}},
    {"error": {}},
    {"error": []},
    {"error": [{"message": "in a list"}]},
    {"detail": "not found"},
    {"detail": [{"loc": ["body"], "msg": "field required"}]},
    [{"error": {"code": 400, "message": "as Gemini says it", "status": "INVALID_ARGUMENT"}}],
    {"message": "a bare message", "status": 503},
    {"object": "error", "message": "as vLLM says it", "type": "BadRequestError", "code": 400},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
)
