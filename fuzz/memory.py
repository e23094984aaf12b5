"""Memory that must stay flat: samples over a run, and the rule by which they are judged."""

from __future__ import annotations

MIB = 1024 * 1024
SLACK_SHARE = 0.10
SLACK_BYTES = 16 * MIB
FEWEST = 120  # samples, one a second; in a shorter run one large body decides


def is_flat(samples: list[int]) -> bool:
    """Compares the least of the last quarter with the least of the second: a single large body raises neither."""
    if len(samples) < FEWEST:
        return True
    quarter = len(samples) // 4
    before, after = min(samples[quarter : 2 * quarter]), min(samples[-quarter:])
    return after <= before * (1 + SLACK_SHARE) + SLACK_BYTES


def describe(samples: list[int]) -> str:
    if not samples:
        return "not sampled"
    start, middle, end = samples[0], samples[len(samples) // 2], samples[-1]
    peak = max(samples)
    return f"{start / MIB:.0f} / {middle / MIB:.0f} / {end / MIB:.0f} MiB (peak {peak / MIB:.0f})"
