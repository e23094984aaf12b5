"""A worker and its generations: what is made anew when settings are reloaded, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.accounts.completions.client import CompletionClient
from antiphon.document import Document
from antiphon.engine.options import EngineOptions
from antiphon.entropy import Entropy
from antiphon.evaluators.composite import Composite
from antiphon.evaluators.config import EvaluatorConfig
from antiphon.flow.ports import Judge
from antiphon.flow.turn import Meter
from antiphon.http.server import Request, Server
from antiphon.log import Log
from antiphon.server.app import App
from antiphon.settings import Settings
from antiphon.tokens import TokenCounter
from antiphon.upstreams.client import HttpUpstream
from antiphon.upstreams.scripted import ScriptedUpstream
from antiphon.wiring_accounts import AccountsPlan, WorkerAccounts


@dataclass(slots=True)
class WorkerParts:
    """What a worker has once, whatever its settings are."""

    born: int
    room: str
    ready: Callable[[], str | None]
    engine: EngineOptions | None
    evaluators: EvaluatorConfig | None
    judge: Judge | None
    meter: Meter | None
    plan: AccountsPlan | None  # None: accounts are off
    log: Log
    counter: TokenCounter
    entropy: Entropy
    completions: CompletionClient | None
    sockets: Iterator[int]  # numbers for the sockets of scripted upstreams
    number: int = 0  # of the worker
    accounts: WorkerAccounts | None = None  # opened by the first generation


@dataclass(frozen=True, slots=True)
class Generation:
    """What is made anew when settings are reloaded. New turns begin in the newest; old ones end where they began."""

    settings: Settings
    app: App
    upstreams: Mapping[str, HttpUpstream]
    scripted: Mapping[str, ScriptedUpstream]
    judge: Composite | None
    beside: tuple[asyncio.Task[None], ...] = ()  # work that goes on while requests are answered

    async def close(self, others: Sequence[Generation] = ()) -> None:
        """All but what one of the others uses too."""
        await self.app.close()
        for task in self.beside:
            task.cancel()
        await asyncio.gather(*self.beside, return_exceptions=True)
        if self.judge is not None and not any(other.judge is self.judge for other in others):
            await self.judge.close()
        for name, upstream in self.upstreams.items():
            if not any(other.upstreams.get(name) is upstream for other in others):
                await upstream.close()
        for name, scripted in self.scripted.items():
            if not any(other.scripted.get(name) is scripted for other in others):
                await scripted.stop()


@dataclass(slots=True)
class Worker:
    server: Server
    parts: WorkerParts
    current: Generation
    retired: list[Generation] = field(default_factory=list)  # the oldest first; their turns are still under way
    beside: tuple[asyncio.Task[None], ...] = ()  # as those of a generation

    @property
    def app(self) -> App:
        return self.current.app

    @property
    def judge(self) -> Composite | None:
        return self.current.judge

    @property
    def log(self) -> Log:
        return self.parts.log

    @property
    def open_turns(self) -> int:
        return sum(one.app.turns.open_turns for one in self.generations)

    @property
    def generations(self) -> list[Generation]:
        return [*self.retired, self.current]

    async def list_turns(self, data: bytes) -> list[Document]:
        """For the control process."""
        return [turn for one in self.generations for turn in one.app.turns.describe()]

    def wants_body(self, request: Request) -> bool:
        """Connections outlive settings: they ask the newest."""
        return self.current.app.wants_body(request)

    def give_up(self) -> None:
        for one in self.generations:
            one.app.give_up()

    def use(self, new: Generation) -> Generation:
        """New turns begin in `new`. -> the generation before, whose turns go on."""
        old, self.current = self.current, new
        self.retired.append(old)
        self.server.hand_to(new.app.handle, new.app.render_fault)
        return old

    async def close(self) -> None:
        while self.retired:
            await self.retired.pop().close(self.generations)
        await self.current.close()
        if self.parts.completions is not None:
            await self.parts.completions.close()
        for task in self.beside:
            task.cancel()
        await asyncio.gather(*self.beside, return_exceptions=True)
        if self.parts.accounts is not None:
            await self.parts.accounts.close()
        await self.parts.counter.close()
        self.log.close()
