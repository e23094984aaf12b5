"""A streamed Message as ChatCompletionChunks.

The role leaves with the first block, so that an upstream that fails at once can be left for another. The finish leaves
with `message_stop`: what ends before that was cut. Blocks that go back on the next turn leave whole, when they end.
Entries of lists have the `index` by which clients' accumulators tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from antiphon.chat.event import Lenient, decode, heal, settle_tail
from antiphon.chat.failure import malformed
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.anthropic.answer import (
    ending,
    finish_of,
    read_call_extras,
    read_citations,
    read_tier,
    read_usage,
    refusal_of,
)
from antiphon.protocols.anthropic.errors import read_error
from antiphon.protocols.parts import write_json
from antiphon.sse import Decoder, Named, SseError

Split = Callable[[bytes], list[bytes]]  # bytes -> the payloads of whole events

_OBJECT: Final = "chat.completion.chunk"
_ENDING: Final = frozenset({"stop_reason", "stop_sequence", "stop_details"})
_OURS: Final = frozenset({"id", "object", "created", "model", "choices", "usage"})
_OF_START: Final = frozenset({"type", "role", "content", *_OURS, *_ENDING})


class _AnthropicDelta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class _Event(msgspec.Struct, gc=False):
    """The usual event. Whatever else there is in it makes it unusual."""

    type: str
    index: int = -1
    delta: _AnthropicDelta | None = None


_read: Final = msgspec.json.Decoder(_Event).decode


class _AnthropicBlock:
    """A block under way."""

    __slots__ = ("citations", "index", "kind", "number", "offset", "pieces", "start")

    def __init__(self, index: int, start: Document, offset: int) -> None:
        self.index = index
        self.start = start
        self.kind = start.get("type")
        self.offset = offset  # characters of text before it
        self.number = -1  # of a call: among calls only
        self.pieces: list[str] = []
        self.citations: list[Any] = []


class AnthropicStream:
    """`split` tells events apart: plain server-sent events, unless the host frames them otherwise."""

    __slots__ = (
        "_annotations",
        "_block",
        "_calls",
        "_envelope",
        "_id",
        "_length",
        "_lenient",
        "_model",
        "_opened",
        "_out",
        "_said",
        "_split",
        "_top",
        "_usage",
        "is_whole",
        "pending",
    )

    def __init__(self, model: str, split: Split | None = None) -> None:
        self.is_whole = False
        self.pending: list[Document] = []
        self._split: Split = split or Decoder().feed
        self._model = model
        self._envelope: Document = {}
        self._id: object = None
        self._opened = False
        self._lenient = False  # a text was cut within a character
        self._block: _AnthropicBlock | None = None
        self._calls = 0
        self._annotations = 0
        self._length = 0  # characters of text so far
        self._said: Document = {}  # how it ends
        self._top: Document = {}  # what travels at the top level
        self._usage: Document = {}
        self._out: list[Document] = []

    def add_text(self, text: str) -> None:
        self._length += len(text)

    @property
    def is_over(self) -> bool:
        return self.is_whole

    def feed(self, data: bytes) -> list[Document]:
        out = self._out = []
        self.pending = out
        try:
            events = self._split(data)
        except SseError as error:
            raise UpstreamError(f"The upstream sent an event too large: {error}.", code="upstream_malformed") from None
        for payload in events:
            try:
                event = _read(payload)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._take_unusual(payload)
                continue
            # A text delta, nearly every event of a stream.
            delta, block = event.delta, self._block
            if delta is None or block is None or event.index != block.index or not self._take_delta(delta, block):
                self._take_unusual(payload)
        self.pending = []
        return out

    def _take_delta(self, delta: _AnthropicDelta, block: _AnthropicBlock) -> bool:
        """False: it is no usual delta of this block."""
        kind = delta.type
        if kind == "text_delta" and block.kind == "text":
            if delta.text:
                self._length += len(delta.text)
                self._emit({"content": delta.text})
        elif kind == "thinking_delta" and block.kind == "thinking":
            if delta.thinking:
                block.pieces.append(delta.thinking)
                self._emit({"reasoning_content": delta.thinking})
        elif kind == "input_json_delta":
            if delta.partial_json:
                block.pieces.append(delta.partial_json)
                if block.number >= 0:
                    self._emit(_fragment(block.number, delta.partial_json))
        else:
            return False
        return True

    def _take_unusual(self, payload: bytes) -> None:
        document = decode(bytes(payload))
        self._lenient = self._lenient or isinstance(document, Lenient)
        kind = document.get("type")
        if kind == "error" or (isinstance(payload, Named) and payload.name == b"error"):
            raise read_error(document)
        if self.is_whole:
            return
        if kind == "message_start":
            self._begin(document.get("message"))
        elif kind == "content_block_start":
            self._begin_block(document.get("index"), document.get("content_block"))
        elif kind == "content_block_delta":
            self._add(document.get("index"), document.get("delta"))
        elif kind == "content_block_stop":
            self._end_block()
        elif kind == "message_delta":
            self._note_end(document)
        elif kind == "message_stop":
            self._end()
        # `ping`, and what the vendor may add.

    # The message.

    def _begin(self, message: object) -> None:
        if not isinstance(message, dict):
            raise malformed()
        if self._envelope:
            if self._opened or message.get("id") != self._id:
                # A proxy on the way asked again: two answers must not be glued together.
                raise UpstreamError("The upstream began its answer anew.", code="upstream_malformed")
            return
        self._id = message.get("id")
        model = message.get("model") or self._model
        self._envelope = {"id": self._id, "object": _OBJECT, "created": 0, "model": model}  # 0: nobody says when
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
            if tier := read_tier(usage):
                self._envelope["service_tier"] = tier
        self._top = {key: value for key, value in message.items() if key not in _OF_START and value is not None}

    def _open(self) -> None:
        if not self._envelope:
            raise malformed()
        self._opened = True
        self._emit({"role": "assistant", "content": ""})

    def _note_end(self, document: Document) -> None:
        """There may be several; the counts of the last are final."""
        delta, usage = document.get("delta"), document.get("usage")
        if isinstance(delta, dict):
            for key, value in delta.items():
                if value is not None and key not in _OURS:
                    (self._said if key in _ENDING else self._top)[key] = value
        if isinstance(usage, dict):
            self._usage = {**self._usage, **{key: value for key, value in usage.items() if value is not None}}
        for key, value in document.items():
            if key not in ("type", "delta") and key not in _OURS and value is not None:
                self._top[key] = value

    def _end(self) -> None:
        if not self._opened:
            self._open()
        if self._block is not None:
            self._end_block()
        if "stop_reason" not in self._said:
            raise malformed()
        refusal = refusal_of(self._said)
        if refusal is not None:
            self._emit({"refusal": refusal})
        finish = finish_of(self._said["stop_reason"])
        choice = {"index": 0, "delta": {}, "finish_reason": finish, **ending(self._said)}
        self._send({**self._envelope, **self._top, "choices": [choice]})
        if self._usage:
            self._send({**self._envelope, "choices": [], "usage": read_usage(self._usage)})
        self.is_whole = True

    # Blocks.

    def _begin_block(self, index: object, start: object) -> None:
        if not isinstance(start, dict) or type(index) is not int:
            raise malformed()
        if not self._opened:
            self._open()
        if self._block is not None:
            self._end_block()
        block = self._block = _AnthropicBlock(index, start, self._length)
        if block.kind == "tool_use":
            self._begin_call(block)
        elif block.kind in ("text", "thinking"):
            self._add_first(block)

    def _begin_call(self, block: _AnthropicBlock) -> None:
        name = block.start.get("name")
        if not isinstance(name, str):
            raise malformed()
        block.number = self._calls
        self._calls += 1
        call = {"index": block.number, "id": block.start.get("id"), "type": "function"}
        function = {"name": name, "arguments": ""}
        self._emit({"tool_calls": [{**call, "function": function, **read_call_extras(block.start)}]})

    def _add_first(self, block: _AnthropicBlock) -> None:
        """Some servers put the first words into the start."""
        words = block.start.get(str(block.kind))
        if isinstance(words, str) and words:
            self._add(block.index, {"type": f"{block.kind}_delta", str(block.kind): words})
        citations = block.start.get("citations")
        if isinstance(citations, list):
            block.citations += citations

    def _add(self, index: object, delta: object) -> None:
        """Any delta; those that the fast path could not read come here too."""
        block = self._block
        if not isinstance(delta, dict) or block is None or index != block.index:
            raise malformed()
        kind = delta.get("type")
        if kind in ("text_delta", "thinking_delta", "input_json_delta"):
            words = delta.get("partial_json" if kind == "input_json_delta" else str(block.kind), "")
            if not isinstance(words, str):
                raise malformed()
            if self._take_delta(_AnthropicDelta(str(kind), words, words, words), block):
                return
        if kind == "signature_delta":
            block.start["signature"] = f"{block.start.get('signature') or ''}{delta.get('signature') or ''}"
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        else:
            _grow(block.start, delta)

    def _end_block(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        if block.kind == "text":
            self._cite(block)
        elif block.kind == "tool_use":
            if not block.pieces:
                arguments = write_json(block.start.get("input") or {})
                self._emit(_fragment(block.number, arguments))
        elif block.kind == "thinking":
            if signature := block.start.get("signature"):
                kept = {"type": "thinking", "thinking": self._joined(block), "signature": signature}
                self._keep("thinking_blocks", block, kept)
        elif block.kind == "redacted_thinking":
            self._keep("thinking_blocks", block, block.start)
        else:
            self._keep("content_parts", block, {**block.start, **self._input(block)})

    def _cite(self, block: _AnthropicBlock) -> None:
        found = read_citations(block.citations, block.offset, self._length)
        if found:
            numbered = [{"index": self._annotations + place, **note} for place, note in enumerate(found)]
            self._annotations += len(found)
            self._emit({"annotations": numbered})

    def _keep(self, name: str, block: _AnthropicBlock, kept: Document) -> None:
        offset = {"text_offset": block.offset} if block.offset else {}
        self._emit({name: [{"index": block.index, **offset, **kept}]})

    def _input(self, block: _AnthropicBlock) -> Document:
        """What a tool of the vendor's own was asked."""
        if not block.pieces:
            return {}
        words = self._joined(block)
        try:
            return {"input": msgspec.json.decode(words)}
        except (msgspec.MsgspecError, RecursionError):
            return {"input": words}

    def _joined(self, block: _AnthropicBlock) -> str:
        words = "".join(block.pieces)
        if not self._lenient:
            return words
        words, tail = heal(words)
        return words + settle_tail(tail)

    # Chunks.

    def _emit(self, delta: Document) -> None:
        self._send({**self._envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    def _send(self, chunk: Document) -> None:
        self._out.append(Lenient(chunk) if self._lenient else chunk)


def _fragment(number: int, arguments: str) -> Document:
    return {"tool_calls": [{"index": number, "function": {"arguments": arguments}}]}


def _grow(block: Document, delta: Document) -> None:
    """A delta of a kind that no table knows adds to the keys of its block."""
    for key, value in delta.items():
        if key != "type":
            said = block.get(key)
            block[key] = said + value if isinstance(said, str) and isinstance(value, str) else value
