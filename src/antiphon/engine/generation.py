"""One generation: llama.cpp's events read into words and an end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    text: str
    logprobs: list[Document] = field(default_factory=list)  # of its tokens, where asked for
    tokens: int = 0  # generated so far, with these


@dataclass(frozen=True, slots=True)
class End:
    cut: bool  # by the token limit or the context, not by the model's will or a stop word
    prompt: int  # tokens
    cached: int  # tokens of the prompt that came from the cache
    completion: int  # tokens


class Generates(Protocol):
    def generate(self, order: Document) -> AsyncGenerator[Document, None]: ...


async def generate(
    native: Generates, prompt: list[int], most: int, order: Document, *, top_logprobs: int | None = None
) -> AsyncGenerator[Words | End, None]:
    """`top_logprobs`: None where no logprobs were asked for. The last item is the End."""
    if most <= 0:
        yield End(cut=True, prompt=len(prompt), cached=0, completion=0)
        return
    order = {**order, "prompt": prompt, "n_predict": most, "stream": True, "return_progress": True}
    if top_logprobs is not None:
        order["n_probs"] = max(1, top_logprobs)
    held: list[Document] = []  # of tokens whose text is still to come: half a character, or the start of a stop word
    async with aclosing(native.generate(order)) as events:
        async for event in events:
            if event.get("stop"):
                stopped = event.get("stop_type")
                if event.get("content") or (held and stopped != "word"):
                    yield Words(event.get("content") or "", [] if stopped == "word" else held)
                timings = event.get("timings") or {}
                yield End(
                    cut=stopped == "limit" or bool(event.get("truncated")),
                    prompt=len(prompt),
                    cached=max(0, int(timings.get("cache_n") or 0)),
                    completion=int(event.get("tokens_predicted") or 0),
                )
                return
            held += [_entry(entry, top_logprobs or 0) for entry in event.get("completion_probabilities") or ()]
            if event.get("content"):
                yield Words(event["content"], held, int(event.get("tokens_predicted") or 0))
                held = []


def _entry(entry: Document, rivals: int) -> Document:
    """One token as OpenAI spells it."""
    return {
        **_token(entry),
        "top_logprobs": [_token(rival) for rival in (entry.get("top_logprobs") or ())[:rivals]],
    }


def _token(entry: Document) -> Document:
    return {"token": entry.get("token", ""), "logprob": entry.get("logprob"), "bytes": entry.get("bytes")}
