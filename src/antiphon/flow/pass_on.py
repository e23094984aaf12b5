"""The ways of the endpoints that are passed on, legacy completions and embeddings: the document goes to the upstream
with the target's model in it, and the upstream's answer to the client, mended but not remade.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from antiphon.chat import embedding_answer, text_answer
from antiphon.chat.completion import Conformed
from antiphon.chat.failure import malformed
from antiphon.chat.prompt_request import PromptRequest, asked_texts
from antiphon.chat.stamp import Stamp
from antiphon.chat.text_stream import TextStream
from antiphon.dialects.text_writer import TextWriter
from antiphon.errors import RequestError
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Document, Upstream
from antiphon.flow.relay import Fold, Gather, Ready, Relay, tell
from antiphon.flow.relaying import relay
from antiphon.flow.turn import Attempt, Turn
from antiphon.flow.voice import Form
from antiphon.flow.way import Way, send

PromptTurn = Turn[PromptRequest]


# Completions


def _open_text(
    turn: PromptTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready
) -> Relay | Gather:
    if turn.request.stream:
        writer = _writer(turn)
        receiver: Relay | Gather = relay(
            turn, gateway, _machine(turn, gateway), writer, ready, FORM, turn.request.choices
        )
    else:
        receiver = Gather(1, partial(tell, ready), lambda: Fold(_machine(turn, gateway), text_answer.fold))
    return _send(turn, upstream, attempt, receiver)


def _read_text(turn: PromptTurn, gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
    return text_answer.conform(document, turn.request, _stamp(turn, gateway))


def _write_text(turn: PromptTurn, gateway: Gateway, document: Document) -> Document:
    assert turn.usage is not None
    return _writer(turn).completion(document, turn.usage)


def _machine(turn: PromptTurn, gateway: Gateway) -> TextStream:
    return TextStream(turn.request, _stamp(turn, gateway))


def _writer(turn: PromptTurn) -> TextWriter:
    return TextWriter(usage_asked=turn.request.include_usage, strict=turn.strict)


def _stamp(turn: PromptTurn, gateway: Gateway) -> Stamp:
    stamp = gateway.stamp(turn.dialect, turn.attempts[-1].model)
    return replace(stamp, new_id=lambda: "cmpl-" + gateway.entropy(16).hex())


# Embeddings


def _open_vectors(
    turn: PromptTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready
) -> Relay | Gather:
    receiver = Gather(1, partial(tell, ready), _refuse_stream, embedding_answer.read)
    return _send(turn, upstream, attempt, receiver)


def _refuse_stream() -> Fold:
    raise malformed()  # vectors do not stream


def _read_vectors(turn: PromptTurn, gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
    return embedding_answer.conform(document, _stamp(turn, gateway))


def _write_vectors(turn: PromptTurn, gateway: Gateway, document: Document) -> Document:
    assert turn.usage is not None
    return embedding_answer.write(document, turn.usage, strict=turn.strict)


# Both


def _send(turn: PromptTurn, upstream: Upstream, attempt: Attempt, receiver: Relay | Gather) -> Relay | Gather:
    request = turn.request
    there = upstream.at(request.endpoint)
    if there is None:
        text = f"The model `{request.model[:200]}` is not supported in the v1/{request.endpoint} endpoint."
        raise RequestError(text, status=404, param="model", code="unsupported_endpoint")
    document, turn.changes = there.prepare(request.document, attempt.model, strict=turn.strict)
    turn.client.follow(receiver)
    send(turn, there, document, receiver)
    return receiver


def _blank(choice: Document) -> None:
    index = choice["index"]
    choice.clear()
    choice.update(text_answer.empty_choice(index))


FORM: Final = Form(
    words=lambda choice: (("text", choice["text"]),) if choice["text"] else (),
    silence=text_answer.empty_choice,
    text=lambda choice: choice["text"],
    blank=_blank,
    prompt=asked_texts,
)
COMPLETIONS: Final = Way("prompt", _open_text, _read_text, _write_text, FORM)
EMBEDDINGS: Final = Way("input", _open_vectors, _read_vectors, _write_vectors)
