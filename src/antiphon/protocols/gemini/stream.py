"""One streamed answer: each event is a whole response with new parts; it ends with a `finishReason`, not with [DONE].

An error may come as an event, or as bare JSON over several lines, alone or in a list.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from antiphon.chat.event import decode, scrub
from antiphon.chat.failure import malformed
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.gemini.annotations import filter_results
from antiphon.protocols.gemini.answer import (
    blocked_choice,
    candidates_of,
    envelope,
    extras,
    is_blocked,
    read_candidate,
    read_usage,
)
from antiphon.protocols.gemini.candidate import Candidate
from antiphon.protocols.gemini.failure import read_error
from antiphon.sse import Decoder, SseError

_MOST_BARE: Final = 256 * 1024
_OPENING: Final = (b"{", b"[")
_CLOSING: Final = (b"}", b"]")


class _GeminiPart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str
    thought: bool = False


class _Content(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    parts: list[_GeminiPart]
    role: str = "model"


class _Candidate(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: _Content
    index: int = 0
    safetyRatings: msgspec.Raw = msgspec.Raw()


class _TextEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Nearly every event of nearly every stream."""

    candidates: list[_Candidate]
    usageMetadata: msgspec.Raw = msgspec.Raw()
    modelVersion: str = ""
    responseId: str = ""
    createTime: str = ""


_decode_text: Final = msgspec.json.Decoder(_TextEvent).decode
_decode: Final = msgspec.json.Decoder().decode


def _decode_any(payload: bytes) -> Any:
    """An event whose characters may be cut."""
    try:
        return _decode(payload)
    except ValueError:
        return scrub(decode(bytes(payload)))


class _GeminiEvents(Decoder):
    """Server-sent events; lines of bare JSON between them are collected."""

    __slots__ = ("_size", "bare")

    def __init__(self) -> None:
        super().__init__()
        self.bare: list[bytes] = []
        self._size = 0

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if self.bare or line.lstrip().startswith(_OPENING):
            self.bare.append(line)
            self._size += len(line) + 1
            if self._size > _MOST_BARE:
                raise SseError(f"bare JSON is larger than {_MOST_BARE} bytes")
        else:
            super()._take(line, events)

    def bare_json(self) -> bytes:
        """What of it has come, its last line included."""
        last = b"".join(self._tail)
        if not self.bare and not last.lstrip().startswith(_OPENING):
            return b""
        return b"\n".join((*self.bare, last))


