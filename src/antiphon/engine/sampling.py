"""A request's sampling as llama.cpp takes it. Only what is listed here reaches the engine."""

from __future__ import annotations

from typing import Any, Final

from antiphon.errors import RequestError

Document = dict[str, Any]
SEEDS: Final = 2**32 - 1  # llama.cpp's seeds have 32 bits, of which the last one means "any"
SAME_NAME: Final = ("top_p", "presence_penalty", "frequency_penalty")
OWN: Final = ("top_k", "min_p", "repeat_penalty")  # not OpenAI's; llama.cpp and its likes take them
# Where the client is silent. llama.cpp's own defaults, said here so that the fingerprint covers them.
DEFAULTS: Final[Document] = {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05}


def sampling(document: Document, choice: int) -> Document:
    """`choice`: which of the n; it draws with seed + choice."""
    order: Document = dict(DEFAULTS)
    if document.get("temperature") is not None:
        order["temperature"] = document["temperature"]
    for name in SAME_NAME:
        if document.get(name) is not None:
            order[name] = document[name]
    for name in OWN:
        if isinstance(document.get(name), int | float) and not isinstance(document[name], bool):
            order[name] = document[name]
    seed = document.get("seed")
    if seed is not None:
        order["seed"] = (seed + choice) % SEEDS
    if document.get("logit_bias"):
        order["logit_bias"] = [[_token(key), bias] for key, bias in document["logit_bias"].items()]
    stop = document.get("stop")
    if stop:
        order["stop"] = [word for word in ([stop] if isinstance(stop, str) else stop) if word]
    order["cache_prompt"] = not is_repeatable(document)
    return order


def is_repeatable(document: Document) -> bool:
    """Asked for by a seed or a temperature of 0. The prompt cache changes the last digits of the logits, and so do
    neighbours in a batch: such a request goes without the one, and its own choices are no neighbours."""
    return document.get("seed") is not None or document.get("temperature") == 0


def _token(key: str) -> int | str:
    """A token's id; llama.cpp also takes a text."""
    if key.isascii() and key.isdigit():
        if len(key) > 9:
            raise RequestError(
                f"Invalid key in 'logit_bias': {key[:20]} is no token of this model.", param="logit_bias"
            )
        return int(key)
    return key


def budget(document: Document, prompt: int, context: int) -> int:
    """How many tokens may be generated: what was asked for, and what the context leaves."""
    asked = document.get("max_completion_tokens")
    if asked is None:
        asked = document.get("max_tokens")
    room = context - prompt
    return room if asked is None else min(asked, room)
