"""POST /v1/completions, the legacy endpoint: prompts continued as they are, without a chat template."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import Any, Final

from antiphon.engine.engine import Engine
from antiphon.engine.generation import End, Words, generate
from antiphon.engine.native_client import NativeClient
from antiphon.engine.reply import EVENTS, encode, send
from antiphon.engine.sampling import budget, is_repeatable, sampling
from antiphon.engine.usage import together, usage_of
from antiphon.errors import RequestError
from antiphon.http.server import Exchange
from antiphon.sse import DONE, frame

Document = dict[str, Any]
USUAL_TOKENS: Final = 16  # OpenAI's default


class CompletionTurn:
    def __init__(self, engine: Engine, document: Document, exchange: Exchange) -> None:
        self._engine = engine
        self._document = document
        self._exchange = exchange
        self._streams = document.get("stream") is True
        self._head: Document = {}
        self._texts: dict[int, list[str]] = {}
        self._logprobs: dict[int, list[Document]] = {}
        self._finished: dict[int, str] = {}

    async def run(self) -> None:
        document, engine = self._document, self._engine
        _refuse(document)
        for prompt in _prompts(document.get("prompt")):
            if isinstance(prompt, str):
                engine.check_size([prompt], param="prompt", what="prompt")
        n = document.get("n") or 1
        async with engine.line.place() as ticket:
            prompts = await engine.prepare(ticket, self._prompts)
            self._head = engine.head("cmpl-", "text_completion")
            for tokens, _ in prompts:
                engine.check_length(len(tokens), param="prompt", what="prompt")
            choices = [
                engine.in_slot(ticket, partial(self._choice, position * n + index, index, tokens, echo))
                for position, (tokens, echo) in enumerate(prompts)
                for index in range(n)
            ]
            ends = await together(choices, one_by_one=is_repeatable(document))
        self._finish(usage_of(sum(len(tokens) for tokens, _ in prompts), ends))

    async def _prompts(self, native: NativeClient) -> list[tuple[list[int], str]]:
        """Of each its tokens, and its text where that is to be said again."""
        echoes = self._document.get("echo") is True
        prompts = []
        for prompt in _prompts(self._document.get("prompt")):
            if isinstance(prompt, str):
                prompts.append((await self._engine.template.plain(native, prompt), prompt if echoes else ""))
            else:
                echo = (await native.ask("/detokenize", {"tokens": prompt}))["content"] if echoes else ""
                prompts.append((prompt, echo))
        return prompts

    async def _choice(self, place: int, index: int, prompt: list[int], echo: str, native: NativeClient) -> End:
        document = self._document
        asked = document if document.get("max_tokens") is not None else {**document, "max_tokens": USUAL_TOKENS}
        most = budget(asked, len(prompt), self._engine.context)
        order = sampling(document, index)
        async with aclosing(generate(native, prompt, most, order, top_logprobs=document.get("logprobs"))) as items:
            async for item in items:
                if echo:  # now that there is an answer
                    self._say(place, Words(echo))
                    echo = ""
                if isinstance(item, End):
                    self._end(place, "length" if item.cut else "stop")
                    return item
                self._say(place, item)
        raise AssertionError("a generation ends with its End")

    def _say(self, place: int, words: Words) -> None:
        said = self._texts.setdefault(place, [])
        offset = sum(map(len, said))
        said.append(words.text)
        logprobs = self._logprobs.setdefault(place, [])
        if self._streams:
            self._put(place, words.text, _legacy(words.logprobs, offset) if words.logprobs else None, None)
        else:
            logprobs += words.logprobs

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
                "logprobs": _legacy(self._logprobs.get(place, []), 0)
                if self._document.get("logprobs") is not None
                else None,
                "finish_reason": self._finished[place],
            }
            for place in sorted(self._finished)
        ]


def _refuse(document: Document) -> None:
    """What this model cannot do, rather than something else in its place."""
    if document.get("suffix"):
        raise RequestError("This model does not support the 'suffix' parameter.", param="suffix")
    if (document.get("best_of") or 1) > (document.get("n") or 1):
        raise RequestError("This model does not support 'best_of' greater than 'n'.", param="best_of")
    if document.get("echo") is True and document.get("logprobs") is not None:
        raise RequestError("This model does not support 'logprobs' together with 'echo'.", param="echo")


def _prompts(prompt: Any) -> list[str | list[int]]:
    """A text, token ids, or an array of either."""
    if prompt is None:
        return [""]
    if isinstance(prompt, str):
        return [prompt]
    if prompt and all(isinstance(item, int) for item in prompt):
        return [prompt]
    return list(prompt)


def _legacy(entries: list[Document], offset: int) -> Document:
    """The logprobs object of this endpoint, which is not that of chat."""
    offsets = []
    for entry in entries:
        offsets.append(offset)
        offset += len(entry["token"])
    return {
        "tokens": [entry["token"] for entry in entries],
        "token_logprobs": [entry["logprob"] for entry in entries],
        "top_logprobs": [{rival["token"]: rival["logprob"] for rival in entry["top_logprobs"]} for entry in entries],
        "text_offset": offsets,
    }
