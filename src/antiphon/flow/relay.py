"""An attempt's answer on its way: chunks in from the upstream's socket, frames out to the client's, in one call.

`Relay` streams, `Gather` waits for whole documents. Both hear one call or, in a fan-out, several. The turn's coroutine
waits for the first chunk or the whole answer and, of a stream, for its end; no chunk passes through it. A failure is a
future's result, never its exception: nobody may be left to hear it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from antiphon.chat.completion import merge
from antiphon.chat.event import decode, is_done
from antiphon.chat.splice import Splice
from antiphon.errors import UpstreamError
from antiphon.flow.machine import Machine, Scribe
from antiphon.flow.ports import Call, Client, Document
from antiphon.sse import frame

encode = msgspec.json.Encoder().encode
TRUNCATED = "upstream_truncated"
MOST_FOLDED = 64 * 1024 * 1024  # bytes: as for answers that come whole


Ready = asyncio.Future[UpstreamError | None]  # an attempt's answer has begun, or its failure


def tell(ready: Ready, failure: UpstreamError | None) -> None:
    """It may be cancelled already: the client left, and the upstream spoke before the turn's task heard of it."""
    if not ready.done():
        ready.set_result(failure)


class Relay:
    """A stream: fed by the upstream, written to the client."""

    __slots__ = (
        "_client",
        "_direct",
        "_learns",
        "_left",
        "_reads",
        "_splice",
        "_write",
        "calls",
        "finished",
        "machine",
        "on_first",
        "ready",
        "writer",
    )

    def __init__(
        self,
        machine: Machine,
        writer: Scribe,
        client: Client,
        ready: Ready,
        on_first: Callable[[], None],
    ) -> None:
        self.machine = machine
        self.writer = writer
        self.calls: list[Call] = []
        self.ready = ready
        self.finished: Ready = ready.get_loop().create_future()
        self.on_first = on_first
        self._client = client
        self._write: Callable[[bytes], None] = client.write
        self._direct = False
        self._left = False
        self._splice = Splice(machine.texts)  # events
        self._reads = Splice(machine.texts)  # reads that are one whole event
        self._learns = writer.repeats

    def spliced(self, read: bytes) -> bool:
        """Hot: nearly every read of a stream. Saves the 0.5 us of finding the event in it."""
        out = self._reads.apply(read)
        if out is None:
            return False
        self._write(out)
        return True

    def events(self, payloads: list[bytes], source: int) -> None:
        """Once per read of the upstream's socket that is not so usual."""
        if self.finished.done():
            return
        out: list[bytes] = []
        over = False
        try:
            for payload in payloads:
                spliced = self._splice.apply(payload) if type(payload) is bytes else None  # not an event with a name
                if spliced is not None:
                    self._let_pass(spliced, out)
                elif is_done(payload):
                    over = True
                    break
                else:
                    self._take(payload, source, out)
        except UpstreamError as error:
            self._send(out)
            self.fail(error, source)
            return
        if out:
            self._write(out[0] if len(out) == 1 else b"".join(out))
            if not self._direct:
                self._direct = True
                self._write = self._client.direct  # saves a call for every chunk to come
        if over:
            self.done(source)

    def _let_pass(self, spliced: bytes, out: list[bytes]) -> None:
        out.append(spliced)

    def _take(self, payload: bytes, source: int, out: list[bytes], *, last: bool = False) -> None:
        """The whole way of one event."""
        self._forget()
        document = decode(payload, last=last)
        chunks = self.machine.feed(document, source)
        if chunks and not self._left:
            self._open(chunks, out)
        for chunk in chunks:
            self._put(chunk, out)
        if self._learns and len(chunks) == 1 and chunks[0] is document:  # a text delta, edited in place
            self._learn(payload, out[-1])

    def _learn(self, payload: bytes, sent: bytes) -> None:
        self._splice.learn(payload, sent)
        self._reads.learn(frame(payload), sent)

    @property
    def complete(self) -> bool:
        return self.machine.complete

    def done(self, source: int) -> None:
        """[DONE]: whatever the upstream may still send, nobody reads it."""
        self.calls[source].linger()
        self._close(self.machine.done, source)

    def end(self, rest: list[bytes], source: int) -> None:
        if self.finished.done():
            return
        out: list[bytes] = []
        try:
            for payload in rest:
                if not is_done(payload):
                    self._take(payload, source, out, last=True)
        except UpstreamError as error:
            if error.code != TRUNCATED:
                self._send(out)
                self.fail(error, source)
                return
            # Cut inside an event: whether anything was still to come, the machine knows (F5).
        self._send(out)
        self._close(self.machine.end, source)

    def whole(self, body: bytes, source: int) -> None:
        """An upstream that answers JSON though it was asked to stream."""
        try:
            documents = self.machine.replay(decode(body))
        except UpstreamError as error:
            self.fail(error, source)
            return
        self.events([encode(document) for document in documents], source)
        self.done(source)

    def fail(self, error: UpstreamError, source: int) -> None:
        if self.finished.done():
            return
        self._cut()
        self._conclude(error)

    def close(self) -> None:
        """Nobody is to hear any more of it."""
        self._cut()

    def _cut(self) -> None:
        self._forget()
        for call in self.calls:
            call.cancel()

    def _forget(self) -> None:
        self._splice.forget()
        self._reads.forget()

    def pause(self) -> None:
        for call in self.calls:
            call.pause()

    def resume(self) -> None:
        for call in self.calls:
            call.resume()

    def _close(self, close: Callable[[int], list[Document]], source: int) -> None:
        if self.finished.done():
            return
        out: list[bytes] = []
        try:
            chunks = close(source)
            if chunks and not self._left:
                self._open(chunks, out)
            for chunk in chunks:
                self._put(chunk, out)
        except UpstreamError as error:
            self._send(out)
            self.fail(error, source)
            return
        self._send(out)
        if self.machine.finished:
            self._conclude(None)

    def _conclude(self, failure: UpstreamError | None) -> None:
        """All has been said, or the attempt has failed."""
        self.finished.set_result(failure)
        tell(self.ready, failure)

    def _put(self, chunk: Document, out: list[bytes]) -> None:
        written = self.writer.chunk(chunk)
        if not self.writer.has_emptied(written):
            out.append(frame(encode(written)))

    def _open(self, first: list[Document], out: list[bytes]) -> None:
        """The answer begins. `first`: all that the first event gave, whose verdicts an opening chunk takes over."""
        out.extend(frame(encode(chunk)) for chunk in self.writer.opening(self._begin(first)))

    def _begin(self, first: list[Document]) -> Document:
        """-> the envelope of an opening chunk"""
        self._left = True
        self.on_first()
        tell(self.ready, None)
        choices = {choice["index"]: choice for chunk in reversed(first) for choice in chunk["choices"]}
        envelope = {**self.machine.envelope(), "choices": list(choices.values())}
        for name in ("prompt_annotations", "prompt_filter_results"):  # Azure's older name and its own
            if name in first[0]:
                envelope["prompt_filter_results"] = first[0][name]
        return envelope

    def _send(self, out: list[bytes]) -> None:
        if out:
            self._client.write(b"".join(out))


