"""What limits cost a worker: microseconds of CPU for admit and settle together, alone and beside others.

.venv/bin/python -m bench.limits [--processes 4] [--turns 20000]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from multiprocessing import get_context
from typing import Any

from antiphon.limits.limit import Caller, Cost, Limit
from antiphon.limits.limiter import Hold, Limiter
from antiphon.limits.table import Table, create

LARGE = 1 << 30
CASES = {
    "requests": (Limit("a", requests_per_minute=LARGE),),
    "one key: all measures": (Limit("a", LARGE, LARGE, LARGE, LARGE, LARGE, LARGE << 20, LARGE << 20, LARGE << 20),),
    "key and team": (
        Limit("a", LARGE, tokens_per_minute=LARGE, day=LARGE << 20),
        Limit("b", LARGE, tokens_per_minute=LARGE, month=LARGE << 20),
    ),
}


def measure(path: str, worker: int, limits: tuple[Limit, ...], turns: int, out: Any = None) -> float:
    limiter, caller, cost, actual = Limiter(Table(path), worker, limits), Caller("k"), Cost(50, 75, 12), Cost(50, 20, 8)
    busy, spent = 0, 0.0
    for sequence in range(1, turns + 1):
        _work()
        before = time.thread_time_ns()
        held = limiter.admit(caller, "m", cost)
        if isinstance(held, Hold):
            held.settle(actual, sequence)
        else:
            busy += 1
        spent += time.thread_time_ns() - before
    spent /= turns * 1000
    if out is not None:
        out.put((spent, busy))
    return spent


def _work() -> None:
    """What a turn costs besides: about 70 us."""
    sum(range(2500))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=20_000)
    given = parser.parse_args()
    context = get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        for name, limits in CASES.items():
            path = os.path.join(folder, name)
            create(path, given.processes)
            alone = min(measure(path, 0, limits, given.turns) for _ in range(3))
            out: Any = context.Queue()
            many = [
                context.Process(target=measure, args=(path, worker, limits, given.turns, out))
                for worker in range(given.processes)
            ]
            for process in many:
                process.start()
            found = [out.get() for _ in many]
            for process in many:
                process.join()
            beside = sum(spent for spent, _ in found) / len(found)
            busy = sum(busy for _, busy in found)
            print(f"{name:24} alone {alone:5.1f} us   {given.processes} at once {beside:5.1f} us, {busy} found it busy")


if __name__ == "__main__":
    main()
