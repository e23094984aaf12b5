"""Admission on one machine: what is held, spent, refused, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

import pytest

from antiphon.limits.clock import EVERY, Clock
from antiphon.limits.limit import Caller, Cost, Limit, Refused
from antiphon.limits.limiter import Hold, Limiter, Settlement
from antiphon.limits.table import LimitTable, create

ALICE = Caller("alice", team="research", labels={"tier": "free", "site": "rome"})
BOB = Caller("bob", team="research", labels={"tier": "free"})
CAROL = Caller("carol", labels={"tier": "paid"})
USUAL = Cost(10, 20, 5)
NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass
class Time:
    """A clock that moves when it is told to."""

    seconds: float = 1000.0
    wall: float = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()

    def clock(self, zone: tzinfo = UTC) -> Clock:
        return Clock(zone, lambda: int(self.seconds * 1e9), lambda: self.wall)

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds
        self.wall += seconds

    def set(self, moment: datetime) -> None:
        self.wall = moment.timestamp()
        self.seconds += 2 * EVERY / 1e9


Make = Callable[..., Limiter]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def make(tmp_path: Path, time: Time) -> Iterator[Make]:
    path = str(tmp_path / "limits")
    create(path, workers=4, rows=128)
    tables = []

    def build(*limits: Limit, worker: int = 0, zone: tzinfo = UTC) -> Limiter:
        tables.append(LimitTable(path))
        return Limiter(tables[-1], worker, limits, time.clock(zone))

    yield build
    for table in tables:
        table.close()


def admit(limiter: Limiter, caller: Caller = ALICE, model: str = "gpt-4o", cost: Cost = USUAL) -> Hold:
    hold = limiter.admit(caller, model, cost)
    assert isinstance(hold, Hold), hold
    return hold


def refuse(limiter: Limiter, caller: Caller = ALICE, model: str = "gpt-4o", cost: Cost = USUAL) -> Refused:
    refused = limiter.admit(caller, model, cost)
    assert isinstance(refused, Refused)
    return refused


def test_twenty_at_once_against_500_are_six(make: Make) -> None:
    limiter = make(Limit("a", total=500))
    results = [limiter.admit(ALICE, "m", Cost(money=75)) for _ in range(20)]
    assert sum(isinstance(result, Hold) for result in results) == 6


@pytest.mark.parametrize(
    "limit",
    [
        Limit("a", requests_per_minute=3),
        Limit("a", input_tokens_per_minute=30),
        Limit("a", output_tokens_per_minute=60),
        Limit("a", tokens_per_minute=90),
        Limit("a", concurrent=3),
        Limit("a", day=15),
        Limit("a", month=15),
        Limit("a", total=15),
    ],
    ids=lambda limit: next(
        name
        for name in ("requests", "input", "output", "tokens", "concurrent", "day", "month", "total")
        if any(getattr(limit, field) for field in limit.__slots__ if field.startswith(name))
    ),
)
def test_each_measure_is_full_to_the_unit(make: Make, limit: Limit) -> None:
    limiter = make(limit)
    for _ in range(3):
        admit(limiter)
    refused = refuse(limiter)
    assert refused.limit == limit
    assert getattr(limit, refused.measure) == refused.most


def test_what_was_not_used_comes_back(make: Make) -> None:
    limiter = make(Limit("a", tokens_per_minute=100, total=100))
    admit(limiter, cost=Cost(50, 50, 100)).settle(Cost(10, 10, 20))
    admit(limiter, cost=Cost(40, 40, 80))
    assert refuse(limiter, cost=Cost(0, 1, 0)).measure == "tokens_per_minute"


def test_a_refusal_holds_nothing_in_any_limit(make: Make) -> None:
    limiter = make(Limit("a", tokens_per_minute=1000), Limit("b", total=10))
    for _ in range(50):
        refuse(limiter, cost=Cost(100, 100, 11))
    admit(limiter, cost=Cost(500, 500, 10))


def test_a_minute_refills_continuously(make: Make, time: Time) -> None:
    limiter = make(Limit("a", tokens_per_minute=60))
    admit(limiter, cost=Cost(60, 0)).settle(Cost(60, 0))
    assert refuse(limiter, cost=Cost(1, 0)).wait == 1_000_000
    time.pass_(10)
    assert refuse(limiter, cost=Cost(11, 0)).wait == 1_000_000
    admit(limiter, cost=Cost(10, 0)).settle(Cost(10, 0))
    refuse(limiter, cost=Cost(1, 0))
    time.pass_(600)
    admit(limiter, cost=Cost(60, 0))


def test_looking_often_loses_nothing(make: Make, time: Time) -> None:
    limiter = make(Limit("a", tokens_per_minute=7))
    admit(limiter, cost=Cost(7, 0)).settle(Cost(7, 0))
    for _ in range(5999):
        time.pass_(0.01)
        refuse(limiter, cost=Cost(7, 0))
    time.pass_(0.011)
    admit(limiter, cost=Cost(7, 0))


def test_a_request_counts_at_once_and_stays_counted(make: Make, time: Time) -> None:
    limiter = make(Limit("a", requests_per_minute=60))
    for _ in range(60):
        admit(limiter).settle(Cost())
    refused = refuse(limiter)
    assert (refused.measure, refused.retry_after) == ("requests_per_minute", 1)
    time.pass_(1)
    admit(limiter)  # and those that run do not stand in the way
    refuse(limiter)


def test_a_prompt_larger_than_the_limit_is_not_worth_waiting_for(make: Make) -> None:
    limiter = make(Limit("a", tokens_per_minute=100))
    error = refuse(limiter, cost=Cost(101, 1)).error("gpt-4o")
    assert (error.status, error.type, error.code, error.retry_after) == (429, "tokens", "rate_limit_exceeded", None)
    assert "Limit 100, Requested 102" in error.message


def test_the_longest_wait_is_named(make: Make) -> None:
    limiter = make(Limit("short", tokens_per_minute=6000), Limit("long", input_tokens_per_minute=60))
    admit(limiter, cost=Cost(60, 5940)).settle(Cost(60, 5940))
    refused = refuse(limiter, cost=Cost(30, 0))
    assert (refused.measure, refused.retry_after) == ("input_tokens_per_minute", 30)


def test_errors_in_openais_words(make: Make) -> None:
    limiter = make(Limit("team", tokens_per_minute=500, total=1000))
    admit(limiter, cost=Cost(450, 0, 100)).settle(Cost(450, 0, 100))
    error = refuse(limiter, cost=Cost(75, 0)).error("gpt-4o")
    assert error.message == (
        "Rate limit reached for gpt-4o in limit 'team' on tokens per min (TPM): Limit 500, Used 450, Requested 75. "
        "Please try again in 3s."
    )
    assert error.retry_after == 3
    error = refuse(limiter, cost=Cost(money=901)).error("gpt-4o")
    assert (error.status, error.type, error.code) == (429, "insufficient_quota", "insufficient_quota")
    assert error.retry_after is None


# A stream


def test_a_stream_is_extended_step_by_step(make: Make, time: Time) -> None:
    limiter = make(Limit("a", output_tokens_per_minute=100, total=50))
    hold = admit(limiter, cost=Cost(0, 40, 10))
    assert hold.extend(Cost(0, 40, 10), Cost(0, 40, 10)) is None
    refused = hold.extend(Cost(0, 80, 20), Cost(0, 40, 10))
    assert refused is not None
    assert refused.measure == "output_tokens_per_minute"
    time.pass_(24)  # 40 tokens have come back
    assert hold.extend(Cost(0, 80, 20), Cost(0, 40, 10)) is None
    assert hold.extend(Cost(0, 80, 20), Cost(0, 40, 31)) is not None
    hold.settle(Cost(0, 120, 30))
    admit(limiter, cost=Cost(0, 0, 20))
    assert refuse(limiter, cost=Cost(0, 0, 1)).measure == "total"


def test_a_prompt_that_was_taken_begins_to_refill(make: Make, time: Time) -> None:
    limiter = make(Limit("a", input_tokens_per_minute=60))
    hold = admit(limiter, cost=Cost(60, 0))
    time.pass_(60)
    refuse(limiter, cost=Cost(1, 0))
    assert hold.extend(Cost(60, 0), Cost(0, 0)) is None
    time.pass_(30)
    admit(limiter, cost=Cost(30, 0))
    refuse(limiter, cost=Cost(1, 0))
    hold.settle(Cost(60, 0))
    refuse(limiter, cost=Cost(1, 0))


def test_a_step_is_never_larger_than_a_limit(make: Make) -> None:
    limiter = make(Limit("a", output_tokens_per_minute=2000), Limit("b", tokens_per_minute=1500))
    assert limiter.fit_output(ALICE, "m", 100, 4096) == 1400
    assert limiter.fit_output(ALICE, "m", 9999, 4096) == 1
    assert make().fit_output(ALICE, "m", 9999, 4096) == 4096


def test_more_than_was_held_is_charged_all_the_same(make: Make, time: Time) -> None:
    limiter = make(Limit("a", tokens_per_minute=60, total=100))
    admit(limiter, cost=Cost(10, 10, 10)).settle(Cost(100, 20, 30))
    assert refuse(limiter, cost=Cost(1, 0)).wait == 61_000_000
    time.pass_(61)
    admit(limiter, cost=Cost(1, 0, 70))


def test_a_turn_settles_once(make: Make) -> None:
    limiter = make(Limit("a", total=100, concurrent=1))
    hold = admit(limiter, cost=Cost(money=50))
    hold.settle(Cost(money=50))
    hold.settle(Cost(money=50))
    assert hold.extend(Cost(money=60), Cost(money=60)) is None
    admit(limiter, cost=Cost(money=50))


@pytest.mark.parametrize("amount", [2**40, 2**62, 2**63, 2**90])
def test_absurd_reports_do_no_harm(make: Make, amount: int) -> None:
    limiter = make(Limit("a", tokens_per_minute=100, total=100, concurrent=1))
    hold = admit(limiter, cost=Cost(1, 1, 1))
    hold.settle(Cost(amount, amount, amount))
    assert refuse(limiter).measure == "total"
    refuse(limiter, cost=Cost(amount, amount, amount))


# Who


def test_who_a_limit_applies_to(make: Make) -> None:
    limiter = make(
        Limit("key", concurrent=0, keys=("alice",), models=("m-key",)),
        Limit("team", concurrent=0, teams=("research",), models=("m-team",)),
        Limit("labels", concurrent=0, labels={"tier": "free", "site": "rome"}, models=("m-labels",)),
        Limit("model", concurrent=0, models=("gpt-*", "o1")),
    )
    for model, refused in (("m-key", "a"), ("m-team", "ab"), ("m-labels", "a"), ("gpt-4o", "abc"), ("o1", "abc")):
        for caller in (ALICE, BOB, CAROL):
            expected = caller.key[0] in refused
            assert isinstance(limiter.admit(caller, model, Cost()), Refused) == expected, (model, caller.key)
    assert isinstance(limiter.admit(Caller(), "gpt-9", Cost()), Refused)
    assert isinstance(limiter.admit(Caller(), "other", Cost()), Hold)


def test_a_selector_shares_one_budget_and_per_key_each_has_its_own(make: Make) -> None:
    limiter = make(Limit("shared", total=100, labels={"tier": "free"}))
    admit(limiter, ALICE, cost=Cost(money=60))
    refuse(limiter, BOB, cost=Cost(money=60))
    limiter = make(Limit("each", total=100, labels={"tier": "free"}, per=("key",)))
    admit(limiter, ALICE, cost=Cost(money=60))
    admit(limiter, BOB, cost=Cost(money=60))
    refuse(limiter, ALICE, cost=Cost(money=60))
    limiter = make(Limit("both", concurrent=1, per=("key", "model")))
    admit(limiter, ALICE, "m1")
    admit(limiter, ALICE, "m2")
    admit(limiter, BOB, "m1")
    refuse(limiter, ALICE, "m2")
    limiter = make(Limit("team", concurrent=0, per=("team",)))
    admit(limiter, CAROL)  # has none
    refuse(limiter, BOB)


def test_a_key_brings_its_own_limits(make: Make) -> None:
    limiter = make()
    dave = Caller("dave", limits=(Limit("key:dave", concurrent=1),))
    admit(limiter, dave)
    refuse(limiter, dave)
    admit(limiter, ALICE)
    admit(limiter, Caller("dave", limits=(Limit("key:dave", concurrent=2),)))  # raised: what runs counts on


# Days and months


def test_budgets_begin_anew_with_the_calendar(make: Make, time: Time) -> None:
    limiter = make(Limit("a", day=100, month=150, total=400))
    time.set(NEW_YEAR - timedelta(days=2))
    admit(limiter, cost=Cost(money=100)).settle(Cost(money=100))
    assert refuse(limiter, cost=Cost(money=1)).measure == "day"
    time.set(NEW_YEAR - timedelta(seconds=1))
    assert refuse(limiter, cost=Cost(money=51)).measure == "month"
    admit(limiter, cost=Cost(money=50)).settle(Cost(money=50))
    time.set(NEW_YEAR)
    admit(limiter, cost=Cost(money=100)).settle(Cost(money=100))
    time.set(NEW_YEAR + timedelta(days=40))
    admit(limiter, cost=Cost(money=100)).settle(Cost(money=100))
    time.set(NEW_YEAR + timedelta(days=80))
    assert refuse(limiter, cost=Cost(money=51)).measure == "total"


def test_a_day_is_one_of_the_time_zone(make: Make, time: Time) -> None:
    limiter = make(Limit("a", day=100), zone=timezone(timedelta(hours=9)))
    time.set(datetime(2026, 11, 16, 14, 59, tzinfo=UTC))
    admit(limiter, cost=Cost(money=100)).settle(Cost(money=100))
    refuse(limiter, cost=Cost(money=100))
    time.set(datetime(2026, 11, 16, 15, 0, tzinfo=UTC))
    admit(limiter, cost=Cost(money=100))


def test_a_clock_that_goes_back_gives_nothing_twice(make: Make, time: Time) -> None:
    limiter = make(Limit("a", day=100))
    time.set(NEW_YEAR + timedelta(days=10))
    admit(limiter, cost=Cost(money=100)).settle(Cost(money=100))
    for day in (9, -3, 10):
        time.set(NEW_YEAR + timedelta(days=day))
        refuse(limiter, cost=Cost(money=1))
    time.set(NEW_YEAR + timedelta(days=11))
    admit(limiter, cost=Cost(money=100))


# Several workers, crashes, restarts


def test_workers_share_a_row_and_a_dead_one_holds_nothing(make: Make) -> None:
    limit = Limit("a", concurrent=2, total=100, tokens_per_minute=100)
    one, two = make(limit), make(limit, worker=1)
    admit(one, cost=Cost(10, 10, 40))
    admit(two, cost=Cost(10, 10, 40))
    refuse(two)
    make(limit, worker=0)  # its successor
    admit(two, cost=Cost(40, 40, 60))
    refuse(two)


def test_a_journal_corrects_what_a_crash_cut(make: Make, tmp_path: Path) -> None:
    limit = Limit("a", total=1000, keys=("alice",))
    one, two = make(limit), make(limit, worker=1)
    admit(one, cost=Cost(money=100)).settle(Cost(money=70), 1)
    admit(one, cost=Cost(money=100)).settle(Cost(money=70), 2)
    admit(one, cost=Cost(money=100))  # entry 3 is in the journal, but then the worker was killed
    journal = [Settlement(number, ALICE, "gpt-4o", Cost(money=70)) for number in (1, 2, 3)]
    journal.append(Settlement(4, BOB, "gpt-4o", Cost(money=70)))
    for _ in range(2):
        assert two.resettle(0, journal)
        two.table.release(0)
    assert two.table.settled(0) == 4
    admit(two, cost=Cost(money=790))
    refuse(two, cost=Cost(money=1))
    assert two.restart(0)
    assert two.table.settled(0) == 0


def test_what_was_spent_outlives_a_restart_and_what_was_held_does_not(make: Make, tmp_path: Path, time: Time) -> None:
    limit = Limit("a", total=100)
    limiter = make(limit)
    admit(limiter, cost=Cost(money=30)).settle(Cost(money=30))
    admit(limiter, cost=Cost(money=70))
    assert create(str(tmp_path / "limits"), workers=4, rows=128) is False
    limiter = make(limit)
    admit(limiter, cost=Cost(money=70))
    refuse(limiter, cost=Cost(money=1))


def test_a_new_table_is_told_what_the_books_say(make: Make, tmp_path: Path) -> None:
    assert create(str(tmp_path / "limits"), workers=8, rows=128) is True
    limiter = make(Limit("day", day=100, keys=("alice",)), Limit("all", total=1000))
    assert limiter.restore(ALICE, "gpt-4o", today=60, this_month=200, ever=500)
    assert limiter.restore(BOB, "gpt-4o", today=60, this_month=200, ever=300)
    assert refuse(limiter, ALICE, cost=Cost(money=41)).measure == "day"
    assert refuse(limiter, BOB, cost=Cost(money=201)).measure == "total"
    admit(limiter, BOB, cost=Cost(money=200))


def test_idle_rows_are_given_away_and_others_never(make: Make, time: Time) -> None:
    limiter = make(Limit("each", requests_per_minute=1, per=("key",)))
    for number in range(1000):
        result = limiter.admit(Caller(f"k{number}"), "m", Cost())
        if isinstance(result, Refused):
            break
    else:
        pytest.fail("a table of 128 rows took more than that")
    assert (result.measure, result.error("m").status) == ("full", 503)
    first = Caller("k0")
    time.pass_(1200)
    refused = [limiter.admit(first, "m", Cost()), limiter.admit(first, "m", Cost())]
    assert isinstance(refused[0], Refused) is False  # its turn still runs: the row is still its own
    assert isinstance(refused[1], Refused)


def test_a_row_that_was_given_away_is_found_again(make: Make, time: Time) -> None:
    limit = Limit("each", requests_per_minute=1, per=("key",))
    one, two = make(limit), make(limit, worker=1)
    admit(one).settle(Cost())
    for _ in range(4):
        time.pass_(1200)
        for number in range(300):
            held = two.admit(Caller(f"k{number}"), "m", Cost())
            if isinstance(held, Hold):
                held.settle(Cost())
        time.pass_(1200)
        admit(one).settle(Cost())
        assert refuse(one).measure == "requests_per_minute"


def test_standings_tell_the_tightest_limit(make: Make, time: Time) -> None:
    limiter = make(Limit("a", requests_per_minute=10, tokens_per_minute=600), Limit("b", tokens_per_minute=300))
    assert limiter.standings(ALICE, "gpt-4o") == {}  # nothing asked yet
    admit(limiter, cost=Cost(100, 50)).settle(Cost(100, 10))
    admit(limiter, cost=Cost(30, 10))
    standings = limiter.standings(ALICE, "gpt-4o")
    assert standings["requests_per_minute"] == (10, 8, 12_000_000)
    assert standings["tokens_per_minute"] == (300, 150, 30_000_000)
    time.pass_(6)
    assert limiter.standings(ALICE, "gpt-4o")["requests_per_minute"] == (10, 9, 6_000_000)


def test_a_worker_whose_clock_is_behind_takes_nothing_away(make: Make, time: Time, tmp_path: Path) -> None:
    limit = Limit("a", tokens_per_minute=60)
    one = make(limit)
    behind = Limiter(LimitTable(str(tmp_path / "limits")), 1, (limit,), Time(time.seconds - 10, time.wall).clock())
    admit(one, cost=Cost(30, 0)).settle(Cost(30, 0))
    admit(behind, cost=Cost(30, 0)).settle(Cost(30, 0))
    assert refuse(one, cost=Cost(1, 0)).wait == 1_000_000
    behind.table.close()


def test_other_settings_change_a_limit_and_not_what_was_spent(make: Make) -> None:
    limiter = make(Limit("x", total=100))
    hold = limiter.admit(ALICE, "m", Cost(0, 0, 60))
    assert isinstance(hold, Hold)
    hold.settle(Cost(0, 0, 60))
    limiter.change_limits([Limit("x", total=200), Limit("y", concurrent=1)])
    hold = limiter.admit(ALICE, "m", Cost(0, 0, 140))
    assert isinstance(hold, Hold)
    refused = limiter.admit(ALICE, "m", Cost())
    assert isinstance(refused, Refused)
    assert refused.measure == "concurrent"


def test_limits_with_one_name_are_apart(make: Make) -> None:
    """A key's own, another key's own, one of the settings, and two of one key."""
    limiter = make(Limit("x", total=100))
    one = Caller("one", limits=(Limit("x", total=30), Limit("x", concurrent=2)))
    two = Caller("two", limits=(Limit("x", total=80),))
    hold = admit(limiter, one, cost=Cost(money=30))
    assert refuse(limiter, one, cost=Cost(money=1)).most == 30
    admit(limiter, one, cost=Cost())
    assert refuse(limiter, one, cost=Cost()).measure == "concurrent"
    admit(limiter, two, cost=Cost(money=70))
    assert refuse(limiter, two, cost=Cost(money=1)).most == 100
    hold.settle(Cost())
    assert refuse(limiter, two, cost=Cost(money=11)).most == 80
    admit(limiter, one, cost=Cost(money=30))
