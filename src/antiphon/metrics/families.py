"""Every metric that workers count, as data: its name, its labels, and where its numbers stand in a worker's part.

A label's values are known beforehand: fixed words, or names of the settings. A name that is not among them is `other`.
So the size of the file is fixed, and no client can add a series.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final, Literal

ROUTE: Final = "route"
UPSTREAM: Final = "upstream"
OTHER: Final = "other"
MOST_NAMES: Final = {ROUTE: 256, UPSTREAM: 128}  # the names beyond are `other`

Labels = tuple[tuple[str, tuple[str, ...] | None], ...]  # None: names of the settings

OUTCOMES: Final = ("answered", "blocked", "refused", "limited", "upstream_failed", "overloaded", "aborted", "failed")
ATTEMPTS: Final = ("answered", "failed", "refused", "cancelled")
KINDS: Final = ("input", "output", "cached_input", "reasoning_output")
SOURCES: Final = ("reported", "estimated")
STREAMED: Final = ("false", "true")
STAGES: Final = ("prompt", "answer")

# Seconds. Upper bounds, as Prometheus has them (`le`).
DURATIONS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
OWN_TIMES: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass(frozen=True, slots=True)
class Family:
    """`buckets`: of a histogram. Its numbers are one for each bucket, one beyond the last, and the sum of seconds."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Labels = ()
    buckets: tuple[float, ...] = ()
    by: Literal["sum", "max", "worker"] = "sum"  # how the numbers of workers become one; "worker": one for each
    scale: float = 1.0  # of what is shown, to what is counted

    @property
    def width(self) -> int:
        return len(self.buckets) + 2 if self.buckets else 1

    @property
    def size(self) -> int:
        """Numbers in a worker's part."""
        return self.width * prod(len(values) if values else MOST_NAMES[name] + 1 for name, values in self.labels)


TURNS: Final = Family(
    "antiphon_turns", "counter", "Turns that have ended, by outcome.", ((ROUTE, None), ("outcome", OUTCOMES))
)
TURN_SECONDS: Final = Family(
    "antiphon_turn_duration_seconds",
    "histogram",
    "From a request's arrival to the end of its answer; turns that were answered.",
    (("stream", STREAMED),),
    DURATIONS,
)
FIRST_CHUNK: Final = Family(
    "antiphon_time_to_first_chunk_seconds",
    "histogram",
    "From a request's arrival until the first chunk of its stream was ready for the client.",
    (),
    DURATIONS,
)
ADDED: Final = Family(
    "antiphon_added_seconds",
    "histogram",
    "The part of that time (of whole answers: of the turn's) in which no upstream was being waited for.",
    (("stream", STREAMED),),
    OWN_TIMES,
)
HELD: Final = Family(
    "antiphon_guard_held_seconds",
    "histogram",
    "How long the first chunk of a judged stream was held before it left.",
    (),
    OWN_TIMES,
)
CHUNK_LAG: Final = Family(
    "antiphon_chunk_lag_seconds",
    "histogram",
    "From an upstream's bytes to the client's socket; one chunk of 64 is timed.",
    (),
    OWN_TIMES,
)
BLOCKED: Final = Family("antiphon_blocked", "counter", "Turns in which something was blocked.", (("stage", STAGES),))
TOKENS: Final = Family(
    "antiphon_tokens",
    "counter",
    "Tokens of turns: reported by the upstream, or estimated. input includes cached_input, output reasoning_output.",
    ((UPSTREAM, None), ("kind", KINDS), ("source", SOURCES)),
)
COST: Final = Family(
    "antiphon_cost_usd",
    "counter",
    "What turns cost, by the table of prices. The ledger is exact; what nobody knows the price of is not in it.",
    ((UPSTREAM, None),),
    scale=1e-6,
)
UPSTREAM_ATTEMPTS: Final = Family(
    "antiphon_upstream_attempts",
    "counter",
    "Tries at upstreams that have ended, by outcome.",
    ((UPSTREAM, None), ("outcome", ATTEMPTS)),
)
UPSTREAM_SECONDS: Final = Family(
    "antiphon_upstream_duration_seconds",
    "histogram",
    "From an attempt's beginning to its end; attempts that were answered.",
    ((UPSTREAM, None),),
    DURATIONS,
)
UPSTREAM_FIRST: Final = Family(
    "antiphon_upstream_time_to_first_chunk_seconds",
    "histogram",
    "From an attempt's beginning to the first chunk of its stream.",
    ((UPSTREAM, None),),
    DURATIONS,
)
LAST_ANSWERED: Final = Family(
    "antiphon_upstream_last_answer_timestamp_seconds",
    "gauge",
    "When the upstream last answered an attempt.",
    ((UPSTREAM, None),),
    by="max",
)
LAST_FAILED: Final = Family(
    "antiphon_upstream_last_failure_timestamp_seconds",
    "gauge",
    "When an attempt at the upstream last failed.",
    ((UPSTREAM, None),),
    by="max",
)
LOOP_LAG: Final = Family(
    "antiphon_event_loop_lag_seconds",
    "histogram",
    "How much later than asked for a worker's timer came, twice a second.",
    (),
    OWN_TIMES,
)
OPEN_TURNS: Final = Family("antiphon_open_turns", "gauge", "Turns under way, twice a second.", by="worker")
CONNECTIONS: Final = Family("antiphon_open_connections", "gauge", "Client connections of a worker.", by="worker")
GENERATION: Final = Family(
    "antiphon_worker_settings_generation", "gauge", "The generation of settings that a worker uses.", by="worker"
)
EVALUATORS: Final = Family(
    "antiphon_evaluators_ready",
    "gauge",
    "1: a worker has an evaluator process that is ready; 0: none, or they are overloaded.",
    by="worker",
)

FAMILIES: Final = (
    *(TURNS, TURN_SECONDS, FIRST_CHUNK, ADDED, HELD, CHUNK_LAG, BLOCKED, TOKENS, COST),
    *(UPSTREAM_ATTEMPTS, UPSTREAM_SECONDS, UPSTREAM_FIRST, LAST_ANSWERED, LAST_FAILED),
    *(LOOP_LAG, OPEN_TURNS, CONNECTIONS, GENERATION, EVALUATORS),
)
GAUGES: Final = tuple(family for family in FAMILIES if family.by == "worker")


def _starts() -> dict[str, int]:
    starts, at = {}, 0
    for family in FAMILIES:
        starts[family.name] = at
        at += family.size
    return starts


STARTS: Final = _starts()  # where each family's numbers begin in a worker's part
WORDS: Final = sum(family.size for family in FAMILIES)


def start_of(family: Family) -> int:
    return STARTS[family.name]
