"""The Messages API as a foreign protocol, on one of its hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.anthropic.decode import decode
from antiphon.protocols.anthropic.encode import encode
from antiphon.protocols.anthropic.errors import read_body
from antiphon.protocols.anthropic.flavor import ANTHROPIC, Flavor
from antiphon.protocols.anthropic.stream import AnthropicStream, Split
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import NO_HEADERS, Encoded, Headers, Memory

# A model that no row knows is newer than the rows: it takes what the newest ones take.
DEFAULTS: Final = ModelFacts(
    context=200_000,
    max_output=32_000,
    takes_sampling=False,
    takes_prefill=False,
    thinking=Thinking.ADAPTIVE,
    efforts=("low", "medium", "high"),
)


class Anthropic:
    """`new_split`: for a host that does not stream server-sent events (Bedrock frames each event)."""

    __slots__ = ("_flavor", "_new_split", "name")

    def __init__(self, flavor: Flavor = ANTHROPIC, new_split: Callable[[], Split] | None = None) -> None:
        self.name = flavor.name
        self._flavor = flavor
        self._new_split = new_split

    def encode(
        self, document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool
    ) -> Encoded:
        return encode(document, model, facts, memory, self._flavor, strict=strict)

    def decode(self, answer: Document, model: str) -> Document:
        return decode(answer, model)

    def open_stream(self, model: str) -> AnthropicStream:
        return AnthropicStream(model, self._new_split() if self._new_split else None)

    def read_failure(self, status: int, body: bytes, headers: Headers = NO_HEADERS) -> UpstreamError:
        return read_body(status, body)
