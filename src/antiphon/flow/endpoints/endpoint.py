"""What one endpoint of the API is: how its requests are read, sent and answered. One class each, one file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol

from antiphon.chat.bounds import NOT_JSON, JsonBounds
from antiphon.chat.checks import too_long
from antiphon.chat.completion import Conformed
from antiphon.chat.outline import LONG, JsonPieces
from antiphon.chat.prompt_request import PromptRequest
from antiphon.chat.request import ChatRequest, decode, refusal
from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.flow.gateway import Gateway
from antiphon.flow.gather import Gather
from antiphon.flow.judge import keeper_for
from antiphon.flow.ports import Incoming, Prepared, Texts, Upstream
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


def read_document(incoming: Incoming, bounds: JsonBounds) -> Document:
    """The document of a request, light where it is large. Raises RequestError."""
    outline = incoming.outline
    if outline is None:
        return decode(incoming.body, bounds)
    document = incoming.document or decode(outline.light_body)
    model = document.get("model")
    if type(model) is str and (size := outline.size(model)) != len(model):
        fault = too_long("a string", LONG, size)
        fault.under("model")
        raise refusal(fault)
    return document


def open_stream(
    turn: AnyTurn, gateway: Gateway, machine: Machine, writer: ChunkWriter, ready: Ready, texts: Texts, n: int
) -> Stream:
    """The receiver of a streamed answer, with a gate where the answer is judged. `n`: choices asked for."""

    def first() -> None:
        turn.first = gateway.clock()

    lag = None if gateway.meter is None else gateway.meter.chunk_lag
    keeper = keeper_for(turn, gateway, machine, texts, n)
    return Stream(machine, writer, turn.client, ready, first, keeper, lag, turn.api_stream)


def sent_document(request: ChatRequest | PromptRequest, upstream: Upstream) -> Document:
    """The document to be prepared: light where its texts stay as they are."""
    return request.light if upstream.plain is not None else request.document


def send(turn: AnyTurn, upstream: Upstream, prepared: Prepared, receiver: Receiver, source: int = 0) -> None:
    try:
        body = encode(prepared.document)
    except RecursionError:  # nested just below the decoder's own bound
        raise RequestError(NOT_JSON) from None
    outline = turn.request.outline if upstream.plain is not None else None
    send_body(turn, upstream, body if outline is None else outline.whole(body), receiver, source, prepared.address)


def send_body(
    turn: AnyTurn,
    upstream: Upstream,
    body: bytes | JsonPieces,
    receiver: Receiver,
    source: int = 0,
    address: Any = None,
) -> None:
    call = upstream.open(
        body, turn.headers, stream=turn.request.stream, receiver=receiver, source=source, address=address
    )
    receiver.calls.append(call)
