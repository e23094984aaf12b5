"""POST /v1/embeddings: vectors, which nobody judges and which do not stream."""

from __future__ import annotations

from functools import partial

from antiphon.chat import embedding_answer
from antiphon.chat.bounds import JsonBounds
from antiphon.chat.completion import Conformed
from antiphon.chat.failure import malformed
from antiphon.chat.prompt_request import PromptRequest, parse_embedding
from antiphon.document import Document
from antiphon.flow.endpoints.endpoint import Receiver, read_document
from antiphon.flow.endpoints.passing import PromptTurn, pass_on, prompt_stamp
from antiphon.flow.gateway import Gateway
from antiphon.flow.gather import Fold, Gather
from antiphon.flow.ports import Incoming, Upstream
from antiphon.flow.stream import Ready, resolve
from antiphon.flow.turn import Attempt


class EmbeddingsEndpoint:
    asks = "input"
    texts = None

    def parse(self, incoming: Incoming, bounds: JsonBounds) -> PromptRequest:
        document = read_document(incoming, bounds)
        return parse_embedding(document, strict=incoming.strict, outline=incoming.outline)

    def open(self, turn: PromptTurn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready) -> Receiver:
        receiver = Gather(1, partial(resolve, ready), _refuse_stream, embedding_answer.read)
        return pass_on(turn, upstream, attempt, receiver)

    def read(self, turn: PromptTurn, gateway: Gateway, upstream: Upstream, document: Document) -> Conformed:
        return embedding_answer.conform(document, prompt_stamp(turn, gateway))

    def write(self, turn: PromptTurn, gateway: Gateway, document: Document) -> Document:
        assert turn.usage is not None
        return embedding_answer.write(document, turn.usage, strict=turn.strict)


def _refuse_stream() -> Fold:
    raise malformed()


EMBEDDINGS = EmbeddingsEndpoint()
