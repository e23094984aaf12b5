"""POST /v1/embeddings: the model's mean hidden state over a text.

llama.cpp takes no more than one batch at a time for that, so a longer text is read in windows, whose vectors are
averaged by their length. That is a rough measure of likeness, as a small language model gives it, not a trained one.
A request may hold many texts: it gives its slot back after some windows, and takes its turn between the others'.
"""

from __future__ import annotations

import base64
import math
import struct
from functools import partial
from typing import Any, Final

from antiphon.document import Document
from antiphon.engine.engine import LONGEST_TOKEN, Engine
from antiphon.engine.launcher import BATCH
from antiphon.engine.native_client import NativeClient
from antiphon.engine.reply import send
from antiphon.engine.slot_queue import SlotTicket
from antiphon.errors import RequestError
from antiphon.http.server import Exchange

MOST_TOKENS: Final = 300_000  # in one request: OpenAI's bound
TURN: Final = 2  # windows that one turn reads: half a second on one core


async def embed(engine: Engine, document: Document, exchange: Exchange) -> None:
    inputs = _inputs(document["input"])
    form = document.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        text = f"Invalid value: '{str(form)[:64]}'. Supported values are: 'float' and 'base64'."
        raise RequestError(text, param="encoding_format", code="invalid_value")
    _check_sizes(engine, inputs)
    async with engine.slots.place() as ticket:
        texts = await engine.prepare(ticket, lambda native: _tokens(engine, native, inputs))
        vectors = await _vectors(engine, ticket, texts)
    vectors = [_shortened(vector, document.get("dimensions")) for vector in vectors]
    write = _base64 if form == "base64" else list
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


def _check_sizes(engine: Engine, inputs: list[str | list[int]]) -> None:
    for item in inputs:
        if isinstance(item, str):
            engine.check_size([item], param="input", what="input")
    least = sum(len(item) // LONGEST_TOKEN if isinstance(item, str) else len(item) for item in inputs)
    if least > MOST_TOKENS:
        raise _too_many(least)


async def _tokens(engine: Engine, native: NativeClient, inputs: list[str | list[int]]) -> list[list[int]]:
    texts: list[list[int]] = []
    for item in inputs:
        tokens = await engine.template.plain(native, item) if isinstance(item, str) else item
        if not tokens:
            raise RequestError("'input' must not be empty.", param="input")
        engine.check_length(len(tokens), param="input", what="input")
        engine.check_tokens(tokens, param="input" if len(inputs) == 1 else f"input[{len(texts)}]")
        texts.append(tokens)
    count = sum(map(len, texts))
    if count > MOST_TOKENS:
        raise _too_many(count)
    return texts


def _too_many(count: int) -> RequestError:
    """OpenAI's words, which name no parameter."""
    message = f"Requested {count} tokens, max {MOST_TOKENS} tokens per request"
    return RequestError(message, type="max_tokens_per_request", code="max_tokens_per_request")


async def _vectors(engine: Engine, ticket: SlotTicket, texts: list[list[int]]) -> list[list[float]]:
    windows = [
        (index, tokens[start : start + BATCH])
        for index, tokens in enumerate(texts)
        for start in range(0, len(tokens), BATCH)
    ]
    totals: list[list[float]] = [[] for _ in texts]
    for start in range(0, len(windows), TURN):
        turn = windows[start : start + TURN]
        found = await engine.in_slot(ticket, partial(_read, [window for _, window in turn]))
        for (index, window), vector in zip(turn, found, strict=True):
            total = totals[index] or [0.0] * len(vector)
            totals[index] = [a + b * len(window) for a, b in zip(total, vector, strict=True)]
    return [_unit(total) for total in totals]


async def _read(windows: list[list[int]], native: NativeClient) -> list[list[float]]:
    return [await native.embed(window) for window in windows]  # one after another: the slot is one


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
