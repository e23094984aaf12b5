"""Which models there are: those that the settings name, and those that upstreams behind patterns say they have.

Upstreams are asked when a client first asks, then again when what they said is old. Only the first question waits for
them, and not for long; later ones are answered with what is known. How large their contexts are is looked up when a
client first asks in a dialect that says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

from antiphon.dialects import DIALECTS
from antiphon.document import Document
from antiphon.routing.patterns import STAR, is_pattern, starred
from antiphon.routing.route import Route, RouteTable, Target
from antiphon.server.model_sizes import SizesOf, Unsized, read_context

FIRST_WAIT: Final = 2.0  # seconds
FRESH: Final = 300.0  # seconds
AGAIN: Final = 30.0  # seconds after a failure
KEPT: Final = frozenset({"id", *(key for dialect in DIALECTS.values() for key in dialect.model_keys)})

Ask = Callable[[], Awaitable[Sequence[Document]]]
Log = Callable[[str], None]


class ModelSource:
    """One upstream that can be asked."""

    def __init__(self, name: str, ask: Ask, changed: Callable[[], None], clock: Callable[[], float], log: Log) -> None:
        self.name = name
        self.models: Sequence[Document] = ()
        self.task: asyncio.Task[None] | None = None
        self.patience = FIRST_WAIT  # seconds for which the first task is waited for; then none is
        self._ask = ask
        self._changed = changed
        self._clock = clock
        self._log = log
        self._due = 0.0
        self._begun = 0.0

    def refresh(self) -> None:
        now = self._clock()
        if self.task is None and now >= self._due:
            self._begun = now
            self.task = asyncio.get_running_loop().create_task(self._refresh())
        elif now - self._begun >= self.patience:
            self.patience = 0.0

    async def _refresh(self) -> None:
        wait = AGAIN
        try:
            self.models = [self._complete(model) for model in await self._ask()]
            self._changed()
            wait = FRESH
        except Exception as error:
            self._log(f"upstream {self.name}: its models are not known: {error}")
        finally:
            self.task, self.patience, self._due = None, 0.0, self._clock() + wait

    def _complete(self, model: Document) -> Document:
        """What a dialect writes of it; lists can be long."""
        created, owner = model.get("created"), model.get("owned_by")
        kept = {key: value for key, value in model.items() if key in KEPT}
        kept["owned_by"] = owner if isinstance(owner, str) and owner else self.name
        if type(created) is int and created >= 0:
            kept["created"] = created
        if (context := read_context(model)) is not None:
            kept["context_length"] = context
        return kept


class Models:
    def __init__(
        self,
        routes: RouteTable,
        born: int,
        sources: Mapping[str, Ask],
        takes_any: frozenset[str],
        clock: Callable[[], float],
        log: Log,
        sizes: SizesOf,
    ) -> None:
        """`sources`: upstreams that may be asked; `takes_any`: those that answer to any name; `sizes`: how large a
        model's context is."""
        self._routes = routes
        self._born = born
        self._takes_any = takes_any
        self._sizes = sizes
        self._named = {name: self._describe(name, routes.find(name)) for name in routes.names()}
        asked = dict.fromkeys(target.upstream for route in routes.patterns() for target in _open_targets(route))
        self._sources = [
            ModelSource(name, sources[name], self._gather, clock, log) for name in asked if name in sources
        ]
        self._renamed = [
            (route, target)
            for route in routes.patterns()
            for target in _open_targets(route)
            if target.model is not None
        ]
        self._told: dict[str, Document] = {}  # by upstreams
        self._told_unsized = Unsized(sizes)
        self._waits: set[asyncio.Task[None]] = set()

    def list_all(self) -> list[Document]:
        return [*self._named.values(), *self._told.values()]

    def find(self, name: str, *, sized: bool) -> Document | None:
        if name in self._named:
            return self._named[name]
        route = self._routes.match_written(name)
        if route is None:
            return None
        if not self._answers_to_any(route):
            return self._told.get(name)
        model = self._describe(name, route)
        if sized:
            alone = Unsized(self._sizes)
            alone.add(model, *_first_target(name, route))
            alone.fill_some()
        return model

    def refresh(self, name: str | None = None, *, sized: bool) -> asyncio.Future[None] | None:
        """Before `list_all` or `find`: a future to wait for, or None where nothing has to be waited for. `sized`: with
        the sizes of contexts."""
        first: list[asyncio.Task[None]] = []
        if self._sources and (name is None or self._depends_on_sources(name)):
            for source in self._sources:
                source.refresh()
            first = [source.task for source in self._sources if source.task is not None and source.patience]
        if not first and (not sized or (self._named_unsized.fill_some() and self._told_unsized.fill_some())):
            return None
        wait = asyncio.get_running_loop().create_task(self._wait(first, sized))
        self._waits.add(wait)
        wait.add_done_callback(self._waits.discard)
        return wait

    async def close(self) -> None:
        tasks = [source.task for source in self._sources if source.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._waits, return_exceptions=True)

    async def _wait(self, tasks: Sequence[asyncio.Task[None]], sized: bool) -> None:
        if tasks:
            await asyncio.wait(tasks, timeout=FIRST_WAIT)
        if sized:
            await self._named_unsized.fill_all()
            await self._told_unsized.fill_all()

    @cached_property
    def _named_unsized(self) -> Unsized:
        unsized = Unsized(self._sizes)
        for name, model in self._named.items():
            unsized.add(model, *_first_target(name, self._routes.find(name)))
        return unsized

    def _depends_on_sources(self, name: str) -> bool:
        route = None if name in self._named else self._routes.match_written(name)
        return route is not None and not self._answers_to_any(route)

    def _answers_to_any(self, route: Route) -> bool:
        """A name that fits a pattern is answered whatever it is, where a target has a model of its own."""
        own = (target.model is not None and not is_pattern(target.model) for target in route.targets)
        return any(own) or any(target.upstream in self._takes_any for target in route.targets)

    def _gather(self) -> None:
        """What upstreams have and a pattern leads to, in their order."""
        told: dict[str, Document] = {}
        unsized = Unsized(self._sizes)
        for source in self._sources:
            for model in source.models:
                for name in self._client_names(source.name, model["id"]):
                    if name not in told and name not in self._named:
                        told[name] = {"created": self._born, **model, "id": name}
                        unsized.add(told[name], source.name, model["id"])
        self._told, self._told_unsized = told, unsized

    def _client_names(self, upstream: str, sent: str) -> list[str]:
        """What clients may call a model so that this upstream is sent this name."""
        names = [sent] if self._leads(sent, upstream, None) else []
        for route, target in self._renamed:
            star = starred(target.model or "", sent) if target.upstream == upstream else None
            if star is not None and self._leads(name := route.model.replace(STAR, star, 1), upstream, target.model):
                names.append(name)
        return names

    def _leads(self, name: str, upstream: str, model: str | None) -> bool:
        route = self._routes.match_written(name)
        return route is not None and any(
            target.upstream == upstream and target.model == model for target in _open_targets(route)
        )

    def _describe(self, name: str, route: Route) -> Document:
        return {"id": name, "object": "model", "created": self._born, "owned_by": route.targets[0].upstream}


def _open_targets(route: Route) -> list[Target]:
    """Those that are sent the client's own name, or a part of it."""
    return [target for target in route.targets if target.model is None or is_pattern(target.model)]


def _first_target(name: str, route: Route) -> tuple[str, str]:
    """(upstream, the model's name there)"""
    target = min(route.targets, key=lambda target: target.priority)
    return target.upstream, route.named(name).targets[route.targets.index(target)].model or name
