"""The wired whole: a frozen set of ports and tables that turns are answered with. Built in `wiring`, per worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.bounds import JsonBounds
from antiphon.dialects import Dialect
from antiphon.flow.ports import Counter, Judge, Ledger, Upstream
from antiphon.flow.stored import CompletionStore
from antiphon.flow.turn import Billing, Meter
from antiphon.routing.route import RouteTable
from antiphon.safety.policies import Policies

DEFAULT_BOUNDS: Final = JsonBounds()
NO_POLICIES: Final = Policies(None)


@dataclass(frozen=True, slots=True)
class Gateway:
    routes: RouteTable
    upstreams: Mapping[str, Upstream]
    dialects: Mapping[str, Dialect]
    counter: Counter
    ledger: Ledger
    clock: Callable[[], float]  # monotonic seconds
    wall: Callable[[], float]  # Unix seconds
    draw: Callable[[], float]  # a random number in [0, 1), for weights
    entropy: Callable[[int], bytes]  # random bytes, for ids
    maritaca_object: str
    judge: Judge | None = None  # None: nothing is judged
    policies: Policies = NO_POLICIES
    bounds: JsonBounds = DEFAULT_BOUNDS  # of the JSON of requests
    meter: Meter | None = None  # None: nothing is counted
    billing: Billing | None = None  # None: there are no limits and no ledger
    completions: CompletionStore | None = None  # who keeps answers; None: nobody

    def stamp(self, dialect: Dialect, model: str) -> AnswerDefaults:
        """What an answer of this target needs to know from outside."""
        entropy = self.entropy
        return AnswerDefaults(
            model=model,
            now=int(self.wall()),
            keeps_id=dialect.keeps_id,
            new_id=lambda: dialect.new_id(entropy(16)),
            new_call_id=lambda: "call_" + entropy(12).hex(),
        )
