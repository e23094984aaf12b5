"""Random turns, crashes and clocks against a simple model: exact fractions, one list of holds."""

from __future__ import annotations

import itertools
import tempfile
from fractions import Fraction
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from antiphon.limits.clock import Clock
from antiphon.limits.limit import NOTHING, Caller, Cost, Limit, Refused
from antiphon.limits.limiter import Hold, Limiter, Settlement
from antiphon.limits.table import LimitTable, create

DAY = 86_400
LIMITS = (
    Limit("one", requests_per_minute=5, tokens_per_minute=100, day=60, total=300, keys=("a",)),
    Limit("all", input_tokens_per_minute=70, output_tokens_per_minute=90, concurrent=4, month=200),
)
CALLERS = (Caller("a"), Caller("b"))
COSTS = st.builds(Cost, st.integers(0, 60), st.integers(0, 60), st.integers(0, 40))


class Bucket:
    """The model of one limit."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.spent = {"requests": Fraction(0), "input": Fraction(0), "output": Fraction(0), "tokens": Fraction(0)}
        self.money = {"day": 0, "month": 0, "total": 0}
        self.day = self.month = 0  # of the last change
        self.held: dict[int, Cost] = {}

    def rates(self) -> dict[str, int | None]:
        limit = self.limit
        return {
            "requests": limit.requests_per_minute,
            "input": limit.input_tokens_per_minute,
            "output": limit.output_tokens_per_minute,
            "tokens": limit.tokens_per_minute,
        }

    def refill(self, microseconds: int) -> None:
        for name, rate in self.rates().items():
            if rate is not None:
                self.spent[name] = max(Fraction(0), self.spent[name] - Fraction(rate * microseconds, 60_000_000))

    def money_at(self, clock: Clock) -> dict[str, int]:
        """Windows never go back."""
        day = 0 if clock.day > self.day else self.money["day"]
        month = 0 if clock.month > self.month else self.money["month"]
        return {"day": day, "month": month, "total": self.money["total"]}

    def spend(self, clock: Clock, cost: Cost, requests: int = 0) -> None:
        self.money = self.money_at(clock)
        self.day, self.month = max(self.day, clock.day), max(self.month, clock.month)
        for name, amount in (("requests", requests), ("input", cost.input), ("output", cost.output)):
            self.spent[name] += amount
        self.spent["tokens"] += cost.input + cost.output
        for name in self.money:
            self.money[name] += cost.money

    def fits(self, clock: Clock, held: dict[int, Cost], requests: int = 0, spent: Cost = NOTHING) -> bool:
        kept, due = sum(cost.input for cost in held.values()), sum(cost.output for cost in held.values())
        amounts = {
            "requests": self.spent["requests"] + requests,
            "input": self.spent["input"] + spent.input + kept,
            "output": self.spent["output"] + spent.output + due,
            "tokens": self.spent["tokens"] + spent.input + spent.output + kept + due,
        }
        if any(rate is not None and amounts[name] > rate for name, rate in self.rates().items()):
            return False
        if self.limit.concurrent is not None and len(held) > self.limit.concurrent:
            return False
        owed = sum(cost.money for cost in held.values())
        mosts = (("day", self.limit.day), ("month", self.limit.month), ("total", self.limit.total))
        money = self.money_at(clock)
        return all(most is None or money[name] + owed <= most for name, most in mosts)


class Turns(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/limits"
        create(self.path, workers=3, rows=64)
        self.time = 10**9  # microseconds
        self.wall = 1_794_830_400.0  # 2026-11-16 12:00 UTC
        self.buckets = [Bucket(limit) for limit in LIMITS]
        self.workers = [self.start(number) for number in range(3)]
        self.running: dict[int, tuple[int, Hold, int, Cost, Cost]] = {}  # worker, hold, caller, held, spent
        self.numbers = itertools.count()
        self.journals: list[list[Settlement]] = [[], [], []]

    def start(self, worker: int) -> Limiter:
        return Limiter(LimitTable(self.path), worker, LIMITS, self.clock())

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.time * 1000, wall=lambda: self.wall)

    def of(self, caller: int) -> list[Bucket]:
        return [bucket for bucket in self.buckets if bucket.limit.applies(CALLERS[caller], "m")]

    @rule(microseconds=st.integers(0, 90_000_000))
    def wait(self, microseconds: int) -> None:
        self.time += microseconds + 100_000
        self.wall += (microseconds + 100_000) / 1e6
        for bucket in self.buckets:
            bucket.refill(microseconds + 100_000)

    @rule(days=st.integers(-40, 40))
    def jump(self, days: int) -> None:
        """Of the wall clock only."""
        self.wall += days * DAY
        self.time += 100_000
        for bucket in self.buckets:
            bucket.refill(100_000)

    @rule(worker=st.integers(0, 2), caller=st.integers(0, 1), cost=COSTS)
    def admit(self, worker: int, caller: int, cost: Cost) -> None:
        result = self.workers[worker].admit(CALLERS[caller], "m", cost)
        number = next(self.numbers)
        fits = all(bucket.fits(self.clock(), {**bucket.held, number: cost}, 1) for bucket in self.of(caller))
        assert isinstance(result, Hold) == fits, result
        if isinstance(result, Hold):
            self.running[number] = (worker, result, caller, cost, Cost())
            for bucket in self.of(caller):
                bucket.held[number] = cost
                bucket.spend(self.clock(), Cost(), 1)
        else:
            assert isinstance(result, Refused)
            assert result.limit is not None

    @rule(data=st.data(), more=COSTS, ahead=COSTS)
    def extend(self, data: Any, more: Cost, ahead: Cost) -> None:
        if not self.running:
            return
        number = data.draw(st.sampled_from(sorted(self.running)))
        worker, hold, caller, held, spent = self.running[number]
        now = Cost(*map(sum, zip(spent, more, strict=True)))
        wanted = Cost(ahead.input, ahead.output, now.money + ahead.money)
        fresh = Cost(more.input, more.output)
        grows = any(new + used > old for new, used, old in zip(wanted, fresh, held, strict=True))
        fits = all(bucket.fits(self.clock(), {**bucket.held, number: wanted}, 0, fresh) for bucket in self.of(caller))
        refused = hold.extend(now, ahead)
        assert (refused is None) == (fits or not grows), refused
        if refused is None:
            self.running[number] = (worker, hold, caller, wanted, now)
            for bucket in self.of(caller):
                bucket.held[number] = wanted
                bucket.spend(self.clock(), fresh)

    @rule(data=st.data(), share=st.integers(0, 100))
    def settle(self, data: Any, share: int) -> None:
        if not self.running:
            return
        number = data.draw(st.sampled_from(sorted(self.running)))
        worker, hold, caller, held, spent = self.running.pop(number)
        actual = Cost(
            spent.input + held.input * share // 100,
            spent.output + held.output * share // 100,
            held.money * share // 100,
        )
        entry = Settlement(len(self.journals[worker]) + 1, CALLERS[caller], "m", actual)
        self.journals[worker].append(entry)
        hold.settle(actual, entry.sequence)
        for bucket in self.of(caller):
            del bucket.held[number]
            bucket.spend(self.clock(), Cost(actual.input - spent.input, actual.output - spent.output, actual.money))

    @rule(worker=st.integers(0, 2), cut=st.booleans(), by=st.integers(0, 2), data=st.data())
    def crash(self, worker: int, cut: bool, by: int, data: Any) -> None:
        """`cut`: between the journal and the table."""
        mine = [number for number, turn in self.running.items() if turn[0] == worker]
        if cut and mine:
            number = data.draw(st.sampled_from(mine))
            _, _, caller, held, spent = self.running[number]
            actual = Cost(spent.input, spent.output, held.money)
            self.journals[worker].append(Settlement(len(self.journals[worker]) + 1, CALLERS[caller], "m", actual))
            for bucket in self.of(caller):
                bucket.spend(self.clock(), actual)
        for number in mine:
            for bucket in self.of(self.running.pop(number)[2]):
                del bucket.held[number]
        if by != worker:
            assert self.workers[by].resettle(worker, self.journals[worker])
            assert self.workers[by].table.release(worker)
            self.workers[worker] = self.start(worker)
        else:
            self.workers[worker] = self.start(worker)
            assert self.workers[worker].resettle(worker, self.journals[worker])

    @invariant()
    def the_table_is_the_model(self) -> None:
        for caller in (0, 1):
            rows = self.workers[0]._find(CALLERS[caller], "m") or ()
            for row, bucket in zip(rows, self.of(caller), strict=True):
                use = row.use(self.workers[0].table.memory, self.workers[0]._moment())
                owed = sum(cost.money for cost in bucket.held.values())
                for name, rate in bucket.rates().items():
                    long = "requests_per_minute" if name == "requests" else f"{name}_per_minute"
                    long = long if name in ("requests", "tokens") else f"{name}_tokens_per_minute"
                    if rate is not None:
                        assert Fraction(use[long][0], 60_000_000) == bucket.spent[name], name
                assert use["concurrent"][1] == len(bucket.held)
                for name, money in bucket.money_at(self.clock()).items():
                    if bucket.limit.has_budget and getattr(bucket.limit, name) is not None:
                        assert use[name] == (money, owed), name

    def teardown(self) -> None:
        for limiter in self.workers:
            limiter.table.close()
        self.folder.cleanup()


TestTurns = Turns.TestCase
TestTurns.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
