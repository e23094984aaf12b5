"""A turn's plan: the order in which a route's targets are tried. Randomness is an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter

from antiphon.routing.route import Route, Target


def plan(route: Route, draw: Callable[[], float]) -> tuple[Target, ...]:
    """By ascending priority; within one, at random in proportion to the weights. `draw` gives a number in [0, 1)."""
    if len(route.targets) == 1:
        return route.targets
    by_priority = attrgetter("priority")
    ranked = groupby(sorted(route.targets, key=by_priority), by_priority)
    return tuple(target for _, equals in ranked for target in shuffle(equals, draw))


def shuffle(targets: Iterable[Target], draw: Callable[[], float]) -> list[Target]:
    """Without replacement: each place goes to one of those left, by weight. Those without weight close the row."""
    equals = list(targets)
    left = [target for target in equals if target.weight > 0]
    idle = [target for target in equals if target.weight <= 0]
    order: list[Target] = []
    while len(left) > 1:
        order.append(left.pop(pick(left, draw())))
    return order + left + idle


def pick(targets: list[Target], share: float) -> int:
    point = share * sum(target.weight for target in targets)
    for index, target in enumerate(targets):
        point -= target.weight
        if point < 0:
            return index
    return len(targets) - 1  # rounding may leave a share of almost 1 just past the end
