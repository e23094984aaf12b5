"""A streamed answer as Anthropic's events: chat chunks in, events out. One block is open at a time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from antiphon.apis.api import EVENTS
from antiphon.apis.messages.answer import bare, call_extras, write_citation
from antiphon.apis.messages.calls import CallLine, CallPart
from antiphon.apis.messages.ending import message_id, write_end, write_usage
from antiphon.document import Document, objects_in
from antiphon.errors import AntiphonError

encode = msgspec.json.Encoder().encode

PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'
_NO_USAGE: Final = {"input_tokens": 0, "output_tokens": 0}
_BEGUN_BY_VENDOR: Final = frozenset({"server_tool_use", "mcp_tool_use"})  # blocks with an input, not for the client
_NOT_TOLD: Final = frozenset({"thought_signature", "gemini_part"})
_NO_WORDS: Final = frozenset({"role", "tool_calls"})  # of a delta
_TOP: Final = ("container", "context_management")  # of Anthropic's message_delta


def event(document: Document) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (document["type"].encode(), encode(document))


class MessageStream:
    """Writes one streamed answer."""

    content_type = EVENTS
    silence = PING
    text_keys: Mapping[str, str] = MappingProxyType({"content": "text", "reasoning_content": "thinking"})

    def __init__(self, stops: object) -> None:
        """`stops`: the request's stop sequences."""
        self._stops = stops
        self._begun = False
        self._kind = ""  # of the open block
        self._index = -1  # of the newest block
        self._calls = CallLine()
        self._behind: list[Document] = []  # deltas that came between the pieces of a call
        self._refusal: list[str] = []
        self._end: Document = {"finish_reason": None}  # the choice with the finish reason
        self._usage: Document = {}
        self._tier: object = None
        self._beside: Document = {}  # what stands in the last event beside Anthropic's own
        self._out: list[bytes] = []

    def take(self, chunk: Document) -> bytes:
        if not self._begun:
            self._begin(chunk)
        for choice in chunk["choices"]:
            if choice["index"] == 0:
                self._take_choice(choice)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        for key in ("antiphon", "moderation", *_TOP):
            if chunk.get(key) is not None:
                self._beside[key] = chunk[key]
        out, self._out = self._out, []
        return b"".join(out)

    def end(self) -> bytes:
        self._close()
        if self._end.get("finish_reason") != "content_filter":
            self._say_rest()
        refusal = "".join(self._refusal)
        if refusal and self._index < 0 and self._end.get("finish_reason") != "content_filter":
            self._say("text", refusal)
            self._close()
        delta = write_end(self._end, called=self._calls.has_begun, refusal=refusal, stops=self._stops)
        usage = write_usage(self._usage, self._tier)
        self._put({"type": "message_delta", "delta": delta, "usage": usage, **self._beside})
        self._put({"type": "message_stop"})
        out, self._out = self._out, []
        return b"".join(out)

    def fail(self, error: AntiphonError, body: Document) -> bytes:
        return event(body)

    # The message

    def _begin(self, chunk: Document) -> None:
        self._begun = True
        self._tier = chunk.get("service_tier")
        message = {
            "id": message_id(chunk["id"]),
            "type": "message",
            "role": "assistant",
            "model": chunk["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": dict(_NO_USAGE),
        }
        if chunk.get("prompt_filter_results") is not None:
            message["prompt_filter_results"] = chunk["prompt_filter_results"]
        self._put({"type": "message_start", "message": message})

    def _take_choice(self, choice: Document) -> None:
        delta = choice["delta"]
        text = delta.get("content")
        if text and len(delta) == 1 and self._kind != "tool_use":  # nearly every chunk
            self._say("text", text)
        elif delta:
            self._take_delta(delta)
        if choice.get("content_filter_results") is not None:
            self._beside["content_filter_results"] = choice["content_filter_results"]
        if choice.get("finish_reason") is not None:
            self._end = choice

    def _take_delta(self, delta: Document) -> None:
        """Pieces of several calls may come in turns. What begins before a call is whole waits for its end."""
        words = {key: value for key, value in delta.items() if key not in _NO_WORDS and value}
        if words and self._kind == "tool_use" and not self._calls.is_whole:
            self._behind.append(words)
        elif words:
            self._say_behind()
            self._take_words(words)
        for piece in delta.get("tool_calls") or ():
            self._say_calls(self._calls.take(piece))

    def _take_words(self, delta: Document) -> None:
        """All but calls."""
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            self._say("thinking", thought)
        for block in objects_in(delta.get("thinking_blocks")):
            self._take_thinking(block)
        if delta.get("content"):
            self._say("text", delta["content"])
        if isinstance(delta.get("refusal"), str):
            self._refusal.append(delta["refusal"])
        for part in objects_in(delta.get("content_parts")):
            self._take_part(part)
        self._cite(delta.get("annotations"))

    # Blocks

    def _say(self, kind: str, words: str) -> None:
        """Text or thinking."""
        if self._kind != kind:
            start: Document = {"type": kind, kind: ""}
            if kind == "thinking":
                start["signature"] = ""
            self._open(kind, start)
        self._add({"type": f"{kind}_delta", kind: words})

    def _take_thinking(self, block: Document) -> None:
        """A whole block of thinking comes at its end: its words may have been told already."""
        kind = block.get("type")
        if kind == "thinking":
            if self._kind != "thinking":
                self._open("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                if block.get("thinking"):
                    self._add({"type": "thinking_delta", "thinking": block["thinking"]})
            self._add({"type": "signature_delta", "signature": block.get("signature") or ""})
            self._close()
        elif kind not in _NOT_TOLD:
            self._take_part(block)

    def _take_part(self, part: Document) -> None:
        """A block of the vendor's own, whole."""
        block = bare(part)
        if not isinstance(block.get("type"), str):
            return
        given = block.get("input")
        if block["type"] in _BEGUN_BY_VENDOR and given:
            self._open("part", {**block, "input": {}})
            self._add({"type": "input_json_delta", "partial_json": encode(given).decode()})
        else:
            self._open("part", block)
        self._close()

    def _cite(self, annotations: object) -> None:
        """Citations belong to the text before them, which ends there."""
        found = [write_citation(note) for note in annotations] if isinstance(annotations, list) else []
        told = [citation for citation in found if citation is not None]
        if told and self._kind == "text":
            for citation in told:
                self._add({"type": "citations_delta", "citation": citation})
            self._close()

    def _say_calls(self, parts: list[CallPart]) -> None:
        for call, words in parts:
            if call is not None:
                body = call.get("function") or call.get("custom") or {}
                start: Document = {"type": "tool_use", "id": call.get("id"), "name": body.get("name"), "input": {}}
                self._open("tool_use", {**start, **call_extras(call)})
            if words:
                self._add({"type": "input_json_delta", "partial_json": words})

    def _say_rest(self) -> None:
        """What has waited for the end of a call."""
        self._say_calls(self._calls.rest())
        self._say_behind()
        self._close()

    def _say_behind(self) -> None:
        behind, self._behind = self._behind, []
        for delta in behind:
            self._take_words(delta)

    def _open(self, kind: str, start: Document) -> None:
        self._close()
        if kind != "tool_use":
            self._calls.close()
        self._kind = kind
        self._index += 1
        self._put({"type": "content_block_start", "index": self._index, "content_block": start})

    def _add(self, delta: Document) -> None:
        self._put({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _close(self) -> None:
        if self._kind:
            self._kind = ""
            self._put({"type": "content_block_stop", "index": self._index})

    def _put(self, document: Document) -> None:
        self._out.append(event(document))