class GeminiStream:
    __slots__ = ("_blocked", "_choices", "_events", "_head", "_last_counts", "_model", "_ratings", "_usage", "pending")

    def __init__(self, model: str) -> None:
        self.pending: list[Document] = []
        self._model = model
        self._events = _GeminiEvents()
        self._choices: dict[int, Candidate] = {}
        self._head: Document | None = None  # id, object, created and model, once an event has told
        self._usage: Document | None = None
        self._last_counts: msgspec.Raw | None = None  # of a text event, unread
        self._blocked = False
        self._ratings: tuple[bytes, Any, Document] = (b"", None, {})  # the last that came, and what they say

    @property
    def is_whole(self) -> bool:
        choices = self._choices
        return self._blocked or (bool(choices) and all(choice.finished for choice in choices.values()))

    def add_text(self, text: str) -> None:
        choice = self._choices[0]
        choice.texts.append(text)
        choice.length += len(text)

    @property
    def is_over(self) -> bool:
        """Counts may follow the end."""
        return False

    def feed(self, data: bytes) -> list[Document]:
        chunks: list[Document] = []
        try:
            for payload in self._events.feed(data):
                try:
                    event = _decode_text(payload)
                except ValueError:
                    self._read(payload, chunks)
                else:
                    self._read_text(event, payload, chunks)
            if not self._events.clean or self._events.bare:
                self._read_bare(data)
        except UpstreamError:
            self.pending = chunks
            raise
        except (SseError, RecursionError):
            self.pending = chunks
            raise malformed() from None
        return chunks

    def _read_text(self, event: _TextEvent, payload: bytes, chunks: list[Document]) -> None:
        """An event with one piece of text, which is what usually comes; any other takes the whole way."""
        head = self._head
        if head is None or len(event.candidates) != 1:
            self._read(payload, chunks)
            return
        candidate = event.candidates[0]
        choice = self._choices.get(candidate.index)
        parts = candidate.content.parts
        if choice is None or choice.finished or len(parts) != 1:
            self._read(payload, chunks)
            return
        if event.usageMetadata:
            self._last_counts = event.usageMetadata
        part = parts[0]
        text = part.text
        if not text:
            return
        if part.thought:
            delta = {"reasoning_content": text}
        else:
            delta = {"content": text}
            choice.texts.append(text)
            choice.length += len(text)
        said: Document = {"index": candidate.index, "delta": delta, "finish_reason": None}
        if candidate.safetyRatings:
            said.update(self._rate(bytes(candidate.safetyRatings)))
        chunks.append({**head, "choices": [said]})

    def _rate(self, ratings: bytes) -> Document:
        """What ratings say: earlier models rate every piece, nearly always alike."""
        if ratings != self._ratings[0]:
            found = _decode(ratings)
            self._ratings = ratings, found, filter_results(found, None)
        _, found, results = self._ratings
        if not results:
            return {"safetyRatings": found}
        fresh = {key: {**finding} for key, finding in results.items()}  # later rooms edit it
        return {"content_filter_results": fresh, "safetyRatings": found}

    def _read(self, payload: bytes, chunks: list[Document]) -> None:
        """Any event."""
        event = _decode_any(payload)
        if not isinstance(event, dict) or event.get("error"):
            raise read_error(event)
        if self._head is None:
            self._head = envelope(event, self._model, "chat.completion.chunk")
        counted = "usageMetadata" in event
        if counted:
            self._count(event["usageMetadata"])
        was_whole = self.is_whole
        more: Document = extras(event)
        for index, candidate in candidates_of(event):
            if self._read_candidate(index, candidate, more, chunks):
                more = {}
        if not self._choices and is_blocked(event):
            self._blocked = True
            chunks.append(self._chunk({**blocked_choice(), "delta": {"role": "assistant", "content": ""}}, more))
            more = {}
        if more:
            chunks.append({**self._head, "choices": [], **more})
        if self.is_whole and (counted or not was_whole):
            self._tell_usage(chunks)

    def _count(self, metadata: object) -> None:
        """The last counts stand: earlier ones were lower, or higher."""
        self._last_counts = None
        self._usage = read_usage(metadata) or self._usage

    def _tell_usage(self, chunks: list[Document]) -> None:
        if self._last_counts is not None:
            self._count(_decode(self._last_counts))
        if self._usage is not None:
            chunks.append({**(self._head or {}), "choices": [], "usage": dict(self._usage)})

    def _read_candidate(self, index: int, candidate: Document, more: Document, chunks: list[Document]) -> bool:
        """True: a chunk was made of it."""
        choice = self._choices.get(index)
        is_first = choice is None
        if choice is None:
            choice = self._choices[index] = Candidate()
        elif choice.finished:
            self._read_late(candidate)
            return False
        delta, rest = read_candidate(candidate, choice)
        if is_first:
            delta = {"role": "assistant", "content": "", **delta}
        elif not delta and len(rest) == 1 and rest["finish_reason"] is None and not more:
            return False  # an empty text
        chunks.append(self._chunk({"index": index, "delta": delta, **rest}, more))
        return True

    def _read_late(self, candidate: Document) -> None:
        """What follows a finish reason would be lost."""
        said, _ = read_candidate({**candidate, "finishReason": None}, Candidate())
        if said:
            raise malformed()

    def _chunk(self, choice: Document, more: Document) -> Document:
        assert self._head is not None
        return {**self._head, "choices": [choice], **more}

    def _read_bare(self, data: bytes) -> None:
        """Raises the error that came as bare JSON, once it is whole."""
        if not data.rstrip().endswith(_CLOSING):
            return
        bare = self._events.bare_json()
        if not bare or len(bare) > _MOST_BARE:
            return
        try:
            document: Any = _decode(bare)
        except ValueError:
            return
        raise read_error(document) if _is_error(document) else malformed()


def _is_error(document: Any) -> bool:
    if isinstance(document, list):
        document = document[0] if document else None
    return isinstance(document, dict) and "error" in document
