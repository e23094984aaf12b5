"""Public model names and the targets behind them. Built once from the settings, read for every turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from antiphon.errors import RouteError

ANY_MODEL: Final = "*"  # the route of every name that has none of its own; never listed (decision 11)
ECHO_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class Target:
    upstream: str
    model: str | None  # None: the client's name for it
    weight: int  # share among targets of the same priority; 0 = only after those that have one
    priority: int  # lower is tried first


@dataclass(frozen=True, slots=True)
class Route:
    model: str
    targets: tuple[Target, ...]


class RouteTable:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = {route.model: route for route in routes}
        self._any = self._routes.pop(ANY_MODEL, None)

    def find(self, model: str) -> Route:
        """The route of that very name, else the `*` route."""
        route = self._routes.get(model, self._any)
        if route is None:
            raise RouteError(f"The model `{model[:ECHO_LIMIT]}` does not exist or you do not have access to it.")
        return route

    def __iter__(self) -> Iterator[Route]:
        yield from self._routes.values()
        if self._any is not None:
            yield self._any

    def names(self) -> list[str]:
        return list(self._routes)
