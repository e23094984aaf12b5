"""A streamed answer of Cohere's -> ChatCompletionChunks. It ends with `message-end`; nothing stands for `[DONE]`."""

from __future__ import annotations

from typing import Any, Final

from antiphon.chat.event import Lenient, decode, scrub
from antiphon.chat.failure import is_failure, malformed, read_failure
from antiphon.document import Document
from antiphon.protocols.cohere.answers import annotate, read_end, read_logprobs, read_usage
from antiphon.sse import Decoder, SseError

OBJECT: Final = "chat.completion.chunk"
NOTHING: Final = "null"  # said for the arguments of a call that has none
MOST_BLOCKS: Final = 10_000


class CohereStream:
    def __init__(self, model: str) -> None:
        self.is_whole = False
        self.pending: list[Document] = []
        self._model = model
        self._id: str | None = None
        self._opened = False
        self._decoder = Decoder()
        self._length = 0  # characters of content so far
        self._offsets: dict[int, int] = {}  # a part's index -> characters of content before it
        self._calls: dict[int, int] = {}  # Cohere's index of a call -> ours
        self._arguments: dict[int, str | None] = {}  # what is held back of a call's arguments; None: some have left
        self._annotations: list[Document] = []

    def add_text(self, text: str) -> None:
        self._length += len(text)

    @property
    def is_over(self) -> bool:
        return self.is_whole

    def feed(self, data: bytes) -> list[Document]:
        try:
            payloads = self._decoder.feed(data)
        except SseError:
            raise malformed() from None
        out: list[Document] = []
        self.pending = out
        for payload in payloads:
            event = decode(payload)
            if isinstance(event, Lenient):
                event = dict(scrub(event))
            kind = event.get("type")
            take = _EVENTS.get(kind) if isinstance(kind, str) else None
            if take is not None:
                take(self, event, out)
            elif "type" not in event and (is_failure(event) or isinstance(event.get("message"), str)):
                raise read_failure(event)
        self.pending = []
        return out

    def _chunk(self, delta: Document, logprobs: Document | None = None, **extras: Any) -> Document:
        choice: Document = {"index": 0, "delta": delta, "finish_reason": None, **extras}
        if logprobs is not None:
            choice["logprobs"] = logprobs
        named = {"id": self._id} if self._id is not None else {}
        return {**named, "object": OBJECT, "model": self._model, "choices": [choice]}

    def _start(self, event: Document, out: list[Document]) -> None:
        """message-start"""
        if self._opened:
            if self._offsets or self._calls:
                raise malformed()  # another answer begins within this one
            return
        self._opened = True
        self._id = event["id"] if isinstance(event.get("id"), str) else None
        out.append(self._chunk({"role": "assistant", "content": ""}))

    def _start_part(self, event: Document, out: list[Document]) -> None:
        if len(self._offsets) >= MOST_BLOCKS:
            raise malformed()
        self._offsets[_index(event)] = self._length
        self._say(event, out)

    def _say(self, event: Document, out: list[Document]) -> None:
        """content-start and content-delta: text, or thinking"""
        content = _message(event).get("content")
        if not isinstance(content, dict):
            return
        text, thought = content.get("text"), content.get("thinking")
        if isinstance(text, str) and text:
            self._length += len(text)
            logprobs = event.get("logprobs")
            out.append(self._chunk({"content": text}, read_logprobs(logprobs) if logprobs else None))
        if isinstance(thought, str) and thought:
            out.append(self._chunk({"reasoning_content": thought}))

    def _plan(self, event: Document, out: list[Document]) -> None:
        plan = _message(event).get("tool_plan")
        if isinstance(plan, str) and plan:
            out.append(self._chunk({"reasoning_content": plan}))

    def _start_call(self, event: Document, out: list[Document]) -> None:
        call = _call(event)
        function = call.get("function")
        if not isinstance(function, dict) or len(self._calls) >= MOST_BLOCKS:
            raise malformed()
        number = self._calls[_index(event)] = len(self._arguments)
        self._arguments[number] = ""
        told = {"name": function.get("name"), "arguments": ""}
        out.append(
            self._chunk({"tool_calls": [{"index": number, "id": call.get("id"), "type": "function", "function": told}]})
        )
        self._add_arguments(number, function.get("arguments"), out)

    def _go_on(self, event: Document, out: list[Document]) -> None:
        """tool-call-delta"""
        number = self._calls.get(_index(event))
        if number is None:
            raise malformed()
        function = _call(event).get("function")
        if isinstance(function, dict):
            self._add_arguments(number, function.get("arguments"), out)

    def _add_arguments(self, number: int, piece: object, out: list[Document]) -> None:
        if not isinstance(piece, str) or not piece:
            return
        held = self._arguments[number]
        if held is not None:
            piece = held + piece
            if NOTHING.startswith(piece):
                self._arguments[number] = piece
                return
            self._arguments[number] = None
        out.append(self._fragment(number, piece))

    def _end_call(self, event: Document, out: list[Document]) -> None:
        if (number := self._calls.get(_index(event))) is not None:
            self._close(number, out)

    def _close(self, number: int, out: list[Document]) -> None:
        held = self._arguments[number]
        if held is not None:
            self._arguments[number] = None
            out.append(self._fragment(number, "{}" if held in ("", NOTHING) else held))

    def _fragment(self, number: int, piece: str) -> Document:
        return self._chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})

    def _cite(self, event: Document, out: list[Document]) -> None:
        """citation-start. They leave together, at the end."""
        found = _message(event).get("citations")
        for citation in found if isinstance(found, list) else [found]:
            if isinstance(citation, dict):
                self._annotations += annotate(citation, self._offsets)
        if len(self._annotations) > MOST_BLOCKS:
            raise malformed()

    def _end(self, event: Document, out: list[Document]) -> None:
        """message-end"""
        if self.is_whole:
            return
        delta = event.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        end = read_end(delta.get("finish_reason"), delta.get("error"))
        for number in self._arguments:
            self._close(number, out)
        if self._annotations:
            out.append(self._chunk({"annotations": self._annotations}))
        out.append(self._chunk({}, **end))
        self.is_whole = True
        if (usage := read_usage(delta.get("usage"))) is not None:
            out.append({**self._chunk({}), "choices": [], "usage": usage})


# Events that no row knows, `debug` among them, are passed over.
_EVENTS: Final = {
    "message-start": CohereStream._start,
    "content-start": CohereStream._start_part,
    "content-delta": CohereStream._say,
    "tool-plan-delta": CohereStream._plan,
    "tool-call-start": CohereStream._start_call,
    "tool-call-delta": CohereStream._go_on,
    "tool-call-end": CohereStream._end_call,
    "citation-start": CohereStream._cite,
    "message-end": CohereStream._end,
}


def _message(event: Document) -> Document:
    delta = event.get("delta")
    message = delta.get("message") if isinstance(delta, dict) else None
    return message if isinstance(message, dict) else {}


def _call(event: Document) -> Document:
    """One call; in a list of one with older versions."""
    call = _message(event).get("tool_calls")
    if isinstance(call, list):
        call = call[0] if call else None
    return call if isinstance(call, dict) else {}


def _index(event: Document) -> int:
    index = event.get("index", 0)
    if type(index) is not int:
        raise malformed()
    return index
