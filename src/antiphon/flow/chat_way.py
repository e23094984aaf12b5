"""Chat's way: its answers are conformed to Chat Completions and spelled in the client's dialect."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from antiphon.chat.completion import Conformed, conform
from antiphon.chat.fold import fold
from antiphon.chat.request import ChatRequest
from antiphon.chat.spoken import answer_text, delta_words, prompt_texts
from antiphon.chat.stream import ChatStream
from antiphon.dialects import WriteOptions, Writer
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Change, Document, Upstream
from antiphon.flow.relay import Fold, Gather, Ready, Relay, tell
from antiphon.flow.relaying import relay
from antiphon.flow.turn import Attempt, Turn
from antiphon.flow.voice import Form
from antiphon.flow.way import Way, send

ChatTurn = Turn[ChatRequest]


def _open(turn: ChatTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready) -> Relay | Gather:
    """Sends the request, n times where the upstream lacks `n`. `ready`: the answer has begun, or the attempt failed."""
    request = turn.request
    document, turn.changes = upstream.prepare(request.document, attempt.model, strict=turn.strict)
    sources = request.n if upstream.lacks_n else 1
    if sources > 1:
        turn.changes += (Change("n", "rewritten", f"sent as {sources} requests: the upstream answers one choice"),)
        if isinstance(document.get("seed"), int):
            turn.changes += (Change("seed", "rewritten", "choice i of the fan-out draws with seed + i"),)
    receiver: Relay | Gather
    if request.stream:
        machine = ChatStream(request, gateway.stamp(turn.dialect, attempt.model), sources=sources, think=upstream.think)
        receiver = relay(turn, gateway, machine, _writer(turn, gateway), ready, FORM, request.n)
    else:
        each = request.n if sources == 1 else 1
        receiver = Gather(
            sources, partial(tell, ready), partial(folder, turn, gateway, attempt.model, each, upstream.think)
        )
    turn.client.follow(receiver)
    for source in range(sources):
        send(turn, upstream, _share(document, source) if source else document, receiver, source)
    return receiver


def folder(turn: ChatTurn, gateway: Gateway, model: str, n: int, think: bool) -> Fold:
    """Reads the stream of an upstream that was not asked for one. Every id is kept: `conform` judges it."""
    stamp = replace(gateway.stamp(turn.dialect, model), keeps_id=bool)
    return Fold(ChatStream(msgspec.structs.replace(turn.request, n=n), stamp, think=think), fold)


def _read(turn: ChatTurn, gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
    stamp = gateway.stamp(turn.dialect, turn.attempts[-1].model)
    return conform(document, turn.request, stamp, think=upstream.think)


def _write(turn: ChatTurn, gateway: Gateway, document: Document) -> Document:
    assert turn.usage is not None
    return _writer(turn, gateway).completion(document, turn.usage)


def _share(document: Document, source: int) -> Document:
    """Choice i of a fan-out draws with seed + i: the same seed would give the same text n times."""
    seed = document.get("seed")
    if not isinstance(seed, int):
        return document
    shifted = seed + source
    return {**document, "seed": shifted if shifted < 2**63 else shifted - 2**63}


def _writer(turn: ChatTurn, gateway: Gateway) -> Writer:
    attempt = turn.attempts[-1]
    options = WriteOptions(
        strict=turn.strict,
        judged=turn.policy is not None,
        target=f"{attempt.target.upstream}/{attempt.model}",
        maritaca_object=gateway.maritaca_object,
        entropy=(lambda size: gateway.entropy(size).hex()) if turn.request.include_obfuscation else None,
    )
    return turn.dialect.writer(turn.request, options)


def _silence(index: int) -> Document:
    return {"index": index, "delta": {}, "logprobs": None, "finish_reason": None}


def _blank(choice: Document) -> None:
    """Whatever else the choice has may say it again."""
    index = choice["index"]
    choice.clear()
    choice.update(index=index, message={"role": "assistant", "content": None, "refusal": None}, logprobs=None)


FORM: Final = Form(
    words=lambda choice: delta_words(choice["delta"]),
    silence=_silence,
    text=lambda choice: answer_text(choice["message"]),
    blank=_blank,
    prompt=prompt_texts,
)
CHAT: Final = Way("messages", _open, _read, _write, FORM)
