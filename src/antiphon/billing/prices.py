"""What tokens cost: in whole micro-units, by the table of models. What nobody says the price of costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from antiphon.models.rows import Price, Rates
from antiphon.models.table import SETTINGS, ModelTable, packaged
from antiphon.routing.route import Route

MILLION: Final = 1_000_000
MOST_REMEMBERED: Final = 4096


class Used(NamedTuple):
    """Tokens of a turn by kind. `input` includes those that were cached or written to a cache, `output` reasoning."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0


NOTHING_USED: Final = Used()


class Priced(NamedTuple):
    amount: int  # micro-units
    version: str | None  # of the table that said so; None: nobody knows the price


NO_PRICE: Final = Priced(0, None)


class Worst(NamedTuple):
    """The dearest that a token of a route can cost, in micro-units for a million."""

    input: int
    output: int

    def money(self, input: int, output: int) -> int:
        """Rounded up."""
        return -(-(input * self.input + output * self.output) // MILLION)


class Prices:
    def __init__(self, table: ModelTable, vendors: Mapping[str, str | None]) -> None:
        """`vendors`: whose prices those of an upstream are."""
        self._table = table
        self._vendors = vendors
        self._found: dict[tuple[str, str], tuple[Price, str] | None] = {}
        self._worst: dict[tuple[str, str], Worst] = {}

    def price(self, upstream: str, model: str, used: Used) -> Priced:
        found = self._find(upstream, model)
        if found is None:
            return NO_PRICE
        price, version = found
        return Priced((_cost(price.at(used.input), used) + MILLION // 2) // MILLION, version)

    def worst(self, route: Route, model: str) -> Worst:
        """Over all targets of a route; `model`: that the client named."""
        known = self._worst.get((route.model, model))
        if known is None:
            known = _dearest(self._rates(route, model))
            if len(self._worst) >= MOST_REMEMBERED:
                self._worst.clear()
            self._worst[route.model, model] = known
        return known

    def _rates(self, route: Route, model: str) -> list[Rates]:
        found = [self._find(target.upstream, target.model or model) for target in route.targets]
        prices = [one[0] for one in found if one is not None]
        return [rates for price in prices for rates in (price, *price.tiers)]

    def _find(self, upstream: str, model: str) -> tuple[Price, str] | None:
        asked = upstream, model
        if asked not in self._found:
            if len(self._found) >= MOST_REMEMBERED:
                self._found.clear()
            found = self._table.find(model, self._vendors.get(upstream))
            price = None if found is None else found.price
            self._found[asked] = None
            if found is not None and price is not None:
                date = packaged().date
                self._found[asked] = price, f"{SETTINGS} {date}" if found.row.source == SETTINGS else date
        return self._found[asked]


def _dearest(rates: list[Rates]) -> Worst:
    inputs = [rate for one in rates for rate in (one.input, one.cached, one.cache_write, one.cache_write_1h)]
    outputs = [rate for one in rates for rate in (one.output, one.reasoning)]
    return Worst(max(filter(None, inputs), default=0), max(filter(None, outputs), default=0))


def _cost(rates: Rates, used: Used) -> int:
    """In micro-units x a million."""
    input = rates.input or 0
    output = input if rates.output is None else rates.output
    cached = input if rates.cached is None else rates.cached
    written = input if rates.cache_write is None else rates.cache_write
    reasoning = output if rates.reasoning is None else rates.reasoning
    fresh = max(0, used.input - used.cached - used.written)
    return (
        fresh * input
        + used.cached * cached
        + used.written * written
        + max(0, used.output - used.reasoning) * output
        + used.reasoning * reasoning
    )


def read_used(usage: Mapping[str, Any] | None) -> Used:
    """The tokens that a usage object tells."""
    if usage is None:
        return NOTHING_USED
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    cached = written = reasoning = 0
    if "prompt_tokens_details" in usage:
        cached = _count(usage["prompt_tokens_details"], "cached_tokens")
        written = _count(usage["prompt_tokens_details"], "cache_creation_tokens")
    if "completion_tokens_details" in usage:
        reasoning = _count(usage["completion_tokens_details"], "reasoning_tokens")
    input, output = _whole(prompt), _whole(completion)
    cached = min(cached, input)
    return Used(input, cached, min(written, input - cached), output, min(reasoning, output))


def _count(details: object, name: str) -> int:
    return _whole(details.get(name)) if isinstance(details, dict) else 0


def _whole(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
