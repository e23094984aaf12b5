"""`x-ratelimit-*` in OpenAI's format."""

from __future__ import annotations

import random
from datetime import UTC
from pathlib import Path

import pytest

from antiphon.limits.clock import Clock
from antiphon.limits.headers import rate_headers, usual_lines, write_time
from antiphon.limits.limit import Caller, Cost, Limit
from antiphon.limits.limiter import Hold, Limiter
from antiphon.limits.row import Standing
from antiphon.limits.table import LimitTable, create


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0s"), (1, "1ms"), (12_000, "12ms"), (12_001, "13ms"), (999_000, "999ms"), (999_001, "1s"),
        (1_000_000, "1s"), (1_500_000, "1.5s"), (8_640_000, "8.64s"), (60_000_000, "1m0s"), (360_000_000, "6m0s"),
        (61_001_000, "1m1.001s"), (3_723_000_000, "1h2m3s"), (3_600_000_000, "1h0m0s"),
    ],
)  # fmt: skip
def test_durations(microseconds: int, text: str) -> None:
    assert write_time(microseconds) == text


def test_only_what_is_limited_is_told() -> None:
    assert rate_headers({}) == []
    standings = {"requests_per_minute": Standing(60, 59, 1_000_000), "output_tokens_per_minute": Standing(9, 8, 7)}
    assert rate_headers(standings) == [
        (b"x-ratelimit-limit-requests", b"60"),
        (b"x-ratelimit-remaining-requests", b"59"),
        (b"x-ratelimit-reset-requests", b"1s"),
    ]


def test_tokens_and_skytells() -> None:
    standings = {
        "tokens_per_minute": Standing(150_000, 149_984, 6_000),
        "input_tokens_per_minute": Standing(100, 40, 1),
    }
    names = dict(rate_headers(standings, "skytells"))
    assert names[b"x-ratelimit-remaining-tokens"] == b"149984"
    assert names[b"x-ratelimit-reset-tokens"] == b"6ms"
    assert names[b"x-skytells-ratelimit-limit-tokens-in"] == b"100"
    assert names[b"x-skytells-ratelimit-remaining-tokens-in"] == b"40"
    assert names[b"x-skytells-ratelimit-limit-requests"] == b"-"
    assert names[b"x-skytells-ratelimit-window"] == b"60"


def test_the_usual_lines_are_the_same_headers(tmp_path: Path) -> None:
    """The quick way and the general one, at random moments of random turns."""
    create(str(tmp_path / "limits"), 1, rows=64)
    now = [10**15]
    clock = Clock(UTC, lambda: now[0], lambda: 1e9)
    limits = (Limit("a", requests_per_minute=7, tokens_per_minute=100), Limit("b", tokens_per_minute=90))
    limiter = Limiter(LimitTable(str(tmp_path / "limits")), 0, limits, clock)
    caller, chance = Caller("k"), random.Random(7)
    holds: list[Hold] = []
    for _ in range(200):
        result = limiter.admit(caller, "m", Cost(chance.randrange(20), chance.randrange(30), 0))
        if isinstance(result, Hold):
            holds.append(result)
        if holds and chance.random() < 0.6:
            holds.pop().settle(Cost(chance.randrange(20), chance.randrange(30), 0))
        now[0] += chance.randrange(10**10)
        lines = usual_lines(*limiter.usual_standings(caller, "m"))
        usual = b"".join(b"%b: %b\r\n" % line for line in rate_headers(limiter.standings(caller, "m")))
        assert lines == usual
    limiter.table.close()
