"""A streamed answer as GenerateContentResponses: server-sent events (`alt=sse`), or one JSON array."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from antiphon.apis.api import COMMENT, EVENTS
from antiphon.apis.gemini.answer import write_end, write_logprobs, write_parts, write_usage
from antiphon.document import Document, objects_in
from antiphon.errors import AntiphonError

encode = msgspec.json.Encoder().encode
_TEXTS: Final = MappingProxyType({"content": "text", "reasoning_content": "text", "refusal": "text"})
ARRAY: Final = b"application/json; charset=UTF-8"


class _OpenCandidate:
    """What one candidate still has to say: calls come in pieces, and leave whole."""

    __slots__ = ("calls", "end")

    def __init__(self) -> None:
        self.calls: dict[int, Document] = {}
        self.end: Document = {"finish_reason": None}

    def add(self, fragment: Document) -> None:
        call = self.calls.setdefault(fragment["index"], {"function": {"arguments": ""}})
        body = fragment.get("function") or {}
        call.update((key, value) for key, value in fragment.items() if key not in ("index", "function"))
        if body.get("name"):
            call["function"]["name"] = body["name"]
        call["function"]["arguments"] += body.get("arguments") or ""


class GeminiApiStream:
    """Writes one streamed answer."""

    def __init__(self, *, is_array: bool) -> None:
        self.content_type = ARRAY if is_array else EVENTS
        self.silence = b"" if is_array else COMMENT
        self.text_keys: Mapping[str, str] = {} if is_array else _TEXTS
        self._is_array = is_array
        self._begun = False
        self._head: Document = {}
        self._candidates: dict[int, _OpenCandidate] = {}
        self._usage: Document = {}
        self._beside: Document = {}

    def take(self, chunk: Document) -> bytes:
        if not self._head:
            self._head = {"modelVersion": chunk["model"], "responseId": chunk["id"]}
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        for key in ("antiphon", "moderation", "prompt_filter_results", "promptFeedback"):
            if chunk.get(key) is not None:
                self._beside[key] = chunk[key]
        said = [candidate for choice in chunk["choices"] if (candidate := self._take_choice(choice))]
        return self._frame({"candidates": said, **self._head}) if said else b""

    def _take_choice(self, choice: Document) -> Document | None:
        candidate = self._candidates.setdefault(choice["index"], _OpenCandidate())
        delta = choice["delta"]
        if choice.get("finish_reason") is not None:
            candidate.end = choice
        elif choice.get("content_filter_results") is not None:
            candidate.end.setdefault("content_filter_results", choice["content_filter_results"])
        for fragment in delta.get("tool_calls") or ():
            candidate.add(fragment)
        parts = _write_delta(delta)
        if not parts:
            return None
        out: Document = {"content": {"role": "model", "parts": parts}, "index": choice["index"]}
        if choice.get("logprobs"):
            out["logprobsResult"] = write_logprobs(choice["logprobs"])
        return out

    def end(self) -> bytes:
        candidates = []
        for index, candidate in sorted(self._candidates.items()):
            parts = write_parts({"tool_calls": list(candidate.calls.values())}) or [{"text": ""}]
            content = {"role": "model", "parts": parts}
            candidates.append({"content": content, **write_end(candidate.end), "index": index})
        out = {"candidates": candidates, "usageMetadata": write_usage(self._usage), **self._head, **self._beside}
        return self._frame(out) + (b"]" if self._is_array else b"")

    def fail(self, error: AntiphonError, body: Document) -> bytes:
        return self._frame(body) + (b"]" if self._is_array else b"")

    def _frame(self, document: Document) -> bytes:
        if not self._is_array:
            return b"data: %b\r\n\r\n" % encode(document)
        before = b",\r\n" if self._begun else b"["
        self._begun = True
        return before + encode(document)


def _write_delta(delta: Document) -> list[Document]:
    """All but calls. A signature of a text stands on a part of its own, behind it."""
    parts: list[Document] = []
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    if isinstance(thought, str) and thought:
        parts.append({"text": thought, "thought": True})
    words = delta.get("content") or delta.get("refusal")
    if words:
        parts.append({"text": words})
    for block in objects_in(delta.get("thinking_blocks")):
        kind = block.get("of")
        if kind in ("text", "thought"):
            signed: Document = {"text": "", "thoughtSignature": block.get("signature")}
            parts.append({**signed, "thought": True} if kind == "thought" else signed)
        elif isinstance(block.get("part"), dict):
            parts.append(block["part"])
    if delta.get("images"):
        parts += write_parts({"images": delta["images"]})
    return parts
