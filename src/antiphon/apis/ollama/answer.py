"""Answers as Ollama's: one object, or a line of JSON for each piece. Durations are those that the gateway has seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

import msgspec

from antiphon.document import Document, objects_in
from antiphon.errors import AntiphonError

encode = msgspec.json.Encoder().encode
_TOLD: Final = frozenset({"length", "content_filter"})  # reasons that are no usual end
LINES: Final = b"application/x-ndjson"


class OllamaAnswer:
    """Writes one answer."""

    content_type = LINES
    silence = b""
    text_keys: Mapping[str, str] = MappingProxyType({})  # each line has its time

    def __init__(self, model: str, now: Callable[[], float], *, is_prompt: bool) -> None:
        """`model`: as the client called it. `now`: Unix seconds. `is_prompt`: of /api/generate."""
        self._model = model
        self._now = now
        self._began = now()
        self._is_prompt = is_prompt
        self._calls: dict[int, Document] = {}
        self._finish = "stop"
        self._usage: Document = {}
        self._beside: Document = {}

    def whole(self, completion: Document) -> Document:
        choice = completion["choices"][0]
        message = choice["message"]
        words = message.get("content") or message.get("refusal") or ""
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        calls = [_write_call(call) for call in message.get("tool_calls") or ()]
        self._finish = str(choice["finish_reason"])
        self._usage = completion["usage"]
        for key in ("content_filter_results",):
            if choice.get(key) is not None:
                self._beside[key] = choice[key]
        return {**self._piece(words, thought, calls), **_logprobs(choice), **self._last()}

    def take(self, chunk: Document) -> bytes:
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        if chunk.get("antiphon") is not None:
            self._beside["antiphon"] = chunk["antiphon"]
        out = b""
        for choice in chunk["choices"]:
            delta = choice["delta"]
            if choice.get("finish_reason") is not None:
                self._finish = choice["finish_reason"]
            for fragment in delta.get("tool_calls") or ():
                self._add_call(fragment)
            words = delta.get("content") or delta.get("refusal") or ""
            thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
            if words or thought:
                out += encode({**self._piece(words, thought, []), **_logprobs(choice), "done": False}) + b"\n"
        return out

    def end(self) -> bytes:
        """Calls leave whole, before the end."""
        out = b""
        if self._calls:
            calls = [_write_call(call) for call in self._calls.values()]
            out = encode({**self._piece("", "", calls), "done": False}) + b"\n"
        return out + encode({**self._piece("", "", []), **self._last()}) + b"\n"

    def fail(self, error: AntiphonError, body: Document) -> bytes:
        return encode(body) + b"\n"

    def _add_call(self, fragment: Document) -> None:
        call = self._calls.setdefault(fragment["index"], {"function": {"arguments": ""}})
        body = fragment.get("function") or {}
        if fragment.get("id"):
            call["id"] = fragment["id"]
        if body.get("name"):
            call["function"]["name"] = body["name"]
        call["function"]["arguments"] += body.get("arguments") or ""

    def _piece(self, words: str, thought: str, calls: list[Document]) -> Document:
        said: Document = {"model": self._model, "created_at": _time(self._now())}
        if self._is_prompt:
            said["response"] = words
            if thought:
                said["thinking"] = thought
            return {**said, "tool_calls": calls} if calls else said
        message: Document = {"role": "assistant", "content": words}
        if thought:
            message["thinking"] = thought
        if calls:
            message["tool_calls"] = calls
        return {**said, "message": message}

    def _last(self) -> Document:
        spent = int((self._now() - self._began) * 1e9)
        return {
            "done": True,
            "done_reason": self._finish if self._finish in _TOLD else "stop",
            "total_duration": spent,
            "load_duration": 0,
            "prompt_eval_count": _count(self._usage, "prompt_tokens"),
            "prompt_eval_duration": 0,
            "eval_count": _count(self._usage, "completion_tokens"),
            "eval_duration": spent,
            **({"finish_reason": self._finish} if self._finish == "content_filter" else {}),
            **self._beside,
        }


def _logprobs(choice: Document) -> Document:
    """Ollama's tokens have the fields of Chat Completions."""
    told = choice.get("logprobs")
    tokens = objects_in(told.get("content")) if isinstance(told, dict) else []
    return {"logprobs": tokens} if tokens else {}


def _write_call(call: Document) -> Document:
    body = call.get("function") or {}
    written = body.get("arguments")
    try:
        found = msgspec.json.decode(str(written or "{}"))
    except (ValueError, RecursionError):
        found = None
    arguments = found if isinstance(found, dict) else {"arguments": written}
    return {"id": call.get("id"), "function": {"name": body.get("name"), "arguments": arguments}}


def _count(usage: Document, key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def write_error(error: AntiphonError, type: str, request_id: str) -> Document:
    """Ollama's clients read `error` as a text."""
    details = {"code": error.code, "param": error.param, "request_id": request_id}
    return {"error": error.message, **{key: value for key, value in details.items() if value is not None}}
