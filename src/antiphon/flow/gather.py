"""A whole answer on its way: documents in from the upstream's calls, one document for the turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from antiphon.chat.completion import merge
from antiphon.chat.event import decode, is_done
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.flow.ports import Call
from antiphon.flow.stream import TRUNCATED
from antiphon.flow.stream_parts import Machine

MOST_FOLDED: Final = 64 * 1024 * 1024  # bytes: as for answers that come whole


class Gather:
    """Receives whole answers: one, or one per choice of a fan-out."""

    __slots__ = ("_documents", "_fold", "_folds", "_missing", "_on_done", "_read", "calls", "document", "over")

    def __init__(
        self,
        sources: int,
        on_done: Callable[[UpstreamError | None], None],
        fold: Callable[[], Fold],
        read: Callable[[bytes], Document] = decode,
    ) -> None:
        """`on_done(failure or None)` is called exactly once. `fold`: for an upstream that streams without being asked
        to."""
        self.calls: list[Call] = []
        self.over = False
        self.document: Document = {}
        self._on_done = on_done
        self._fold = fold
        self._read = read
        self._folds: dict[int, Fold] = {}
        self._documents: list[Document] = [{}] * sources
        self._missing = sources

    def spliced(self, read: bytes) -> bool:
        return False

    @property
    def complete(self) -> bool:
        return False

    def events(self, payloads: list[bytes], source: int) -> None:
        if self.over:
            return
        try:
            over = self._fold_of(source).take(payloads)
        except UpstreamError as error:
            self.fail(error, source)
            return
        if over:
            self.calls[source].linger()
            self._take(self._fold_of(source).document(), source)

    def chunks(self, documents: list[Document], source: int, size: int) -> None:
        if self.over:
            return
        try:
            self._fold_of(source).feed(documents, size)
        except UpstreamError as error:
            self.fail(error, source)

    def _fold_of(self, source: int) -> Fold:
        return self._folds.get(source) or self._folds.setdefault(source, self._fold())

    def end(self, rest: list[bytes], source: int) -> None:
        if self.over:
            return
        try:
            fold = self._fold_of(source)
            fold.end(rest)
        except UpstreamError as error:
            self.fail(error, source)
            return
        self._take(fold.document(), source)

    def whole(self, body: bytes, source: int) -> None:
        if self.over:
            return
        try:
            document = self._read(body)
        except UpstreamError as error:
            self.fail(error, source)
            return
        self._take(document, source)

    def answered(self, document: Document, source: int) -> None:
        if not self.over:
            self._take(document, source)

    def _take(self, document: Document, source: int) -> None:
        self._documents[source] = document
        self._missing -= 1
        if self._missing:
            return
        try:
            self.document = document if len(self._documents) == 1 else merge(self._documents)
        except UpstreamError as error:
            self.fail(error, source)
            return
        self._conclude(None)

    def fail(self, error: UpstreamError, source: int) -> None:
        if not self.over:
            for call in self.calls:
                call.cancel()
            self._conclude(error)

    def close(self) -> None:
        self.over = True
        self._on_done = _ignore
        for call in self.calls:
            call.cancel()

    def pause(self) -> None:
        return

    def resume(self) -> None:
        return

    def _conclude(self, error: UpstreamError | None) -> None:
        self.over = True
        self._folds.clear()
        on_done, self._on_done = self._on_done, _ignore  # its owner often holds this object: leave no cycle behind
        on_done(error)


def _ignore(error: UpstreamError | None) -> None:
    """Takes what comes after the end."""


class Fold:
    """Makes a whole answer of a stream: `join` puts the machine's chunks and the reported usage together."""

    __slots__ = ("_chunks", "_join", "_machine", "_room")

    def __init__(self, machine: Machine, join: Callable[[list[Document], Document | None], Document]) -> None:
        self._machine = machine
        self._join = join
        self._chunks: list[Document] = []
        self._room = MOST_FOLDED

    def take(self, payloads: list[bytes], *, last: bool = False) -> bool:
        """True: the stream has said that it is complete."""
        for payload in payloads:
            if is_done(payload):
                self._chunks += self._machine.done()
                return True
            self._grow(len(payload))
            self._chunks += self._machine.feed(decode(payload, last=last))
        return False

    def feed(self, documents: list[Document], size: int) -> None:
        """Chunks that were read already, in so many bytes."""
        self._grow(size)
        for document in documents:
            self._chunks += self._machine.feed(document)

    def _grow(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise UpstreamError("The upstream's answer is too large.", code="upstream_malformed")

    def end(self, rest: list[bytes]) -> None:
        try:
            self.take(rest, last=True)
        except UpstreamError as error:
            if error.code != TRUNCATED:
                raise
        self._chunks += self._machine.end()

    def document(self) -> Document:
        return self._join(self._chunks, self._machine.usage)
