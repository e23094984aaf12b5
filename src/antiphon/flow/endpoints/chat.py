"""POST /v1/chat/completions: answers are conformed to Chat Completions and written in the client's dialect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import msgspec

from antiphon.apis.api import NativeRequest
from antiphon.chat.bounds import LARGE, JsonBounds, check_depth
from antiphon.chat.completion import Conformed, conform
from antiphon.chat.fold import fold
from antiphon.chat.moderated_text import answer_texts, delta_words, newest_first, prompt_texts, tool_words
from antiphon.chat.plain_fields import SimpleFields
from antiphon.chat.plain_request import judged_texts, read_plain
from antiphon.chat.request import ChatRequest, parse
from antiphon.chat.stream import ChatStream
from antiphon.dialects import WriteOptions, Writer
from antiphon.document import Document
from antiphon.flow.api_turn import parse_api
from antiphon.flow.endpoints.endpoint import Receiver, open_stream, read_document, send, send_body, sent_document
from antiphon.flow.fast_path import fast_body
from antiphon.flow.gateway import Gateway
from antiphon.flow.gather import Fold, Gather
from antiphon.flow.native import NativeStream, native_upstream
from antiphon.flow.ports import Change, Incoming, Upstream
from antiphon.flow.stream import Ready, resolve
from antiphon.flow.turn import Attempt, Turn

ChatTurn = Turn[ChatRequest]


class ChatTexts:
    """How chat spells what is said."""

    def prompt(self, request: ChatRequest, tools: bool) -> list[str]:
        plain = request.plain
        found = prompt_texts(request.light, request.outline) if plain is None else newest_first(*judged_texts(plain))
        said = tool_words(request.light) if tools else ""
        return [said, *found] if said else found

    def whole(self, choice: Document) -> list[str]:
        return answer_texts(choice["message"])

    def blank(self, choice: Document) -> None:
        """Clears the choice: whatever else it has may say the same again."""
        index = choice["index"]
        choice.clear()
        choice.update(index=index, message={"role": "assistant", "content": None, "refusal": None}, logprobs=None)

    def words(self, choice: Document) -> Iterator[tuple[str, str]]:
        return delta_words(choice["delta"])

    def split(self, choice: Document, at: int) -> tuple[Document, Document] | None:
        delta = choice["delta"]
        if len(delta) != 1 or choice.get("logprobs") is not None:
            return None
        [(key, words)] = delta.items()
        if type(words) is str:
            return {**choice, "delta": {key: words[:at]}}, {**choice, "delta": {key: words[at:]}}
        if key == "tool_calls" and len(words) == 1 and words[0].keys() == {"index", "function"}:
            [call] = words
            if call["function"].keys() == {"arguments"}:
                said = call["function"]["arguments"]
                first, rest = ({**call, "function": {"arguments": part}} for part in (said[:at], said[at:]))
                return {**choice, "delta": {key: [first]}}, {**choice, "delta": {key: [rest]}}
        return None

    def silence(self, index: int) -> Document:
        return {"index": index, "delta": {}, "logprobs": None, "finish_reason": None}


class ChatEndpoint:
    asks = "messages"

    def __init__(self) -> None:
        self.texts = ChatTexts()

    def parse(self, incoming: Incoming, bounds: JsonBounds) -> ChatRequest:
        if incoming.api is not None:
            return parse_api(incoming, incoming.api, bounds)
        body = incoming.body
        is_document = incoming.strict or incoming.stream_asked or len(body) > LARGE  # several tries would take too long
        plain = None if is_document else read_plain(body)
        if plain is not None:
            if type(plain.fields) is not SimpleFields:  # there is room for depth
                check_depth(body, bounds)
            return ChatRequest(
                body,
                plain.model,
                plain.stream,
                1,
                plain.stream and plain.include_usage,
                plain.stream and plain.include_obfuscation,
                plain.logprobs,
                plain.named_tool,
                False,
                plain,
            )
        document = read_document(incoming, bounds)
        if incoming.stream_asked and document.get("stream") is None:
            document["stream"] = True
        return parse(document, strict=incoming.strict, outline=incoming.outline)

    def open(self, turn: ChatTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready) -> Receiver:
        """Sends the request: as bytes where it is plain, n times where the upstream lacks `n`."""
        request = turn.request
        body = None if turn.wants_receipt else fast_body(request, upstream, attempt.model)
        if body is not None:
            return self.open_plain(turn, gateway, upstream, attempt, ready, body)
        there = native_upstream(turn.api_request, upstream)
        turn.is_native = there is not None
        if there is not None:
            return self._open_native(turn, gateway, there, attempt, ready)
        prepare = partial(upstream.prepare, model=attempt.model, strict=turn.strict, key=turn.key)
        document, own_changes = _fitted(turn, sent_document(request, upstream), upstream)
        prepared = prepare(document)
        turn.changes = own_changes + prepared.changes
        sources = request.n if upstream.lacks_n else 1
        has_seed = isinstance(document.get("seed"), int)
        if sources > 1:
            turn.changes += (Change("n", "rewritten", f"sent as {sources} requests: the upstream answers one choice"),)
            if has_seed and not any(change.param == "seed" for change in turn.changes):
                turn.changes += (Change("seed", "rewritten", "choice i of the fan-out draws with seed + i"),)
        receiver = self._receiver(turn, gateway, upstream, attempt, ready, sources)
        turn.client.follow(receiver)
        for source in range(sources):
            if source and has_seed:
                prepared = prepare(_with_seed(document, source))
            send(turn, upstream, prepared, receiver, source)
        return receiver

    def _open_native(
        self, turn: ChatTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready
    ) -> Receiver:
        """Sends the request in the client's own API."""
        asked, outline = turn.api_request, turn.request.outline
        assert isinstance(asked, NativeRequest)
        document = asked.native if outline is None or upstream.plain is not None else outline.restore(asked.native)
        prepared = upstream.prepare(document, attempt.model, strict=turn.strict, key=turn.key)
        turn.changes = prepared.changes
        receiver = self._receiver(turn, gateway, upstream, attempt, ready, 1)
        turn.client.follow(receiver)
        send(turn, upstream, prepared, receiver)
        return receiver

    def open_plain(
        self, turn: ChatTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready, body: bytes
    ) -> Receiver:
        """As `open`, with the body that is sent."""
        receiver = self._receiver(turn, gateway, upstream, attempt, ready, 1)
        turn.client.follow(receiver)
        send_body(turn, upstream, body, receiver)
        return receiver

    def _receiver(
        self, turn: ChatTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready, sources: int
    ) -> Receiver:
        request = turn.request
        if request.stream:
            stamp = gateway.stamp(turn.dialect, attempt.model)
            if turn.is_native and isinstance(turn.api_request, NativeRequest):
                machine: ChatStream = NativeStream(turn.api_request, request, stamp)
            else:
                machine = ChatStream(request, stamp, sources=sources, think=upstream.think)
            return open_stream(turn, gateway, machine, _writer(turn, gateway), ready, self.texts, request.n)
        each = request.n if sources == 1 else 1
        return Gather(sources, partial(resolve, ready), partial(chat_fold, turn, gateway, each, upstream.think))

    def read(self, turn: ChatTurn, gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
        stamp = gateway.stamp(turn.dialect, turn.attempts[-1].model)
        if turn.is_native and isinstance(turn.api_request, NativeRequest):
            document = turn.api_request.read_answer(document)
        return conform(document, turn.request, stamp, think=upstream.think)

    def write(self, turn: ChatTurn, gateway: Gateway, document: Document) -> Document:
        assert turn.usage is not None
        completion = _writer(turn, gateway).completion(document, turn.usage)
        return completion if turn.api_request is None else turn.api_request.whole(completion)


def _fitted(turn: ChatTurn, document: Document, upstream: Upstream) -> tuple[Document, tuple[Change, ...]]:
    """Another API's request, as this upstream takes it."""
    if turn.api_request is None:
        return document, ()
    document, changes = turn.api_request.fit(document, upstream.protocol)
    return document, tuple(Change(*change) for change in changes)


def chat_fold(turn: ChatTurn, gateway: Gateway, n: int, think: bool) -> Fold:
    """Reads the stream of an upstream that was not asked for one. Every id is kept: `conform` decides on it."""
    stamp = replace(gateway.stamp(turn.dialect, turn.attempts[-1].model), keeps_id=bool)
    return Fold(ChatStream(msgspec.structs.replace(turn.request, n=n), stamp, think=think), fold)


def _with_seed(document: Document, source: int) -> Document:
    """Choice i of a fan-out draws with seed + i: the same seed would give the same text n times."""
    shifted = document["seed"] + source
    return {**document, "seed": shifted if shifted < 2**63 else shifted - 2**63}


def _writer(turn: ChatTurn, gateway: Gateway) -> Writer:
    attempt = turn.attempts[-1]
    options = WriteOptions(
        strict=turn.strict and turn.api_request is None,  # another API's writer takes what it has a place for
        judged=turn.policy is not None,
        target=f"{attempt.target.upstream}/{attempt.model}",
        maritaca_object=gateway.maritaca_object,
        entropy=(lambda size: gateway.entropy(size).hex()) if turn.request.include_obfuscation else None,
    )
    return turn.dialect.writer(turn.request, options)


CHAT = ChatEndpoint()
