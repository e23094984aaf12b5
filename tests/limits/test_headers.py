"""`x-ratelimit-*` in OpenAI's format."""

from __future__ import annotations

import pytest

from antiphon.limits.headers import rate_headers, write_time
from antiphon.limits.row import Standing


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
