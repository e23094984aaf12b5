"""What a stream on its way is made of: a machine that reads an upstream's chunks, and a writer that spells ours.

Both are pure; each endpoint that streams has its own pair.
"""

from __future__ import annotations

from typing import Protocol

from antiphon.chat.stamp import Document


class Machine(Protocol):
    """Chunks in, chunks out. Fed per source: the calls of a fan-out are told apart."""

    texts: list[str]  # what the answer said so far
    finished: bool

    @property
    def moderated(self) -> bool:
        """The upstream has told a `moderation` of its own."""

    def feed(self, chunk: Document, source: int = 0) -> list[Document]: ...

    def done(self, source: int = 0) -> list[Document]:
        """The upstream said [DONE]."""

    def end(self, source: int = 0) -> list[Document]:
        """The upstream's bytes ended."""

    def replay(self, document: Document) -> list[Document]:
        """A whole answer as an upstream would have streamed it."""

    @property
    def complete(self) -> bool: ...

    @property
    def usage(self) -> Document | None: ...

    @property
    def upstream_id(self) -> str | None: ...

    def envelope(self) -> Document: ...

    def usage_envelope(self) -> Document: ...


class Scribe(Protocol):
    """Chunks as the client is to see them."""

    @property
    def repeats(self) -> bool:
        """Two chunks that differ in their text alone are written with the same bytes around it."""

    def chunk(self, document: Document) -> Document: ...

    def has_emptied(self, document: Document) -> bool: ...

    def opening(self, envelope: Document) -> list[Document]: ...

    def usage_chunk(self, envelope: Document, usage: Document) -> Document | None: ...

    def extra_chunk(self, envelope: Document) -> Document: ...
