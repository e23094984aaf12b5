"""A request's sampling as llama.cpp takes it. Only what is listed here reaches the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from antiphon.chat.checks import Check, RequestFault, decimal, integer, out_of_range
from antiphon.chat.request import refusal
from antiphon.document import Document
from antiphon.errors import RequestError

SEEDS: Final = 2**32 - 1  # llama.cpp's seeds have 32 bits, of which the last one means "any"
SAME_NAME: Final = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
LEAST_PENALTY: Final = 0.001  # it is divided by
MOST_BIASES: Final = 300  # as OpenAI has it; tens of thousands make the engine grow


def check_penalty(value: Any, strict: bool) -> None:
    if type(value) in (int, float) and value < LEAST_PENALTY:
        raise out_of_range("decimal", value, "below", LEAST_PENALTY)
    decimal(0, 100)(value, strict)


# Not OpenAI's; llama.cpp and its likes take them. A top_k of 0 or -1 is none.
OWN: Final[Mapping[str, Check]] = {
    "min_p": decimal(0, 1),
    "repeat_penalty": check_penalty,
    "top_k": integer(-1, 2**31 - 1),
}
# Where the client is silent. llama.cpp's own defaults, said here so that the fingerprint covers them.
DEFAULTS: Final[Document] = {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05}
# Against repetition, in the chat answers of the packaged model: of single tokens, and of sequences longer than three
# (llama.cpp's DRY). A client's `repeat_penalty` takes the place of both.
REPETITION: Final[Document] = {
    "repeat_penalty": 1.05,
    "dry_multiplier": 0.8,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": 512,
}
END_OF_TURN: Final = 2  # the packaged model's token <|im_end|>
# So small a model rarely comes to an end by itself (bench/endings.py): the end of its turn is made likelier.
PACKAGED_DEFAULTS: Final[Document] = {
    "temperature": 0.3,
    "top_p": 0.9,
    "top_k": 40,
    "min_p": 0.05,
    **REPETITION,
    "logit_bias": [[END_OF_TURN, 5.0]],
}


def sampling(document: Document, choice: int, defaults: Document = DEFAULTS) -> Document:
    """`choice`: which of the n; it draws with seed + choice. `defaults`: where the document is silent. A temperature of
    0 asks for the likeliest token, so nothing of ours may make another one likelier."""
    order: Document = dict(DEFAULTS if document.get("temperature") == 0 else defaults)
    if document.get("repeat_penalty") is not None:
        for name in REPETITION:
            order.pop(name, None)
    for name in (*SAME_NAME, *OWN):
        if document.get(name) is not None:
            order[name] = document[name]
    seed = document.get("seed")
    if seed is not None:
        order["seed"] = (seed + choice) % SEEDS
    if document.get("logit_bias"):
        own = [[_token(key), bias] for key, bias in document["logit_bias"].items()]
        named = {token for token, _ in own}
        order["logit_bias"] = [pair for pair in order.get("logit_bias", ()) if pair[0] not in named] + own
    stop = document.get("stop")
    if stop:
        order["stop"] = [word for word in ([stop] if isinstance(stop, str) else stop) if word]
    order["cache_prompt"] = not is_repeatable(document)
    return order


def is_repeatable(document: Document) -> bool:
    """Asked for by a seed or a temperature of 0. The prompt cache changes the last digits of the logits, and so do
    neighbours in a batch: such a request goes without the one, and its own choices are no neighbours."""
    return document.get("seed") is not None or document.get("temperature") == 0


def check_sampling(document: Document, vocabulary: int) -> None:
    """What the gateway has not checked, because other upstreams have their own ideas of it."""
    for name, check in OWN.items():
        if document.get(name) is not None:
            try:
                check(document[name], True)
            except RequestFault as fault:
                fault.under(name)
                raise refusal(fault) from None
    biases = document.get("logit_bias") or {}
    if len(biases) > MOST_BIASES:
        raise RequestError(
            f"Invalid 'logit_bias': too many properties. Expected an object with at most {MOST_BIASES} properties, "
            f"but got an object with {len(biases)} properties instead.",
            param="logit_bias",
            code="object_above_max_properties",
        )
    for key in biases:
        token = _token(key)
        if isinstance(token, int) and token >= vocabulary:  # OpenAI's words
            raise RequestError(
                f"Invalid key in 'logit_bias': {key[:20]}. Maximum value is {vocabulary - 1}.", param="logit_bias"
            )


def _token(key: str) -> int | str:
    """A token's id; llama.cpp also takes a text."""
    return int(key[:18]) if key.isascii() and key.isdigit() else key


def budget(document: Document, prompt: int, context: int) -> int:
    """How many tokens may be generated: what was asked for, and what the context leaves."""
    asked = document.get("max_completion_tokens")
    if asked is None:
        asked = document.get("max_tokens")
    room = context - prompt
    return room if asked is None else min(asked, room)
