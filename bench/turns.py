"""CPU per turn and chunk of one or more checkouts, for a busy machine: short samples, the checkouts alternating.

The CPU of a sample is read from the worker's own clock. The lowest tenth of the samples is what a turn costs when it is
hardly disturbed; the median says how much it was. The ratio is the median over pairs of samples, which had the same
requests one after the other. No ratio to nginx, and one connection: compare checkouts only.

usage: python -m bench.turns [--samples N] [--cases CASE,CASE] [CHECKOUT…]     (default: this one)
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

from bench import requests
from bench.arena import Arena, Contender, NotReady, arena
from bench.cases import BY_NAME, Case
from bench.gateways import antiphon
from bench.install import ROOT, Missing, compile_programs, install
from bench.lockstep import Client
from bench.processes import cpu_seconds, tree

CASES = "json,json_heads,json_bare,tools,history,opening,paced,paced_obfuscation,paced_shapes"
FIRST_TURNS = 200
WARM_UP = 5  # samples
BURST = 20  # turns of a sample, one after the other, so that the caches are as warm as under load
PACE = 500  # microseconds: a chunk is read alone, and a stream, one sample, takes a tenth of a second


@dataclass(slots=True)
class Side:
    contender: Contender
    client: Client
    worker: int
    asked: int = 0
    samples: list[float] = field(default_factory=list)

    def turn(self, request: bytes) -> float:
        """-> CPU seconds of the worker"""
        self.asked += 1
        before = cpu_seconds(self.worker)
        answer = self.client.call(request.replace(b"0" * 10, b"%010d" % self.asked))
        if not answer.startswith(b"HTTP/1.1 200 ") or b"#%010d" % self.asked not in answer:
            raise NotReady(f"not a whole answer: {answer[:300]!r}")
        return cpu_seconds(self.worker) - before


def enter(place: Arena, stack: ExitStack, roots: Sequence[str]) -> list[Side]:
    sides = []
    for number, root in enumerate(roots):
        gateway = antiphon(f"checkout_{number}", "antiphon.toml", root=str(Path(root).resolve()))
        install(gateway)
        contender = place.enter(gateway)
        client = stack.enter_context(Client(contender.port))
        side = Side(contender, client, contender.process.pid)
        before = {pid: cpu_seconds(pid) for pid in tree(contender.process.pid)}
        for _ in range(FIRST_TURNS):
            side.turn(contender.request(BY_NAME["json"]))
        side.worker = max(before, key=lambda pid: cpu_seconds(pid) - before[pid])
        sides.append(side)
    return sides


def measure(case: Case, sides: Sequence[Side], samples: int) -> str:
    case = replace(case, pace=PACE) if case.pace else case
    pools = [
        cycle(list(requests.pool(case, side.contender.port, side.contender.gateway, side.contender.arena.upstream)))
        for side in sides
    ]
    burst = 1 if case.pace else BURST
    units = burst * (case.texts if case.stream and not case.is_short else 1)
    for side in sides:
        side.samples.clear()
    for number in range(samples + WARM_UP):
        order = list(zip(sides, pools, strict=True))
        for side, pool in reversed(order) if number % 2 else order:
            spent = sum(side.turn(next(pool)) for _ in range(burst))
            if number >= WARM_UP:
                side.samples.append(spent / units * 1e6)
    return _row(case, sides)


def _row(case: Case, sides: Sequence[Side]) -> str:
    first = sides[0].samples
    cells = []
    for side in sides:
        lowest = statistics.quantiles(side.samples, n=10)[0]
        ratio = statistics.median(own / other for own, other in zip(side.samples, first, strict=True))
        cells.append(f"{lowest:.1f} ({statistics.median(side.samples):.1f}) {ratio:.2f} x")
    return f"| {case.name} | {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.turns", description="CPU per turn of checkouts.")
    parser.add_argument("roots", nargs="*", metavar="CHECKOUT", default=[str(ROOT)])
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--cases", default=CASES, metavar="CASE,CASE")
    options = parser.parse_args(arguments)
    try:
        compile_programs()
        with arena() as place, ExitStack() as stack:
            sides = enter(place, stack, options.roots)
            os.sched_setaffinity(0, {place.cores.driver})
            print("CPU us: lowest tenth of the samples (median), ratio to the first\n")
            print(f"| case | {' | '.join(options.roots)} |\n" + "|---" * (len(sides) + 1) + "|")
            for name in options.cases.split(","):
                print(measure(BY_NAME[name], sides, options.samples), flush=True)
    except (Missing, NotReady) as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
