"""A streamed answer of ConverseStream -> ChatCompletionChunks.

Text and thinking begin with their first delta; only calls, and blocks that Chat Completions has no place for, have a
start of their own. A thinking block leaves whole at its end, in `thinking_blocks`, for only its signature makes it one.
Lists that leave in several deltas have an `index`, by which clients put them together.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from antiphon.chat.event import Lenient, decode, scrub
from antiphon.chat.failure import malformed
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.bedrock.answers import (
    SERVER_TOOL,
    annotate,
    part_of,
    placed,
    read_beside,
    read_end,
    read_findings,
    read_usage,
    redacted,
    thought_of,
)
from antiphon.protocols.bedrock.failure import read_exception
from antiphon.protocols.event_stream import EventMessage, MessageReader, read_headers, read_kind
from antiphon.protocols.parts import read_arguments

OBJECT: Final = "chat.completion.chunk"
MOST_HELD: Final = 16 * 1024 * 1024  # characters of thinking and other blocks that wait for their end
OF_CITATION: Final = 1024  # what a citation counts there
MOST_BLOCKS: Final = 10_000


class _Use(msgspec.Struct, gc=False):
    input: str = ""


class _Thought(msgspec.Struct, gc=False):
    text: str | None = None
    signature: str | None = None
    redactedContent: str | None = None


class _BedrockDelta(msgspec.Struct):
    text: str | None = None
    toolUse: _Use | None = None
    reasoningContent: _Thought | None = None
    citation: Document | None = None
    toolResult: list[Any] | None = None
    image: Document | None = None


class _DeltaEvent(msgspec.Struct):
    delta: _BedrockDelta
    contentBlockIndex: int = 0


_read_delta: Final = msgspec.json.Decoder(_DeltaEvent).decode


class _BedrockBlock:
    """A block that is not yet whole."""

    __slots__ = ("call", "citations", "data", "index", "other", "signature", "start", "texts", "wrote")

    def __init__(self, index: int, start: int) -> None:
        self.index = index
        self.start = start  # characters of content before it
        self.call: int | None = None  # which of the answer's calls it is
        self.wrote = False  # arguments of the call
        self.texts: list[str] = []  # thinking, or the input of a tool that Bedrock itself calls
        self.signature = ""
        self.data = ""  # redacted thinking
        self.other: Document | None = None  # a block of another kind, as it began
        self.citations: list[Document] = []


class ConverseStream:
    def __init__(self, model: str) -> None:
        self.is_whole = False
        self.pending: list[Document] = []
        self._model = model
        self._reader = MessageReader()
        self._opened = False
        self._blocks: dict[int, _BedrockBlock] = {}
        self._counts = {"blocks": 0, "calls": 0}
        self._held = 0
        self._length = 0  # characters of content so far
        self._annotations: list[Document] = []
        self._metadata: Document | None = None  # it came before the end

    def add_text(self, text: str) -> None:
        self._length += len(text)

    @property
    def is_over(self) -> bool:
        """Counts may follow the end."""
        return False

    def feed(self, data: bytes) -> list[Document]:
        messages: list[EventMessage] = []
        fault: UpstreamError | None = None
        try:
            self._reader.feed(data, messages)
        except UpstreamError as error:
            fault = error
        out: list[Document] = []
        self.pending = out
        for headers, payload in messages:
            kind, name = read_kind(headers)
            if name == "contentBlockDelta" and kind == "event":
                self._take_delta(payload, out)
            elif kind == "event":
                if (take := _EVENTS.get(name)) is not None:
                    take(self, _document(payload), out)
            else:
                raise read_exception(name, payload, read_headers(headers).get(":error-message"))
        if fault is not None:
            raise fault
        self.pending = []
        return out

    def _chunk(self, delta: Document, **extras: Any) -> Document:
        choice = {"index": 0, "delta": delta, "finish_reason": None, **extras}
        return {"object": OBJECT, "model": self._model, "choices": [choice]}

    def _take_delta(self, payload: bytes, out: list[Document]) -> None:
        try:
            event = _read_delta(payload)
        except ValueError:
            event = _read_again(payload)
        delta = event.delta
        text = delta.text
        if text is None:
            self._take_other(event.contentBlockIndex, delta, out)
        elif text:
            if event.contentBlockIndex not in self._blocks:
                self._begin(event.contentBlockIndex)
            self._length += len(text)
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            out.append({"object": OBJECT, "model": self._model, "choices": [choice]})

    def _take_other(self, index: int, delta: _BedrockDelta, out: list[Document]) -> None:
        """A delta that is no text."""
        block = self._blocks.get(index) or self._begin(index)
        if delta.toolUse is not None:
            self._take_input(block, delta.toolUse.input, out)
        elif delta.reasoningContent is not None:
            self._take_thought(block, delta.reasoningContent, out)
        elif delta.citation is not None:
            self._hold(OF_CITATION)
            block.citations.append(delta.citation)
        elif delta.toolResult is not None:
            self._hold(sum(len(str(item)) for item in delta.toolResult))
            _other(block, "toolResult").setdefault("content", []).extend(delta.toolResult)
        elif delta.image is not None:
            self._hold(len(str(delta.image)))
            _other(block, "image").update(delta.image)

    def _take_input(self, block: _BedrockBlock, piece: str, out: list[Document]) -> None:
        if block.call is not None:
            if piece:
                block.wrote = True
                out.append(self._arguments(block.call, piece))
        elif block.other is not None:
            self._hold(len(piece))
            block.texts.append(piece)
        else:
            raise malformed()  # input for a call that nobody began

    def _take_thought(self, block: _BedrockBlock, thought: _Thought, out: list[Document]) -> None:
        if thought.text:
            self._hold(len(thought.text))
            block.texts.append(thought.text)
            out.append(self._chunk({"reasoning_content": thought.text}))
        if thought.signature:
            self._hold(len(thought.signature))
            block.signature += thought.signature
        if thought.redactedContent:
            self._hold(len(thought.redactedContent))
            block.data += thought.redactedContent

    def _start(self, event: Document, out: list[Document]) -> None:
        """messageStart"""
        if self._opened:
            if self._counts["blocks"]:
                raise malformed()  # another answer begins within this one
            return
        self._opened = True
        out.append(self._chunk({"role": "assistant", "content": ""}))

    def _start_block(self, event: Document, out: list[Document]) -> None:
        self._stop_block(event, out)  # one of this index that never stopped
        block = self._begin(_index_of(event))
        start = event.get("start")
        start = start if isinstance(start, dict) else {}
        use = start.get("toolUse")
        if isinstance(use, dict) and use.get("type") != SERVER_TOOL:
            block.call = self._number("calls")
            function = {"name": use.get("name"), "arguments": ""}
            call = {"index": block.call, "id": use.get("toolUseId"), "type": "function", "function": function}
            out.append(self._chunk({"tool_calls": [call]}))
        elif kind := next((name for name in start if isinstance(start[name], dict)), None):
            block.other = {kind: dict(start[kind])}

    def _stop_block(self, event: Document, out: list[Document]) -> None:
        index = _index_of(event)
        if (block := self._blocks.pop(index, None)) is not None:
            self._end(block, out)

    def _end(self, block: _BedrockBlock, out: list[Document]) -> None:
        if block.call is not None and not block.wrote:
            out.append(self._arguments(block.call, "{}"))
        if block.other is not None:
            part = placed(block.index, block.start, part_of(_whole(block)))
            out.append(self._chunk({"content_parts": [part]}))
            return
        if (thought := _thought(block)) is not None:
            out.append(self._chunk({"thinking_blocks": [placed(block.index, block.start, thought)]}))
        for citation in block.citations:
            if (note := annotate(citation, block.start, self._length)) is not None:
                self._annotations.append(note)

    def _stop(self, event: Document, out: list[Document]) -> None:
        """messageStop"""
        if self.is_whole:
            return
        for index in list(self._blocks):
            self._end(self._blocks.pop(index), out)
        end = read_end(event.get("stopReason"))
        if self._annotations:
            out.append(self._chunk({"annotations": self._annotations}))
        last = self._chunk({}, **end)
        if event.get("additionalModelResponseFields"):
            last["additionalModelResponseFields"] = event["additionalModelResponseFields"]
        out.append(last)
        self.is_whole = True
        if self._metadata is not None:
            self._tell(self._metadata, out)

    def _tell(self, event: Document, out: list[Document]) -> None:
        """metadata: usually after the end; before it, it waits."""
        if not self.is_whole:
            self._metadata = event
            return
        prompt, said = read_findings(event)
        if prompt is not None or said:
            found = self._chunk({}, content_filter_results=said) if said else self._chunk({})
            if prompt is not None:
                found["prompt_filter_results"] = prompt
            out.append(found)
        closing: Document = {"object": OBJECT, "model": self._model, "choices": [], **read_beside(event)}
        if (usage := read_usage(event.get("usage"))) is not None:
            closing["usage"] = usage
        out.append(closing)

    def _arguments(self, call: int, piece: str) -> Document:
        return self._chunk({"tool_calls": [{"index": call, "function": {"arguments": piece}}]})

    def _begin(self, index: int) -> _BedrockBlock:
        if self._number("blocks") >= MOST_BLOCKS:
            raise malformed()
        block = self._blocks[index] = _BedrockBlock(index, self._length)
        return block

    def _number(self, what: str) -> int:
        number = self._counts[what]
        self._counts[what] = number + 1
        return number

    def _hold(self, characters: int) -> None:
        self._held += characters
        if self._held > MOST_HELD:
            raise malformed()


# Events that no row knows are passed over.
_EVENTS: Final = {
    "messageStart": ConverseStream._start,
    "contentBlockStart": ConverseStream._start_block,
    "contentBlockStop": ConverseStream._stop_block,
    "messageStop": ConverseStream._stop,
    "metadata": ConverseStream._tell,
}


def _document(payload: bytes) -> Document:
    document = decode(payload)
    document.pop("p", None)  # padding of a random length
    return dict(scrub(document)) if isinstance(document, Lenient) else document


def _read_again(payload: bytes) -> _DeltaEvent:
    """What the quick reader refuses: text cut inside a character, or members of other types."""
    try:
        return msgspec.convert(_document(payload), _DeltaEvent)
    except msgspec.ValidationError:
        raise malformed() from None


def _index_of(event: Document) -> int:
    index = event.get("contentBlockIndex", 0)
    if type(index) is not int:
        raise malformed()
    return index


def _other(block: _BedrockBlock, kind: str) -> Document:
    """The inside of a block of another kind."""
    if block.other is None:
        block.other = {kind: {}}
    inside: Document = block.other.setdefault(kind, {})
    return inside


def _whole(block: _BedrockBlock) -> Document:
    other = block.other or {}
    use = other.get("toolUse")
    if isinstance(use, dict):
        use["input"] = read_arguments("".join(block.texts)) or {}
    return other


def _thought(block: _BedrockBlock) -> Document | None:
    if block.data:
        return redacted(block.data)
    return thought_of("".join(block.texts), block.signature) if block.signature else None
