"""The client for upstreams that speak a protocol of their own: requests are said in it, answers are read from it.

Whatever the protocol, the flow receives chunks and answers in the OpenAI shape. What is the same for all protocols
stands here: ids for calls that came without one, the memory of signed blocks, cut streams, `retry-after`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from antiphon.chat.event import Lenient, decode, scrub, truncated
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.flow.ports import Change, Prepared, Receiver
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import ForeignProtocol, StreamDecoder
from antiphon.upstreams.client import ANSWERED, OK, Access, Destination, HttpUpstream, UpstreamAnswer, read_retry_after
from antiphon.upstreams.foreign_text import (
    OurEvent,
    VendorEvent,
    encode,
    our_event,
    plain_text,
    read_pieces,
    vendor_event,
)
from antiphon.upstreams.memory import CallMemory
from antiphon.upstreams.prepare import drop

BUSY: Final = frozenset({429, 503})  # outward; Anthropic's own 529 is a 503 there
STREAMS: Final = (b"text/event-stream", b"application/vnd.amazon.eventstream")
DONE: Final = [b"[DONE]"]
TRIES: Final = 16
MOST_UNREAD: Final = 1024


@dataclass(frozen=True, slots=True)
class Speech:
    """What is spoken with an upstream, and what that needs."""

    protocol: ForeignProtocol
    facts: Callable[[str], ModelFacts]  # of a model by its name
    memory: CallMemory
    new_call_id: Callable[[], str]  # for a call that comes without one


class ForeignUpstream(HttpUpstream):
    """An upstream of the catalog that speaks a foreign protocol."""

    def __init__(self, access: Access, speech: Speech) -> None:
        super().__init__(access)
        self.lacks_n = True
        self.plain = None
        self._speech = speech

    def prepare(self, document: Document, model: str, *, strict: bool, key: str | None = None) -> Prepared:
        speech = self._speech
        changes: list[Change] = []
        if document["model"] != model:
            changes.append(Change("model", "rewritten", f"the route's target asks for '{model}'"))
        asked = dict(document)
        drop(asked, self._lacks, strict, changes)
        encoded = speech.protocol.encode(asked, model, speech.facts(model), speech.memory.of(key), strict=strict)
        lines = "".join(f"{name}: {value}\r\n" for name, value in encoded.headers)
        address = Destination(self._path + encoded.path.encode(), lines.encode(), model, key)
        return Prepared(encoded.body, (*changes, *encoded.changes), address)

    def _answer(self, address: Destination, stream: bool, receiver: Receiver, source: int) -> UpstreamAnswer:
        return ForeignAnswer(self, self._speech, address, stream, receiver, source)


class ForeignAnswer(UpstreamAnswer):
    """One call's answer as it arrives: bytes of a foreign protocol in, documents in the OpenAI shape out."""

    __slots__ = (
        "_address",
        "_blocks",
        "_calls",
        "_event",
        "_head",
        "_is_clean",
        "_ours",
        "_reader",
        "_speech",
        "_tries",
        "_unread",
    )

    def __init__(
        self,
        upstream: ForeignUpstream,
        speech: Speech,
        address: Destination,
        stream: bool,
        receiver: Receiver,
        source: int,
    ) -> None:
        super().__init__(upstream.name, stream, receiver, source, upstream._secrets, upstream._log)
        self._speech = speech
        self._address = address
        self._reader: StreamDecoder | None = None
        self._head: dict[bytes, bytes] = {}
        self._calls: list[str] = []  # ids
        self._blocks: list[Document] = []
        self._is_clean = True  # the last read ended with a whole event
        self._ours: OurEvent | None = None  # what a text delta looks like in the OpenAI protocol
        self._event: VendorEvent | None = None  # … and in the vendor's
        self._unread: list[bytes] = []  # texts that the decoder has not seen
        self._tries = TRIES if stream else 0  # shapes to learn that may turn out not to come again

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._status = status
        kind = headers.get(b"content-type", b"").lower()
        if status not in ANSWERED:
            self._head = headers
        elif kind.startswith(STREAMS) or (self._stream and b"json" not in kind):
            self._reader = self._speech.protocol.open_stream(self._address.model)

    def on_data(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            self._body.append(data)
            return
        try:
            event, ours = self._event, self._ours
            if event is not None and ours is not None:
                if data.startswith(event.head) and data.endswith(event.foot):  # nearly every read of some streams
                    said = data[event.head_size : -event.foot_size]
                    if self._receiver.spliced(b"%b%b%b" % (ours.head, said, ours.foot)):
                        self._unread.append(said)
                        if len(self._unread) > MOST_UNREAD:
                            self._tell_unread(reader)
                        return
                self._event = None
                self._tell_unread(reader)
            self._read(reader, data)
        except Exception as error:
            self._broken(error)

    def _tell_unread(self, reader: StreamDecoder) -> None:
        """Before anything else is read, the decoder is told of what it has not seen."""
        if self._unread:
            self._tries = TRIES
            reader.add_text(read_pieces(self._unread))
            self._unread.clear()

    def _read(self, reader: StreamDecoder, data: bytes) -> None:
        try:
            chunks = reader.feed(data)
        except UpstreamError as error:
            self._pass(reader.pending, len(data))
            self._fail(error, "an error in its stream")
            return
        was_clean, self._is_clean = self._is_clean, data.endswith(b"\n\n")
        text = plain_text(chunks) if self._tries else None
        if text is not None:
            self._pass_text(chunks[0], text)
            self._event = vendor_event(data, text) if was_clean else None
        elif chunks:
            self._ours = None
            self._pass(chunks, len(data))
        if reader.is_over:
            self._receiver.events(DONE, self._source)

    def _pass_text(self, chunk: Document, text: str) -> None:
        event = None if self._ours is None else self._ours.write(chunk, text)
        if event is not None and self._receiver.spliced(event):
            self._tries = TRIES
            return
        self._tries -= 1
        self._ours = our_event(chunk)
        self._receiver.events([encode(chunk)], self._source)

    def on_end(self) -> None:
        try:
            if self._reader is not None:
                self._end_stream()
            elif self._status in ANSWERED:
                self._read_whole()
            else:
                self._read_failure()
        except UpstreamError as error:
            self._fail(error, "no answer")
        except Exception as error:
            self._broken(error)

    def on_whole(self, body: bytes) -> None:
        self._status = OK
        self._body.append(body)
        self.on_end()

    @property
    def _is_stream(self) -> bool:
        return self._reader is not None

    def _end_stream(self) -> None:
        assert self._reader is not None
        if self._reader.is_whole:
            self._receiver.end([], self._source)
        else:
            self._fail(truncated(), "its stream was cut")

    def _read_whole(self) -> None:
        answer = decode(b"".join(self._body))
        if isinstance(answer, Lenient):  # nothing more will complete a character that was cut
            answer = dict(scrub(answer))
        document = self._speech.protocol.decode(answer, self._address.model)
        for choice in document["choices"]:
            self._note(choice["message"])
        self._keep()
        self._receiver.answered(document, self._source)

    def _read_failure(self) -> None:
        error = self._speech.protocol.read_failure(self._status, b"".join(self._body), self._head)
        if error.status in BUSY and error.retry_after is None:
            error.retry_after = read_retry_after(self._head)
        self._fail(error, f"HTTP {self._status}")

    # Chunks on their way to the client

    def _pass(self, chunks: list[Document], size: int) -> None:
        for chunk in chunks:
            for choice in chunk["choices"]:
                delta = choice["delta"]
                if "tool_calls" in delta or "thinking_blocks" in delta:
                    self._note(delta)
                if choice["finish_reason"] is not None:
                    self._keep()
        self._receiver.chunks(chunks, self._source, size)

    def _note(self, said: Document) -> None:
        """Of a message, or of a delta: the ids of its calls and the blocks that must come back with them."""
        for call in said.get("tool_calls") or ():
            if call["function"].get("name"):
                call_id = call.get("id")
                if not isinstance(call_id, str) or not call_id:
                    call_id = call["id"] = self._speech.new_call_id()
                self._calls.append(call_id)
        self._blocks += said.get("thinking_blocks") or ()

    def _keep(self) -> None:
        """Before the end leaves: the client may answer its calls at once."""
        if self._calls and self._blocks:
            self._speech.memory.keep(self._address.key, self._calls, self._blocks)
