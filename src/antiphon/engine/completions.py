"""POST /v1/completions, the legacy endpoint: prompts continued as they are, without a chat template."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import Any, Final

from antiphon.document import Document
from antiphon.engine.engine import Engine
from antiphon.engine.generation import End, GeneratedText, generate, together, usage_of
from antiphon.engine.logprobs import LegacyLogprobs
from antiphon.engine.native_client import NativeClient
from antiphon.engine.reply import EVENTS, encode, send
from antiphon.engine.sampling import budget, is_repeatable, sampling
from antiphon.errors import RequestError
from antiphon.http.server import Exchange
from antiphon.sse import DONE, frame

USUAL_TOKENS: Final = 16  # OpenAI's default
MOST_CHOICES: Final = 128  # OpenAI's bound of `n`


class CompletionTurn:
    def __init__(self, engine: Engine, document: Document, exchange: Exchange) -> None:
        self._engine = engine
        self._document = document
        self._exchange = exchange
        self._streams = document.get("stream") is True
        self._head: Document = {}
        self._texts: dict[int, list[str]] = {}
        self._logprobs: dict[int, LegacyLogprobs] = {}
        self._finished: dict[int, str] = {}

    async def run(self) -> None:
        document, engine = self._document, self._engine
        given, n = _prompts(document.get("prompt")), document.get("n") or 1
        _refuse(document, len(given) * n)
        for prompt in given:
            if isinstance(prompt, str):
                engine.check_size([prompt], param="prompt", what="prompt")
        async with engine.slots.place() as ticket:
            prompts = await engine.prepare(ticket, lambda native: self._read(native, given))
            engine.check_sampling(document)
            self._head = engine.head("cmpl-", "text_completion")
            choices = [
                partial(engine.in_slot, ticket, partial(self._choice, position * n + index, index, tokens, echo))
                for position, (tokens, echo) in enumerate(prompts)
                for index in range(n)
            ]
            ends = await together(choices, one_by_one=is_repeatable(document))
        self._finish(usage_of(sum(len(tokens) for tokens, _ in prompts), ends))

    async def _read(self, native: NativeClient, given: list[str | list[int]]) -> list[tuple[list[int], str]]:
        """Of each prompt its tokens, and its text where that is to be said again."""
        engine, echoes = self._engine, self._document.get("echo") is True
        prompts: list[tuple[list[int], str]] = []
        for prompt in given:
            if isinstance(prompt, str):
                tokens, echo = await engine.template.plain(native, prompt), prompt if echoes else ""
            else:
                engine.check_length(len(prompt), param="prompt", what="prompt")
                engine.check_tokens(prompt, param="prompt" if len(given) == 1 else f"prompt[{len(prompts)}]")
                tokens = prompt
                echo = (await native.ask("/detokenize", {"tokens": prompt}))["content"] if echoes else ""
            engine.check_length(len(tokens), param="prompt", what="prompt")
            prompts.append((tokens or await self._nothing(native), echo))
        return prompts

    async def _nothing(self, native: NativeClient) -> list[int]:
        """Without a prompt the model begins a document, as OpenAI's do."""
        tokens = await self._engine.template.nothing(native)
        if not tokens:
            raise RequestError("Invalid 'prompt': this model cannot go on from an empty one.", param="prompt")
        return tokens

    async def _choice(self, place: int, index: int, prompt: list[int], echo: str, native: NativeClient) -> End:
        document = self._document
        asked = document if document.get("max_tokens") is not None else {**document, "max_tokens": USUAL_TOKENS}
        most = budget(asked, len(prompt), self._engine.context)
        order = sampling(document, index)
        async with aclosing(generate(native, prompt, most, order, top_logprobs=document.get("logprobs"))) as items:
            async for item in items:
                if echo:  # now that there is an answer
                    self._say(place, GeneratedText(echo))
                    echo = ""
                if isinstance(item, End):
                    self._end(place, "length" if item.cut else "stop")
                    return item
                self._say(place, item)
        raise AssertionError("a generation ends with its End")

    def _say(self, place: int, words: GeneratedText) -> None:
        said = self._texts.setdefault(place, [])
        logprobs = self._logprobs.setdefault(place, LegacyLogprobs())
        if not words.logprobs:
            logprobs.skip(words.text)
        if self._streams:
            self._put(place, words.text, logprobs.spell(words.logprobs) if words.logprobs else None, None)
        else:
            said.append(words.text)
            logprobs.entries += words.logprobs

    def _end(self, place: int, reason: str) -> None:
        self._finished[place] = reason
        if self._streams:
            self._put(place, "", None, reason)

    def _put(self, place: int, text: str, logprobs: Document | None, reason: str | None) -> None:
        if not self._exchange.status:
            self._exchange.start(200, EVENTS)
        choice = {"text": text, "index": place, "logprobs": logprobs, "finish_reason": reason}
        self._exchange.write(frame(encode({**self._head, "choices": [choice]})))

    def _finish(self, usage: Document) -> None:
        if not self._streams:
            send(self._exchange, {**self._head, "choices": self._choices(), "usage": usage})
            return
        if (self._document.get("stream_options") or {}).get("include_usage"):
            self._exchange.write(frame(encode({**self._head, "choices": [], "usage": usage})))
        self._exchange.write(DONE)
        self._exchange.finish()

    def _choices(self) -> list[Document]:
        return [
            {
                "text": "".join(self._texts.get(place, [])),
                "index": place,
                "logprobs": self._whole_logprobs(place) if self._document.get("logprobs") is not None else None,
                "finish_reason": self._finished[place],
            }
            for place in sorted(self._finished)
        ]

    def _whole_logprobs(self, place: int) -> Document:
        logprobs = self._logprobs.get(place) or LegacyLogprobs()
        return logprobs.spell(logprobs.entries)


def _refuse(document: Document, choices: int) -> None:
    """What this model cannot do, rather than something else in its place."""
    if document.get("suffix"):
        raise RequestError("This model does not support the 'suffix' parameter.", param="suffix")
    if (document.get("best_of") or 1) > (document.get("n") or 1):
        raise RequestError("This model does not support 'best_of' greater than 'n'.", param="best_of")
    if document.get("echo") is True and document.get("logprobs") is not None:
        raise RequestError("This model does not support 'logprobs' together with 'echo'.", param="echo")
    if choices > MOST_CHOICES:
        raise RequestError(
            f"Invalid 'prompt': too many prompts. This model gives at most {MOST_CHOICES} choices in one request, over "
            f"all prompts, but {choices} were asked for.",
            param="prompt",
            code="array_above_max_length",
        )


def _prompts(prompt: Any) -> list[str | list[int]]:
    """A text, token ids, or an array of either."""
    if prompt is None:
        return [""]
    if isinstance(prompt, str):
        return [prompt]
    if prompt and all(isinstance(item, int) for item in prompt):
        return [prompt]
    return list(prompt)
