"""What one endpoint of the API is: how its requests are read, sent and answered. One class each, one file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol

from antiphon.chat.bounds import JsonBounds
from antiphon.chat.completion import Conformed
from antiphon.chat.request import NOT_JSON
from antiphon.errors import RequestError
from antiphon.flow.gateway import Gateway
from antiphon.flow.gather import Gather
from antiphon.flow.judge import keeper_for
from antiphon.flow.ports import Document, Incoming, Texts, Upstream
from antiphon.flow.stream import Ready, Stream, encode
from antiphon.flow.stream_parts import ChunkWriter, Machine
from antiphon.flow.turn import AnyTurn, Attempt, R, Turn


class Endpoint(Protocol[R]):
    """An endpoint that an upstream answers."""

    asks: str
    """The parameter that holds what is asked: the one to name where it is too long."""

    @property
    def texts(self) -> Texts | None:
        """How to read what is said, for whoever judges it. None: it is no language."""

    def parse(self, incoming: Incoming, bounds: JsonBounds) -> R:
        """Reads the request. Raises RequestError."""

    def open(self, turn: Turn[R], gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready) -> Receiver:
        """Sends the request; returns who receives the answer. `ready` is resolved when the answer has begun or the
        attempt has failed. Raises RequestError: the request is not for this target."""

    def read(self, turn: Turn[R], gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
        """Makes a whole answer regular. Raises UpstreamError: it is none."""

    def write(self, turn: Turn[R], gateway: Gateway, document: Document) -> Document:
        """The answer as the client is to see it, once its usage is known."""


class LocalEndpoint(ABC, Generic[R]):
    """An endpoint that the gateway answers itself."""

    asks: str

    @abstractmethod
    def parse(self, incoming: Incoming, bounds: JsonBounds) -> R:
        """Reads the request. Raises RequestError."""

    @abstractmethod
    async def answer(self, turn: Turn[R], gateway: Gateway) -> Document:
        """The answer as the client is to see it."""


Receiver = Stream | Gather


def open_stream(
    turn: AnyTurn, gateway: Gateway, machine: Machine, writer: ChunkWriter, ready: Ready, texts: Texts, n: int
) -> Stream:
    """The receiver of a streamed answer, with a gate where the answer is judged. `n`: choices asked for."""

    def first() -> None:
        turn.first = gateway.clock()

    return Stream(machine, writer, turn.client, ready, first, keeper_for(turn, gateway, machine, texts, n))


def send(turn: AnyTurn, upstream: Upstream, document: Document, receiver: Receiver, source: int = 0) -> None:
    try:
        body = encode(document)
    except RecursionError:  # nested just below the decoder's own bound
        raise RequestError(NOT_JSON) from None
    send_body(turn, upstream, body, receiver, source)


def send_body(turn: AnyTurn, upstream: Upstream, body: bytes, receiver: Receiver, source: int = 0) -> None:
    call = upstream.open(body, turn.headers, stream=turn.request.stream, receiver=receiver, source=source)
    receiver.calls.append(call)