class Gather:
    """Whole answers: one, or one per choice of a fan-out. `told` hears once: nothing, or the failure."""

    __slots__ = ("_documents", "_fold", "_folds", "_missing", "_read", "_told", "calls", "document", "over")

    def __init__(
        self,
        sources: int,
        told: Callable[[UpstreamError | None], None],
        fold: Callable[[], Fold],
        read: Callable[[bytes], Document] = decode,
    ) -> None:
        """`fold`: for an upstream that streams though it was not asked to."""
        self.calls: list[Call] = []
        self.over = False
        self.document: Document = {}
        self._told = told
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
            fold = self._folds.get(source) or self._folds.setdefault(source, self._fold())
            over = fold.take(payloads)
        except UpstreamError as error:
            self.fail(error, source)
            return
        if over:
            self.calls[source].linger()
            self._take(fold.document(), source)

    def end(self, rest: list[bytes], source: int) -> None:
        if self.over:
            return
        try:
            fold = self._folds.get(source) or self._fold()
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
        self._tell(None)

    def fail(self, error: UpstreamError, source: int) -> None:
        if not self.over:
            for call in self.calls:
                call.cancel()
            self._tell(error)

    def close(self) -> None:
        self.over = True
        self._told = _nobody
        for call in self.calls:
            call.cancel()

    def pause(self) -> None:
        return

    def resume(self) -> None:
        return

    def _tell(self, error: UpstreamError | None) -> None:
        self.over = True
        self._folds.clear()
        told, self._told = self._told, _nobody  # whom it tells often holds it: no cycle may outlive the answer
        told(error)


def _nobody(error: UpstreamError | None) -> None:
    """Hears what comes after the end."""


class Fold:
    """A stream that becomes a whole answer: `join` makes it of the machine's chunks and the usage it was told."""

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
            self._room -= len(payload)
            if self._room < 0:
                raise UpstreamError("The upstream's answer is too large.", code="upstream_malformed")
            self._chunks += self._machine.feed(decode(payload, last=last))
        return False

    def end(self, rest: list[bytes]) -> None:
        try:
            self.take(rest, last=True)
        except UpstreamError as error:
            if error.code != TRUNCATED:
                raise
        self._chunks += self._machine.end()

    def document(self) -> Document:
        return self._join(self._chunks, self._machine.usage)
