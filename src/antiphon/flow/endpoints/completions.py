"""POST /v1/completions, the legacy endpoint: the upstream's answer is mended, not remade."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from antiphon.chat import text_answer
from antiphon.chat.bounds import JsonBounds
from antiphon.chat.completion import Conformed
from antiphon.chat.prompt_request import PromptRequest, asked_texts, parse_completion
from antiphon.chat.text_stream import TextStream
from antiphon.dialects.text_writer import TextWriter
from antiphon.document import Document
from antiphon.flow.endpoints.endpoint import Receiver, open_stream, read_document
from antiphon.flow.endpoints.passing import PromptTurn, pass_on, prompt_stamp
from antiphon.flow.gateway import Gateway
from antiphon.flow.gather import Fold, Gather
from antiphon.flow.ports import Incoming, Upstream
from antiphon.flow.stream import Ready, resolve
from antiphon.flow.turn import Attempt


class CompletionTexts:
    """How legacy completions spell what is said. A streamed choice and a whole one have the same shape."""

    def prompt(self, request: PromptRequest, tools: bool) -> list[str] | None:
        return asked_texts(request.light)

    def whole(self, choice: Document) -> list[str]:
        return [choice["text"]] if choice["text"] else []

    def blank(self, choice: Document) -> None:
        index = choice["index"]
        choice.clear()
        choice.update(text_answer.empty_choice(index))

    def words(self, choice: Document) -> Iterator[tuple[str, str]]:
        if choice["text"]:
            yield "text", choice["text"]

    def split(self, choice: Document, at: int) -> tuple[Document, Document] | None:
        if choice.get("logprobs") is not None:
            return None
        return {**choice, "text": choice["text"][:at]}, {**choice, "text": choice["text"][at:]}

    def silence(self, index: int) -> Document:
        return text_answer.empty_choice(index)


class CompletionsEndpoint:
    asks = "prompt"

    def __init__(self) -> None:
        self.texts = CompletionTexts()

    def parse(self, incoming: Incoming, bounds: JsonBounds) -> PromptRequest:
        document = read_document(incoming, bounds)
        return parse_completion(document, strict=incoming.strict, outline=incoming.outline)

    def open(self, turn: PromptTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready) -> Receiver:
        request = turn.request
        receiver: Receiver
        if request.stream:
            machine = _machine(turn, gateway)
            receiver = open_stream(turn, gateway, machine, _writer(turn), ready, self.texts, request.choices)
        else:
            receiver = Gather(1, partial(resolve, ready), lambda: Fold(_machine(turn, gateway), text_answer.fold))
        return pass_on(turn, upstream, attempt, receiver)

    def read(self, turn: PromptTurn, gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
        return text_answer.conform(document, turn.request, prompt_stamp(turn, gateway))

    def write(self, turn: PromptTurn, gateway: Gateway, document: Document) -> Document:
        assert turn.usage is not None
        return _writer(turn).completion(document, turn.usage)


def _machine(turn: PromptTurn, gateway: Gateway) -> TextStream:
    return TextStream(turn.request, prompt_stamp(turn, gateway))


def _writer(turn: PromptTurn) -> TextWriter:
    return TextWriter(usage_asked=turn.request.include_usage, strict=turn.strict)


COMPLETIONS = CompletionsEndpoint()
