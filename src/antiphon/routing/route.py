"""Public model names and the targets behind them. Built once from the settings, read for every turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from antiphon.errors import RouteError
from antiphon.routing.patterns import STAR, ModelPatterns, is_pattern, starred

ECHO_LIMIT: Final = 200
# No model's names [no-steps]: in the path of an upstream, servers would read them as steps (RFC 3986 §5.2.4).
STEPS: Final = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class Target:
    upstream: str
    model: str | None  # None: the client's name for it; a `*` in it is what the route's `*` stands for
    weight: int  # share among targets of the same priority; 0 = only after those that have one
    priority: int  # lower is tried first


@dataclass(frozen=True, slots=True)
class Route:
    model: str
    targets: tuple[Target, ...]

    @property
    def renames(self) -> bool:
        """Targets are sent a part of the client's name: `openai/*` leads to `*`."""
        return any(target.model is not None and is_pattern(target.model) for target in self.targets)

    def named(self, model: str) -> Route:
        """Its targets as a turn for this model sees them."""
        star = starred(self.model, model)
        if star is None:
            return self
        return replace(self, targets=tuple(_filled(target, star) for target in self.targets))


def _filled(target: Target, star: str) -> Target:
    model = target.model
    return target if model is None or STAR not in model else replace(target, model=model.replace(STAR, star, 1))


class RouteTable:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = {route.model: route for route in routes}
        self._patterns = ModelPatterns(name for name in self._routes if is_pattern(name))
        self._renaming = frozenset(route.model for route in self._routes.values() if route.renames)

    def find(self, model: str) -> Route:
        """The route of that very name, else that of the pattern that fits best."""
        route = self._routes.get(model) or self.match(model)
        if route is None:
            raise unknown_model(model)
        return route

    def match(self, model: str) -> Route | None:
        route = self.match_written(model)
        if route is None or route.model not in self._renaming:
            return route
        named = route.named(model)
        return None if any(target.model in STEPS for target in named.targets) else named

    def match_written(self, model: str) -> Route | None:
        """As the settings have it, with the `*` of its targets."""
        route = self._routes.get(model)
        if route is None:
            pattern = None if model in STEPS else self._patterns.find(model)
            route = None if pattern is None else self._routes[pattern]
        return route

    def named(self, model: str) -> Route | None:
        """The route of that very name, not one of a pattern."""
        return None if is_pattern(model) else self._routes.get(model)

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes.values())

    def names(self) -> list[str]:
        """Patterns are no names."""
        return [name for name in self._routes if not is_pattern(name)]

    def patterns(self) -> list[Route]:
        return [route for name, route in self._routes.items() if is_pattern(name)]


def unknown_model(model: str) -> RouteError:
    return RouteError(f"The model `{model[:ECHO_LIMIT]}` does not exist or you do not have access to it.")
