"""What every endpoint of the host works with."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Final, TypeVar

import msgspec

from antiphon.document import Document
from antiphon.engine.launcher import BATCH, RunningEngine
from antiphon.engine.native_client import EngineLost, NativeClient
from antiphon.engine.options import EngineOptions
from antiphon.engine.sampling import DEFAULTS, PACKAGED_DEFAULTS, check_sampling
from antiphon.engine.schema.narrow import LARGE, SMALL, SchemaBounds
from antiphon.engine.slot_queue import SlotQueue, SlotTicket
from antiphon.engine.template import ChatTemplate
from antiphon.engine.watchdog import Watchdog
from antiphon.errors import RequestError

Found = TypeVar("Found")
MOMENT: Final = 0.01  # seconds
MOMENTS: Final = 100
SMALL_MODEL: Final = 600_000_000  # bytes
LONGEST_TOKEN: Final = 32  # characters: no text has so few tokens
REVISION: Final = 2  # of how we spell tools and read answers: raised when the same request may be answered differently


@dataclass(slots=True)
class Engine:
    options: EngineOptions
    slots: SlotQueue
    watchdog: Watchdog
    bounds: SchemaBounds = SMALL  # of what a schema leaves open
    template: ChatTemplate = field(init=False)

    def __post_init__(self) -> None:
        self.template = ChatTemplate(self.options.context)

    @property
    def _running(self) -> RunningEngine:
        """The engine that runs now. One that has just died is as lost as one that dies in a moment."""
        if self.watchdog.running is None:
            raise EngineLost(unreached=True)
        return self.watchdog.running

    @property
    def chat_defaults(self) -> Document:
        """How a chat answer in plain text is sampled where the client is silent. Larger models need no help."""
        return PACKAGED_DEFAULTS if self.options.model is None else DEFAULTS

    @property
    def native(self) -> NativeClient:
        return self._running.client

    @property
    def context(self) -> int:
        return self._running.context

    @property
    def vocabulary(self) -> int:
        return self._running.vocabulary

    async def prepare(self, ticket: SlotTicket, ask: Callable[[NativeClient], Awaitable[Found]]) -> Found:
        """What a request needs to know before it holds a slot. If the engine dies meanwhile, the next one is asked."""
        again = False
        while True:
            await self.slots.up(ticket)
            native = self.native
            try:
                return await ask(native)
            except EngineLost as lost:
                await self._wait_for_exit(native)
                if not lost.unreached and again:  # an engine may have died of this very question
                    raise
                again = again or not lost.unreached

    async def in_slot(self, ticket: SlotTicket, work: Callable[[NativeClient], Awaitable[Found]]) -> Found:
        """Work that holds a slot. Only what reached no engine, because that had just died, waits for the next one: what
        an engine may have died of is not tried again."""
        while True:
            async with self.slots.slot(ticket):
                native = self.native
                try:
                    return await work(native)
                except EngineLost as lost:
                    await self._wait_for_exit(native)
                    if not lost.unreached:
                        raise

    async def _wait_for_exit(self, native: NativeClient) -> None:
        """Until the engine's end has been noticed everywhere, so that its slots are not given to the next."""
        for _ in range(MOMENTS):
            if self.watchdog.running is None or self.watchdog.running.client is not native:
                return
            await asyncio.sleep(MOMENT)

    def head(self, prefix: str, kind: str) -> Document:
        """What every answer, and every chunk of it, begins with."""
        return {
            "id": prefix + secrets.token_hex(14),
            "object": kind,
            "created": int(time.time()),
            "model": self.options.name,
            "system_fingerprint": fingerprint(self.options.context, self._running.digest, self.chat_defaults),
        }

    def check_size(self, texts: Iterable[str], *, param: str, what: str) -> None:
        """Before anything is tokenised: megabytes would keep the engine busy for seconds, and make it grow. A message
        without a text has a token too."""
        lengths = [len(text) for text in texts]
        if len(lengths) > self.options.context or sum(lengths) > LONGEST_TOKEN * self.options.context:
            raise _too_long(self.options.context, "more than that", param, what)

    def check_length(self, tokens: int, *, param: str, what: str) -> None:
        if tokens >= self.context:
            raise _too_long(self.context, f"{tokens} tokens", param, what)

    def check_tokens(self, tokens: Sequence[int], *, param: str) -> None:
        """llama.cpp takes the last 32 bits of a number that is no token for one."""
        largest = self.vocabulary - 1
        if tokens and 0 <= min(tokens) <= max(tokens) <= largest:
            return
        position = next((position for position, token in enumerate(tokens) if not 0 <= token <= largest), 0)
        raise RequestError(
            f"Invalid '{param}[{position}]': no token of this model, whose tokens are 0 to {largest}.",
            param=f"{param}[{position}]",
            code="invalid_value",
        )

    def check_sampling(self, document: Document) -> None:
        check_sampling(document, self.vocabulary)


def _too_long(context: int, found: str, param: str, what: str) -> RequestError:
    return RequestError(
        f"This model's maximum context length is {context} tokens. However, your {what} resulted in {found}. "
        f"Please reduce the length of the {what}.",
        param=param,
        code="context_length_exceeded",
    )


def bounds_of(model: str | None) -> SchemaBounds:
    """By the size of the model's file: about a billion parameters know when they are done."""
    try:
        return LARGE if model is not None and os.stat(model).st_size > SMALL_MODEL else SMALL
    except OSError:
        return SMALL


def fingerprint(context: int, digest: str, chat_defaults: Document = DEFAULTS) -> str:
    """Changes exactly when the same request may be answered differently: engine, model file, what shapes sampling.
    The number of threads and of slots is not of that kind; the context is, because it ends answers."""
    try:
        engine = version("xllamacpp")
    except PackageNotFoundError:
        engine = "none"
    parts = [engine, digest, context, BATCH, DEFAULTS, chat_defaults, REVISION]
    return "fp_" + hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:10]
