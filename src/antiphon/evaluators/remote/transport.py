"""How a question reaches its service: over a connection of its own, or through one of the gateway's upstreams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from antiphon.document import Document
from antiphon.errors import AntiphonError, UpstreamError
from antiphon.evaluators.remote.service import ServiceRequest
from antiphon.flow.ports import Upstream
from antiphon.http.client import Call, ClientError, Pool

Done = Callable[[bytes | None, str], None]  # the answer, or None and why there is none

LARGEST: Final = 1024 * 1024  # bytes of an answer


class Sent(Protocol):
    def cancel(self) -> None: ...


class Transport(Protocol):
    def send(self, question: ServiceRequest, done: Done) -> Sent:
        """`done` is called once, never before this returns; not after `cancel`."""

    async def close(self) -> None: ...


class HttpTransport:
    def __init__(self, pool: Pool, prefix: bytes, headers: bytes) -> None:
        self._pool = pool
        self._prefix = prefix
        self._headers = headers

    def send(self, question: ServiceRequest, done: Done) -> Call:
        body = msgspec.json.encode(question.document)
        return self._pool.send(
            b"POST", self._prefix + question.path.encode(), self._headers, body, EvaluatorAnswer(done)
        )

    async def close(self) -> None:
        await self._pool.close()


class EvaluatorAnswer:
    """One answer as it arrives; the pool bounds it."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._status = 0
        self._body: list[bytes] = []

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._status = status

    def on_data(self, data: bytes) -> None:
        self._body.append(data)

    def on_end(self) -> None:
        if self._status == 200:
            self._done(b"".join(self._body), "")
        else:  # what it says is not repeated: it may hold the text that was judged
            self._done(None, f"HTTP {self._status}")

    def on_fail(self, error: ClientError) -> None:
        self._done(None, str(error))


class UpstreamTransport:
    """Chat questions, asked of the target of a route. They are the gateway's own: nobody judges them in turn."""

    def __init__(self, upstream: Upstream, model: str, *, owned: bool) -> None:
        """`owned`: the upstream was made for this alone, and is closed with it."""
        self._upstream = upstream
        self._model = model
        self._owned = owned

    def send(self, question: ServiceRequest, done: Done) -> Sent:
        document: dict[str, Any] = {"model": self._model, **question.document}
        prepared = self._upstream.prepare(document, self._model, strict=False)
        body = msgspec.json.encode(prepared.document)
        return self._upstream.open(body, {}, stream=False, receiver=Hearing(done), source=0, address=prepared.address)

    async def close(self) -> None:
        close = getattr(self._upstream, "close", None)
        if self._owned and close is not None:
            await close()


class Hearing:
    """Hears an upstream's whole answer (flow.ports.Receiver)."""

    complete: Final = False

    def __init__(self, done: Done) -> None:
        self._done = done

    def spliced(self, read: bytes) -> bool:
        return False

    def events(self, payloads: list[bytes], source: int) -> None:
        """It streams although nobody asked it to; the end of that is a failure."""

    def end(self, rest: list[bytes], source: int) -> None:
        self._done(None, "a stream was answered")

    def whole(self, body: bytes, source: int) -> None:
        self._done(body if len(body) <= LARGEST else None, "the answer is too long")

    def chunks(self, documents: list[Document], source: int, size: int) -> None:
        """As `events`."""

    def answered(self, document: Document, source: int) -> None:
        self.whole(msgspec.json.encode(document), source)

    def fail(self, error: UpstreamError, source: int) -> None:
        self._done(None, _kind(error))


def _kind(error: AntiphonError) -> str:
    return error.code or error.type or "failed"
