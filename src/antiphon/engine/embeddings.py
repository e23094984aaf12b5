"""POST /v1/embeddings: the model's mean hidden state over a text.

llama.cpp takes no more than one batch at a time for that, so a longer text is read in windows, whose vectors are
averaged by their length. That is a rough measure of likeness, as a small language model gives it, not a trained one.
"""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

from antiphon.engine.engine import Engine
from antiphon.engine.native_client import NativeClient
from antiphon.engine.reply import send
from antiphon.engine.starter import BATCH
from antiphon.engine.template import Template
from antiphon.errors import RequestError
from antiphon.http.server import Exchange

Document = dict[str, Any]


async def embed(engine: Engine, document: Document, exchange: Exchange) -> None:
    inputs = _inputs(document["input"])
    for item in inputs:
        if isinstance(item, str):
            engine.check_size([item], param="input", what="input")
    async with engine.line.place() as ticket:
        texts = await engine.prepare(ticket, lambda native: _tokens(engine.template, native, inputs))
        for tokens in texts:
            engine.check_length(len(tokens), param="input", what="input")
        vectors = await engine.in_slot(ticket, lambda native: _vectors(native, texts))
    vectors = [_shortened(vector, document.get("dimensions")) for vector in vectors]
    write = _base64 if document.get("encoding_format") == "base64" else list
    count = sum(map(len, texts))
    answer = {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": write(vector)} for index, vector in enumerate(vectors)
        ],
        "model": engine.options.name,
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }
    send(exchange, answer)


def _inputs(given: Any) -> list[str | list[int]]:
    if isinstance(given, str) or (given and all(isinstance(item, int) for item in given)):
        return [given]
    return list(given)


async def _tokens(template: Template, native: NativeClient, inputs: list[str | list[int]]) -> list[list[int]]:
    texts = [await template.plain(native, item) if isinstance(item, str) else item for item in inputs]
    if not all(texts):
        raise RequestError("'input' must not be empty.", param="input")
    return texts


async def _vectors(native: NativeClient, texts: list[list[int]]) -> list[list[float]]:
    return [await _vector(native, tokens) for tokens in texts]


async def _vector(native: NativeClient, tokens: list[int]) -> list[float]:
    windows = [tokens[start : start + BATCH] for start in range(0, len(tokens), BATCH)]
    total: list[float] = []
    for window in windows:  # one after another: the slot is one
        vector = await native.embed(window)
        total = [a + b * len(window) for a, b in zip(total or [0.0] * len(vector), vector, strict=True)]
    return _unit(total)


def _shortened(vector: list[float], dimensions: int | None) -> list[float]:
    if dimensions is None or dimensions == len(vector):
        return vector
    if dimensions > len(vector):
        raise RequestError(
            f"Invalid value for 'dimensions': this model's embeddings have {len(vector)} dimensions.",
            param="dimensions",
        )
    return _unit(vector[:dimensions])


def _unit(vector: list[float]) -> list[float]:
    length = math.sqrt(math.fsum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
