"""One gateway at a time, in more detail than a duel: one connection and many, latencies and lags beside the CPU time.

The direct figures (client to mock) are taken in the same minutes; `added` is the difference. Wall-clock columns depend
on the host; between gateways compare the CPU columns of a duel.

usage: python -m bench.solo NAME…
"""

from __future__ import annotations

import sys
from dataclasses import replace

from bench.arena import Arena, Contender, NotReady, arena
from bench.cases import FAST, JSON, PACED, Case
from bench.gateways import BY_NAME, Gateway
from bench.install import Missing, compile_programs, install
from bench.load import Outcome
from bench.processes import busiest, resident_bytes

SLOW_SHARE = 0.1
WARM_UP = (replace(JSON, connections=8, requests=3000), FAST.times(0.5), PACED)
PHASES = {
    "json c1": replace(JSON, connections=1, requests=4800, seconds=6),
    "json c64": replace(JSON, requests=40000, seconds=4),
    "fast c1": replace(FAST, connections=1, requests=240, seconds=5),
    "fast c32": replace(FAST, requests=2000, seconds=7),
    "paced c1": replace(PACED, connections=1, requests=6, seconds=4),
    "paced c32": replace(PACED, requests=256, seconds=9),
}
HEAD = ("load", "CPU us", "per s", "p50 us", "added", "p99 us", "lag p50 us", "lag p99 us", "errors")


def lessened(case: Case, gateway: Gateway) -> Case:
    return case.times(SLOW_SHARE) if gateway.slow else case


def measure(place: Arena, contender: Contender) -> list[tuple[str, ...]]:
    for case in WARM_UP:
        contender.drive(lessened(case, contender.gateway))
    rows = []
    for name, case in PHASES.items():
        direct = place.direct(lessened(case, contender.gateway))
        outcome, cpu, _ = contender.drive(lessened(case, contender.gateway))
        rows.append((name, *_cells(outcome, direct, cpu)))
    return rows


def _cells(outcome: Outcome, direct: Outcome, cpu: float) -> tuple[str, ...]:
    latency, without = outcome.latency or {}, direct.latency or {}
    lag = outcome.lag or {}
    nan = float("nan")
    figures = (
        cpu / max(1, outcome.units) * 1e6,
        outcome.units / outcome.seconds,
        latency.get("p50", nan),
        latency.get("p50", nan) - without.get("p50", nan),
        latency.get("p99", nan),
        lag.get("p50", nan),
        lag.get("p99", nan),
    )
    return (*(f"{figure:,.1f}" if figure == figure else "-" for figure in figures), str(outcome.errors))


def main(names: list[str]) -> int:
    status = 0
    for name in names:
        try:
            compile_programs()
            install(BY_NAME[name])
            with arena() as place:
                contender = place.enter(BY_NAME[name])
                rows = measure(place, contender)
                memory = resident_bytes(busiest(contender.process.pid)) / 1e6
        except (Missing, NotReady) as reason:
            print(f"bench: without {name}: {reason}", flush=True)
            status = 1
            continue
        print(f"\n{name} (worker RSS {memory:.0f} MB)\n")
        print("\n".join(f"| {' | '.join(row)} |" for row in (HEAD, ("---",) * len(HEAD), *rows)), flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
