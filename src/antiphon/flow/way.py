"""A Way: what the life of a turn differs in between one endpoint and another. Work: a turn that asks no upstream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic

from antiphon.chat.completion import Conformed
from antiphon.chat.request import NOT_JSON
from antiphon.errors import RequestError
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Document, Upstream
from antiphon.flow.relay import Gather, Ready, Relay, encode
from antiphon.flow.turn import AnyTurn, Attempt, R, Turn
from antiphon.flow.voice import Form


@dataclass(frozen=True, slots=True)
class Way(Generic[R]):
    asks: str
    """The parameter that holds what is asked: the one to blame where it is too long."""
    open: Callable[[Turn[R], Gateway, Upstream, Attempt, Ready], Relay | Gather]
    """Sends the request; who hears its answer. Raises RequestError: it is not for this target."""
    read: Callable[[Turn[R], Gateway, Upstream, Document], Conformed]
    """A whole answer, made regular. Raises UpstreamError: it is none."""
    write: Callable[[Turn[R], Gateway, Document], Document]
    """The same as the client is to see it, once its usage is settled."""
    form: Form | None = None
    """How what is asked and answered here can be judged. None: it is no language."""


@dataclass(frozen=True, slots=True)
class Work(Generic[R]):
    asks: str
    do: Callable[[Turn[R], Gateway], Awaitable[int]]
    """Answers the client; the status."""


def send(turn: AnyTurn, upstream: Upstream, document: Document, receiver: Relay | Gather, source: int = 0) -> None:
    try:
        body = encode(document)
    except RecursionError:  # nested just below the decoder's own bound
        raise RequestError(NOT_JSON) from None
    call = upstream.open(body, turn.headers, stream=turn.request.stream, receiver=receiver, source=source)
    receiver.calls.append(call)
