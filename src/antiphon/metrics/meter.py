"""A worker's hand in the file of numbers: what a turn adds when it ends, and what is true now.

Hot: one call for a turn, a few stores to memory that is mapped already. Nothing here waits or fails.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from antiphon.document import Document
from antiphon.errors import AntiphonError, BlockedError, UpstreamError
from antiphon.flow.ports import ChunkLag
from antiphon.flow.turn import CLIENT_CLOSED, AnyTurn, Attempt
from antiphon.metrics.families import (
    ADDED,
    ATTEMPTS,
    BLOCKED,
    CHUNK_LAG,
    CONNECTIONS,
    COST,
    DURATIONS,
    EVALUATORS,
    FIRST_CHUNK,
    GENERATION,
    HELD,
    KINDS,
    LAST_ANSWERED,
    LAST_FAILED,
    LOOP_LAG,
    OPEN_TURNS,
    OUTCOMES,
    OWN_TIMES,
    ROUTE,
    SOURCES,
    STAGES,
    TOKENS,
    TURN_SECONDS,
    TURNS,
    UPSTREAM,
    UPSTREAM_ATTEMPTS,
    UPSTREAM_FIRST,
    UPSTREAM_SECONDS,
    Family,
    start_of,
)
from antiphon.metrics.table import MetricsTable, indexes, names_path, read_names, table_path

ANSWERED, BLOCKED_TURN, REFUSED, LIMITED, UPSTREAM_FAILED, OVERLOADED, ABORTED, FAILED = range(len(OUTCOMES))
ATTEMPT_ANSWERED, ATTEMPT_FAILED, ATTEMPT_REFUSED, ATTEMPT_CANCELLED = range(len(ATTEMPTS))
OUTCOME_WORDS: Final = {"answered": ATTEMPT_ANSWERED, "cancelled": ATTEMPT_CANCELLED}
TURNS_AT, TOKENS_AT, ATTEMPTS_AT = start_of(TURNS), start_of(TOKENS), start_of(UPSTREAM_ATTEMPTS)
ANSWERED_AT, FAILED_AT = start_of(LAST_ANSWERED), start_of(LAST_FAILED)
TURN_SECONDS_AT, FIRST_AT, ADDED_AT = start_of(TURN_SECONDS), start_of(FIRST_CHUNK), start_of(ADDED)
UPSTREAM_SECONDS_AT, UPSTREAM_FIRST_AT = start_of(UPSTREAM_SECONDS), start_of(UPSTREAM_FIRST)
HELD_AT, LAG_AT, LOOP_LAG_AT, BLOCKED_AT = start_of(HELD), start_of(CHUNK_LAG), start_of(LOOP_LAG), start_of(BLOCKED)
LONG, SHORT = len(DURATIONS) + 2, len(OWN_TIMES) + 2  # numbers of a histogram
OUTCOME_COUNT: Final = len(OUTCOMES)
ATTEMPT_COUNT: Final = len(ATTEMPTS)
COST_AT: Final = start_of(COST)
PER_UPSTREAM: Final = len(KINDS) * len(SOURCES)


class TurnMeter:
    def __init__(
        self,
        numbers: memoryview[float],
        names: Mapping[str, Sequence[str]],
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        """`numbers`: a worker's part of the file. `clock`: what turns are timed with; `wall`: Unix seconds."""
        self._numbers = numbers
        self.learn(names)
        self._born = wall() - clock()  # Unix time of that clock's 0
        self.chunk_lag = ChunkLag(clock, self._count_lag)

    def learn(self, names: Mapping[str, Sequence[str]]) -> None:
        """The names of new settings."""
        self._routes, self._upstreams = indexes(names, ROUTE), indexes(names, UPSTREAM)

    def count_turn(self, turn: AnyTurn, status: int, now: float) -> None:
        attempts = turn.attempts
        if status == 200 and turn.blocked is None and not turn.request.stream and len(attempts) == 1:
            attempt, usage = attempts[0], turn.usage
            if attempt.outcome == "running" and usage is not None and len(usage) == 2 and turn.route is not None:
                self._count_usual(turn.route.model, attempt, usage, turn.began, now)
                return
        self._count(turn, status, now)

    def _count_usual(self, route: str, attempt: Attempt, usage: Document, began: float, now: float) -> None:
        """As `_count`, for a turn that the fast path has answered: 1 us instead of 2."""
        numbers, upstream = self._numbers, self._upstreams.get(attempt.target.upstream, 0)
        numbers[TURNS_AT + self._routes.get(route, 0) * OUTCOME_COUNT] += 1.0
        numbers[ATTEMPTS_AT + upstream * ATTEMPT_COUNT] += 1.0
        numbers[ANSWERED_AT + upstream] = self._born + now
        whole, waited, at = now - began, now - attempt.began, UPSTREAM_SECONDS_AT + upstream * LONG
        own = whole - waited
        numbers[at + bisect_left(DURATIONS, waited)] += 1.0
        numbers[at + LONG - 1] += waited
        numbers[TURN_SECONDS_AT + bisect_left(DURATIONS, whole)] += 1.0
        numbers[TURN_SECONDS_AT + LONG - 1] += whole
        numbers[ADDED_AT + bisect_left(OWN_TIMES, own)] += 1.0
        numbers[ADDED_AT + SHORT - 1] += own
        at = TOKENS_AT + upstream * PER_UPSTREAM
        numbers[at] += usage["prompt_tokens"]
        numbers[at + 2] += usage["completion_tokens"]

    def _count(self, turn: AnyTurn, status: int, now: float) -> None:
        numbers, route = self._numbers, turn.route
        outcome = ANSWERED if status == 200 and turn.blocked is None else outcome_of(turn, status)
        at = 0 if route is None else self._routes.get(route.model, 0)
        numbers[TURNS_AT + at * OUTCOME_COUNT + outcome] += 1.0
        streams, waited = turn.request.stream, 0.0
        first = turn.first if streams else 0.0
        for attempt in turn.attempts:
            waited += self._count_attempt(attempt, outcome, first, now)
        if outcome == ANSWERED and turn.attempts:
            self._observe(TURN_SECONDS_AT + LONG if streams else TURN_SECONDS_AT, DURATIONS, now - turn.began)
            if not streams:
                self._observe(ADDED_AT, OWN_TIMES, now - turn.began - waited)
        if first:
            self._count_first(turn, first, waited)
        if turn.blocked is not None:
            numbers[BLOCKED_AT + STAGES.index(turn.blocked)] += 1.0
        if turn.usage is not None and turn.attempts:
            self._count_tokens(turn, turn.usage)

    def _count_attempt(self, attempt: Attempt, outcome: int, first: float, now: float) -> float:
        """-> seconds in which it was waited for: until the first chunk, or the end."""
        numbers, at = self._numbers, self._upstreams.get(attempt.target.upstream, 0)
        ended, word = attempt.ended, attempt.outcome
        if word == "running":  # the fast path closes none
            ended, result = now, ATTEMPT_ANSWERED if outcome in (ANSWERED, BLOCKED_TURN) else ATTEMPT_CANCELLED
        else:
            result = OUTCOME_WORDS.get(word, ATTEMPT_FAILED)
            if result == ATTEMPT_FAILED and attempt.is_unsent:
                result = ATTEMPT_REFUSED
        numbers[ATTEMPTS_AT + at * ATTEMPT_COUNT + result] += 1.0
        if result == ATTEMPT_ANSWERED:
            numbers[ANSWERED_AT + at] = self._born + ended
            self._observe(UPSTREAM_SECONDS_AT + at * LONG, DURATIONS, ended - attempt.began)
        elif result == ATTEMPT_FAILED:
            numbers[FAILED_AT + at] = self._born + ended
        if first and attempt.began <= first <= ended:
            self._observe(UPSTREAM_FIRST_AT + at * LONG, DURATIONS, first - attempt.began)
            return first - attempt.began
        return ended - attempt.began

    def _count_first(self, turn: AnyTurn, first: float, waited: float) -> None:
        until = first - turn.began + turn.held
        self._observe(FIRST_AT, DURATIONS, until)
        self._observe(ADDED_AT + SHORT, OWN_TIMES, until - waited)
        if turn.policy is not None:
            self._observe(HELD_AT, OWN_TIMES, turn.held)

    def _count_tokens(self, turn: AnyTurn, usage: Document) -> None:
        at = TOKENS_AT + self._upstreams.get(turn.attempts[-1].target.upstream, 0) * PER_UPSTREAM
        if turn.usage_source == "estimated":
            at += 1
        numbers = self._numbers
        numbers[at] += usage.get("prompt_tokens") or 0
        numbers[at + 2] += usage.get("completion_tokens") or 0
        details = usage.get("prompt_tokens_details")
        if type(details) is dict and details.get("cached_tokens"):
            numbers[at + 4] += details["cached_tokens"]
        details = usage.get("completion_tokens_details")
        if type(details) is dict and details.get("reasoning_tokens"):
            numbers[at + 6] += details["reasoning_tokens"]

    def _count_lag(self, seconds: float) -> None:
        self._observe(LAG_AT, OWN_TIMES, seconds)

    def count_cost(self, upstream: str, micros: int) -> None:
        """What a turn cost, in millionths."""
        self._numbers[COST_AT + self._upstreams.get(upstream, 0)] += micros

    def _observe(self, at: int, buckets: tuple[float, ...], seconds: float) -> None:
        numbers = self._numbers
        numbers[at + bisect_left(buckets, seconds)] += 1.0
        if seconds > 0.0:
            numbers[at + len(buckets) + 1] += seconds

    # What is true now. Called twice a second.

    def note(self, turns: int, connections: int, late: float) -> None:
        """`late`: seconds that a timer came too late."""
        self.set(OPEN_TURNS, turns)
        self.set(CONNECTIONS, connections)
        self._observe(LOOP_LAG_AT, OWN_TIMES, late)

    def note_evaluators(self, state: str) -> None:
        self.set(EVALUATORS, state == "ready")

    def note_generation(self, generation: int) -> None:
        self.set(GENERATION, generation)

    def set(self, gauge: Family, value: float) -> None:
        self._numbers[start_of(gauge)] = value


def open_meter(room: str, worker: int, clock: Callable[[], float], wall: Callable[[], float]) -> TurnMeter:
    """In the worker's process, when it begins."""
    return TurnMeter(MetricsTable(table_path(room)).enter(worker), read_names(names_path(room)), clock, wall)


def outcome_of(turn: AnyTurn, status: int) -> int:
    """Which of OUTCOMES a turn had that was not simply answered."""
    error = turn.error
    if turn.blocked is not None or isinstance(error, BlockedError):
        return BLOCKED_TURN
    if status == CLIENT_CLOSED:
        return ABORTED
    if error is None:
        return ANSWERED if status < 400 else FAILED
    if isinstance(error, UpstreamError):
        return UPSTREAM_FAILED if status >= 500 or status in (401, 403, 408, 429) else REFUSED
    return _own_outcome(error, status)


def _own_outcome(error: AntiphonError, status: int) -> int:
    if status == 429:
        return LIMITED
    if status < 500:
        return REFUSED
    return OVERLOADED if status == 503 else FAILED
