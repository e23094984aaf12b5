"""How large models' contexts are, in lists of models: as OpenRouter and Maritaca write it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from antiphon.document import Document
from antiphon.models.table import Sizes

AT_ONCE: Final = 100  # lookups of some 30 µs each
# Where upstreams say it: OpenRouter, Together, Fireworks and Maritaca; vLLM and SGLang; Groq; Mistral and LM Studio.
KEYS: Final = ("context_length", "max_model_len", "context_window", "max_context_length")

SizesOf = Callable[[str, str, Sizes], Sizes]  # upstream, model's name there, what the upstream told


class Unsized:
    """Models whose sizes have not been looked up yet."""

    def __init__(self, sizes: SizesOf) -> None:
        self._sizes = sizes
        self._models: deque[tuple[Document, str, str]] = deque()

    def add(self, model: Document, upstream: str, name: str) -> None:
        self._models.append((model, upstream, name))

    def fill_some(self) -> bool:
        """Whether none is left."""
        for _ in range(min(AT_ONCE, len(self._models))):
            model, upstream, name = self._models.popleft()
            _fill(model, self._sizes(upstream, name, _told(model)))
        return not self._models

    async def fill_all(self) -> None:
        """Others' turns go on between."""
        while self._models:
            self.fill_some()
            await asyncio.sleep(0)


def read_context(model: Document) -> int | None:
    """What an upstream says of its model."""
    return next((size for key in KEYS if (size := _size(model.get(key))) is not None), None)


def _told(model: Document) -> Sizes:
    provider = model.get("top_provider")
    output = provider.get("max_completion_tokens") if isinstance(provider, dict) else None
    return Sizes(_size(model.get("context_length")), _size(output))


def _size(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _fill(model: Document, sizes: Sizes) -> None:
    if sizes.context is None:
        return
    model["context_length"] = sizes.context
    if not isinstance(model.get("top_provider"), dict):
        model["top_provider"] = {"context_length": sizes.context, "max_completion_tokens": sizes.max_output}
