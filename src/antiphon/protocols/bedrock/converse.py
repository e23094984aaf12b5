"""Bedrock's Converse and ConverseStream as a foreign protocol."""

from __future__ import annotations

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.bedrock.decode import decode
from antiphon.protocols.bedrock.encode import encode
from antiphon.protocols.bedrock.failure import read_answer
from antiphon.protocols.bedrock.stream import ConverseStream
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import NO_HEADERS, Encoded, Headers, Memory


class Bedrock:
    name = "bedrock"

    def encode(
        self, document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool
    ) -> Encoded:
        return encode(document, model, facts, memory, strict=strict)

    def decode(self, answer: Document, model: str) -> Document:
        return decode(answer, model)

    def open_stream(self, model: str) -> ConverseStream:
        return ConverseStream(model)

    def read_failure(self, status: int, body: bytes, headers: Headers = NO_HEADERS) -> UpstreamError:
        return read_answer(status, body, headers)
