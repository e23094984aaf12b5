"""What every endpoint of the host works with."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, TypeVar

import msgspec

from antiphon.engine.keeper import BATCH, Keeper
from antiphon.engine.line import Line, Ticket
from antiphon.engine.native_client import EngineLost, NativeClient
from antiphon.engine.options import EngineOptions
from antiphon.engine.sampling import DEFAULTS
from antiphon.engine.template import Template
from antiphon.errors import RequestError

Document = dict[str, Any]
Found = TypeVar("Found")
MOMENT: Final = 0.01  # seconds
MOMENTS: Final = 100
REVISION: Final = 1  # of how we spell tools and read answers: raised when the same request may be answered differently


@dataclass(slots=True)
class Engine:
    options: EngineOptions
    line: Line
    keeper: Keeper
    template: Template = field(default_factory=Template)

    @property
    def native(self) -> NativeClient:
        """The engine that runs now. One that has just died is as lost as one that dies in a moment."""
        if self.keeper.client is None:
            raise EngineLost(unreached=True)
        return self.keeper.client

    async def prepare(self, ticket: Ticket, ask: Callable[[NativeClient], Awaitable[Found]]) -> Found:
        """What a request needs to know before it holds a slot. Until then it waits for the next engine if one dies."""
        while True:
            await self.line.up(ticket)
            native = self.native
            try:
                return await ask(native)
            except EngineLost:
                await self._mourn(native)
                if asyncio.get_running_loop().time() > ticket.deadline:
                    raise

    async def in_slot(self, ticket: Ticket, work: Callable[[NativeClient], Awaitable[Found]]) -> Found:
        """Work that holds a slot. Only what reached no engine, because that had just died, waits for the next one: what
        an engine may have died of is not tried again."""
        while True:
            async with self.line.slot(ticket):
                native = self.native
                try:
                    return await work(native)
                except EngineLost as lost:
                    await self._mourn(native)
                    if not lost.unreached:
                        raise

    async def _mourn(self, native: NativeClient) -> None:
        """Until the engine's end has been noticed everywhere, so that its slots are not given to the next in line."""
        for _ in range(MOMENTS):
            if self.keeper.client is not native:
                return
            await asyncio.sleep(MOMENT)

    def head(self, prefix: str, kind: str) -> Document:
        """What every answer, and every chunk of it, begins with."""
        return {
            "id": prefix + secrets.token_hex(14),
            "object": kind,
            "created": int(time.time()),
            "model": self.options.name,
            "system_fingerprint": fingerprint(self.options, self.keeper.digest),
        }

    def check_length(self, tokens: int, *, param: str, what: str) -> None:
        context = self.options.context
        if tokens >= context:
            raise RequestError(
                f"This model's maximum context length is {context} tokens. However, your {what} resulted in {tokens} "
                f"tokens. Please reduce the length of the {what}.",
                param=param,
                code="context_length_exceeded",
            )


def fingerprint(options: EngineOptions, digest: str) -> str:
    """Changes exactly when the same request may be answered differently: engine, model file, what shapes sampling.
    The number of threads and of slots is not of that kind; the context is, because it ends answers."""
    try:
        engine = version("xllamacpp")
    except PackageNotFoundError:
        engine = "none"
    parts = [engine, digest, options.context, BATCH, DEFAULTS, REVISION]
    return "fp_" + hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:10]
