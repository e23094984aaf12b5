"""Cohere's chat (v2) as a foreign protocol."""

from __future__ import annotations

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.cohere.decode import decode
from antiphon.protocols.cohere.encode import encode
from antiphon.protocols.cohere.failure import read_answer
from antiphon.protocols.cohere.stream import CohereStream
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import NO_HEADERS, Encoded, Headers, Memory


class Cohere:
    name = "cohere"

    def encode(
        self, document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool
    ) -> Encoded:
        """Nothing of Cohere's must come back unchanged, so `memory` is not asked."""
        return encode(document, model, facts, strict=strict)

    def decode(self, answer: Document, model: str) -> Document:
        return decode(answer, model)

    def open_stream(self, model: str) -> CohereStream:
        return CohereStream(model)

    def read_failure(self, status: int, body: bytes, headers: Headers = NO_HEADERS) -> UpstreamError:
        return read_answer(status, body)
