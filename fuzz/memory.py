"""Memory that must stay flat: samples over a run, and the rule by which they are judged."""

from __future__ import annotations

from statistics import median

MIB = 1024 * 1024
SLACK_SHARE = 0.10
SLACK_BYTES = 16 * MIB
RULE = "flat: the median of the last quarter is at most 10 % + 16 MiB above that of the second"


def growth(samples: list[int]) -> tuple[int, int]:
    """Medians of the second and the last quarter; the first quarter is warm-up."""
    quarter = max(1, len(samples) // 4)
    second = samples[quarter : 2 * quarter] or samples
    return int(median(second)), int(median(samples[-quarter:]))


def is_flat(samples: list[int]) -> bool:
    before, after = growth(samples)
    return after <= before * (1 + SLACK_SHARE) + SLACK_BYTES


def describe(samples: list[int]) -> str:
    if not samples:
        return "not sampled"
    start, middle, end = samples[0], samples[len(samples) // 2], samples[-1]
    peak = max(samples)
    return f"{start / MIB:.0f} / {middle / MIB:.0f} / {end / MIB:.0f} MiB (peak {peak / MIB:.0f})"
