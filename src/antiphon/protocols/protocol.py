"""What a foreign protocol is: how a Chat Completions request is said in it, and how its answers are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.flow.ports import Change
from antiphon.protocols.facts import ModelFacts

Headers = Mapping[bytes, bytes]  # of an answer; names in small letters
NO_HEADERS: Final[Headers] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request as the upstream takes it."""

    path: str  # below the upstream's base URL, escaped for a request line: "/v1/messages"
    body: Document  # with its keys in the order in which they are sent
    headers: tuple[tuple[str, str], ...] = ()  # besides those of the credential
    changes: tuple[Change, ...] = ()  # what was dropped or rewritten, for the receipt


class Memory(Protocol):
    """Blocks that must come back unchanged on the next turn (signatures, redacted thinking), for clients that drop
    fields they do not know. Bounded, and kept apart for each key."""

    def find(self, call_id: str) -> list[Document] | None:
        """What was said before the call of this id."""


class ForeignProtocol(Protocol):
    @property
    def name(self) -> str: ...

    def encode(
        self, document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool
    ) -> Encoded:
        """Says a checked Chat Completions request. Never alters `document`. What cannot be said is named in `changes`;
        with `strict` it raises RequestError with `param`. `n` is always 1: the flow fans out."""

    def decode(self, answer: Document, model: str) -> Document:
        """A whole answer as a ChatCompletion. Raises UpstreamError: it is none, or it is an error."""

    def open_stream(self, model: str) -> StreamDecoder:
        """A reader for one streamed answer."""

    def read_failure(self, status: int, body: bytes, headers: Headers = NO_HEADERS) -> UpstreamError:
        """An answer with an error's status, by the vendor's own taxonomy."""


class StreamDecoder(Protocol):
    """Reads one streamed answer: bytes in, in pieces of any size, ChatCompletionChunk documents out.

    Usage comes in the last chunk, with `choices: []`. Nothing stands for `[DONE]`."""

    def feed(self, data: bytes) -> list[Document]:
        """Raises UpstreamError: an error in the stream, or bytes that are not of this protocol. Chunks that came before
        the error in the same piece are in `pending`."""

    def add_text(self, text: str) -> None:
        """Text of the part under way that was passed on without being fed. Only after a chunk with text alone."""

    @property
    def pending(self) -> list[Document]:
        """Chunks that were read before `feed` raised."""

    @property
    def is_whole(self) -> bool:
        """The answer has come to its own end (`message_stop`, a `finishReason`, `messageStop`). Where the bytes end
        before that, it was cut."""

    @property
    def is_over(self) -> bool:
        """Nothing can follow, not even counts: nobody need wait for the end of the bytes."""
