"""One gateway at a time, in more detail than a duel: one connection and many, latencies and lags beside the CPU time.

The direct figures (client to mock) are taken in the same minutes; `added` is the difference. Wall-clock columns depend
on the host; between gateways compare the CPU columns of a duel.

usage: python -m bench.solo NAME…
"""

from __future__ import annotations

import sys

from bench.arena import Arena, Contender, NotReady, arena
from bench.gateways import BY_NAME, Gateway
from bench.install import Missing, compile_programs, install
from bench.load import FAST, JSON, PACED, Load, Outcome, drive, request
from bench.processes import busiest, resident_bytes

WARM_UP = (Load(JSON, 8, 3000, 15), Load(FAST, 4, 200, 15), Load(PACED, 32, 64, 3))
PHASES = {
    "json c1": Load(JSON, 1, 4800, 6),
    "json c64": Load(JSON, 64, 40000, 4),
    "fast c1": Load(FAST, 1, 240, 5),
    "fast c32": Load(FAST, 32, 2000, 7),
    "paced c1": Load(PACED, 1, 6, 4),
    "paced c32": Load(PACED, 32, 256, 9),
}
HEAD = ("load", "CPU us", "per s", "p50 us", "added", "p99 us", "lag p50 us", "lag p99 us", "errors")


def lessened(load: Load, gateway: Gateway) -> Load:
    return Load(load.kind, load.connections, max(32, load.requests // 10), load.seconds) if gateway.slow else load


def measure(place: Arena, contender: Contender) -> list[tuple[str, ...]]:
    for load in WARM_UP:
        contender.drive(lessened(load, contender.gateway))
    rows = []
    for name, load in PHASES.items():
        payload = request(load.kind, place.upstream)
        direct = drive(lessened(load, contender.gateway), place.upstream, payload, place.cores.driver)
        outcome, cpu, _ = contender.drive(lessened(load, contender.gateway))
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
