"""TokenCounter, the flow's `Counter`: exact by the tokenizer process, by the rule of thumb where that cannot be."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

from antiphon.chat.outline import Outline
from antiphon.document import Document
from antiphon.flow.ports import Count
from antiphon.tokens.families import encoding_for
from antiphon.tokens.process import Tokenizer, TokenizerError
from antiphon.tokens.prompt import read_prompt
from antiphon.tokens.sample import CAP, TextSample, sample, sample_large
from antiphon.tokens.thumb import NAME, estimate
from antiphon.tokens.wire import Job

COMMAND = (sys.executable, "-P", "-m", "antiphon.tokens")  # -P: nothing from the current directory


@dataclass(frozen=True, slots=True)
class CounterTimeouts:
    """Seconds. Beyond `first` (a start, or an encoding not loaded yet) or `usual`, the rule of thumb answers."""

    first: float = 10.0
    usual: float = 2.0
    per_million: float = 1.0  # characters: long texts may take longer
    idle: float = 600.0  # an unused tokenizer is let go
    backoff: float = 5.0  # before a tokenizer is started again that died without a single answer


class TokenCounter:
    """One per worker. `count` never raises; `close` ends the tokenizer."""

    def __init__(
        self, command: tuple[str, ...] = COMMAND, patience: CounterTimeouts | None = None, cap: int = CAP
    ) -> None:
        self._command = command
        self._patience = patience or CounterTimeouts()
        self._cap = cap
        self._tokenizer: Tokenizer | None = None
        self._starting = asyncio.Lock()
        self._not_before = 0.0
        self._used = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._farewells: set[asyncio.Task[None]] = set()
        self._closed = False

    async def count(self, model: str, prompt: Document, answer: list[str], outline: Outline | None = None) -> Count:
        encoding = encoding_for(model)
        if outline is None:
            text = read_prompt(prompt)
            asked = sample(text.texts, self._cap)
        else:
            text = read_prompt(prompt, outline.size)
            asked = await sample_large(text.texts, outline, self._cap)
        if encoding is not None:
            try:
                return await self._exact(encoding, text.fixed, asked, answer)
            except (TokenizerError, OSError, RuntimeError, ValueError):
                pass  # no process to be had, or a text that JSON cannot carry: the rule of thumb still answers
        return Count(text.fixed + asked.scale(estimate(asked.texts)), estimate(answer), NAME)

    async def _exact(self, encoding: str, fixed: int, asked: TextSample, answer: list[str]) -> Count:
        said = sample(["".join(answer)], self._cap)
        tokenizer = await self._ready()
        patience = self._patience
        seconds = patience.usual if encoding in tokenizer.warm else patience.first
        seconds += patience.per_million * (asked.taken + said.taken) / 1e6
        tally = await tokenizer.ask(Job(encoding, asked.texts, said.texts), seconds)
        return Count(fixed + asked.scale(tally.prompt), said.scale(tally.answer), encoding)

    async def _ready(self) -> Tokenizer:
        """The running tokenizer, or a new one where there is none or it died."""
        loop = asyncio.get_running_loop()
        async with self._starting:
            tokenizer = self._tokenizer
            if self._closed:
                raise TokenizerError("the counter is closed")
            if tokenizer is None or not tokenizer.alive:
                if tokenizer is not None:
                    self._let_go(tokenizer)
                if loop.time() < self._not_before:
                    raise TokenizerError("the tokenizer does not start")
                tokenizer = self._tokenizer = await Tokenizer.start(self._command)
            self._used = loop.time()
            if self._idle_timer is None:
                self._idle_timer = loop.call_later(self._patience.idle, self._retire)
            return tokenizer

    def _let_go(self, tokenizer: Tokenizer) -> None:
        """Reaps it in the background. One that never answered is not replaced at once."""
        self._tokenizer = None
        if tokenizer.answered == 0:
            self._not_before = asyncio.get_running_loop().time() + self._patience.backoff
        farewell = asyncio.create_task(tokenizer.close())
        self._farewells.add(farewell)
        farewell.add_done_callback(self._farewells.discard)

    def _retire(self) -> None:
        """Runs once per idle period, not per count: it looks whether the tokenizer was used meanwhile."""
        loop = asyncio.get_running_loop()
        self._idle_timer = None
        if self._tokenizer is None:
            return
        if self._tokenizer.busy:
            self._used = loop.time()
        due = self._used + self._patience.idle
        if loop.time() >= due:
            self._let_go(self._tokenizer)
        else:
            self._idle_timer = loop.call_at(due, self._retire)

    async def close(self) -> None:
        self._closed = True
        async with self._starting:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
                self._idle_timer = None
            if self._tokenizer is not None:
                self._let_go(self._tokenizer)
        if self._farewells:
            await asyncio.gather(*self._farewells)
