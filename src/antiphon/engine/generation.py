"""One generation: llama.cpp's events read into words and an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from antiphon.document import Document
from antiphon.engine.logprobs import UNREADABLE, TokenLogprobs


@dataclass(frozen=True, slots=True)
class GeneratedText:
    text: str
    logprobs: list[Document] = field(default_factory=list)  # of its tokens, where asked for
    tokens: int = 0  # generated so far, with these


@dataclass(frozen=True, slots=True)
class End:
    cut: bool  # by the token limit or the context, not by the model's will or a stop word
    prompt: int  # tokens
    cached: int  # tokens of the prompt that came from the cache
    completion: int  # tokens
    word: bool = False  # a stop word of the client's ended it


class Generates(Protocol):
    def generate(self, order: Document) -> AsyncGenerator[Document, None]: ...

    async def ask(self, path: str, question: Document) -> Document: ...


async def generate(
    native: Generates, prompt: list[int], most: int, order: Document, *, top_logprobs: int | None = None
) -> AsyncGenerator[GeneratedText | End, None]:
    """`top_logprobs`: None where no logprobs were asked for. The last item is the End."""
    if most <= 0:
        yield End(cut=True, prompt=len(prompt), cached=0, completion=0)
        return
    order = {**order, "prompt": prompt, "n_predict": most, "stream": True, "return_progress": True}
    if top_logprobs is not None:
        order["n_probs"] = max(1, top_logprobs)
    if order.get("stop"):
        order["return_tokens"] = True
    logprobs, held = TokenLogprobs(native, top_logprobs or 0), HeldText()
    async with aclosing(native.generate(order)) as events:
        async for event in events:
            text, completion = event.get("content") or "", int(event.get("tokens_predicted") or 0)
            logprobs.hear(event)
            if event.get("stop"):
                if event.get("stop_type") == "limit" and not text and held.tokens:
                    text = await held.text(native)
                if text:
                    yield GeneratedText(text, await logprobs.take(text), completion)
                yield _end(event, len(prompt), completion)
                return
            held.hear(event, completion)
            if text:
                yield GeneratedText(text, await logprobs.take(text), completion)


class HeldText:
    """Tokens that may begin a stop word. llama.cpp keeps their text back, and forgets it where the limit comes next."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._count = 0
        self._whole = True  # none is missing: those that end inside a character are not told

    def hear(self, event: Document, count: int) -> None:
        if event.get("content"):
            self.tokens, self._whole = [], True
        elif count:
            self._whole = self._whole and count == self._count + 1
            self.tokens += event.get("tokens") or () if self._whole else ()
        self._count = count

    async def text(self, native: Generates) -> str:
        answer = await native.ask("/detokenize", {"tokens": self.tokens})
        return str(answer["content"]).rstrip(UNREADABLE)


def _end(event: Document, prompt: int, completion: int) -> End:
    timings = event.get("timings") or {}
    return End(
        cut=event.get("stop_type") == "limit" or bool(event.get("truncated")),
        prompt=prompt,
        cached=max(0, int(timings.get("cache_n") or 0)),
        completion=completion,
        word=event.get("stop_type") == "word",
    )


# The tokens of a request: its prompts once, what was generated in all.


def usage_of(prompts: int, ends: list[End]) -> Document:
    """`cached`: of the first choice; the others find all of the prompt in the cache, by the first one's doing."""
    completion = sum(end.completion for end in ends)
    return {
        "prompt_tokens": prompts,
        "completion_tokens": completion,
        "total_tokens": prompts + completion,
        "prompt_tokens_details": {"cached_tokens": ends[0].cached if ends else 0},
    }


async def together(choices: Iterable[Callable[[], Coroutine[Any, Any, End]]], *, one_by_one: bool) -> list[End]:
    """All choices; the first failure ends the others and is the failure of all. None is begun before its turn.

    `one_by_one`: what is generated side by side changes each other's last digits, and so is not repeatable.
    """
    if one_by_one:
        return [await choice() for choice in choices]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(choice()) for choice in choices]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
