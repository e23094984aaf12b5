"""Gemini's `generateContent` and `streamGenerateContent`. The same on Vertex: a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini import answer as whole
from antiphon.protocols.gemini import encode as request
from antiphon.protocols.gemini import failure
from antiphon.protocols.gemini.stream import GeminiStream
from antiphon.protocols.protocol import NO_HEADERS, Encoded, Headers, Memory


@dataclass(slots=True)
class Gemini:
    name: str
    vertex: bool = False  # it has labels, and no `store`

    def encode(
        self, document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool
    ) -> Encoded:
        return request.encode(document, model, facts, memory, strict=strict, vertex=self.vertex)

    def decode(self, answer: Document, model: str) -> Document:
        return whole.decode(answer, model)

    def open_stream(self, model: str) -> GeminiStream:
        return GeminiStream(model)

    def read_failure(self, status: int, body: bytes, headers: Headers = NO_HEADERS) -> UpstreamError:
        return failure.read_failure(status, body)


GEMINI: Final = Gemini("gemini")
VERTEX_GEMINI: Final = Gemini("vertex-gemini", vertex=True)
