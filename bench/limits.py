"""What limits cost a worker: microseconds of CPU for admit and settle together, alone, beside others, with leases.

    .venv/bin/python -m bench.limits [--processes 4] [--turns 20000] [--counters redis://localhost]

Between two turns each process works for about as long as a turn takes. On a busy machine compare with the first line:
taking and giving back the lock takes 0.7 us on a quiet one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from multiprocessing import get_context
from typing import Any

import uvloop

from antiphon.limits.leases import LeasedLimiter
from antiphon.limits.limit import Caller, Cost, Limit, Refused
from antiphon.limits.limiter import Hold, Limiter
from antiphon.limits.resp import parse_url
from antiphon.limits.table import LimitTable, create

LARGE = 1 << 29
RICH = LARGE << 20
CASES = {
    "requests only": (Limit("a", requests_per_minute=LARGE),),
    "one key, all measures": (Limit("a", LARGE, LARGE, LARGE, LARGE, LARGE, RICH, RICH, RICH),),
    "key and team": (
        Limit("a", LARGE, tokens_per_minute=LARGE, day=RICH),
        Limit("b", LARGE, tokens_per_minute=LARGE, month=RICH),
    ),
}
CALLER, COST, ACTUAL = Caller("k"), Cost(50, 75, 12), Cost(50, 20, 8)
ROUND = 20  # turns between two readings of the clock


def measure_lock(path: str) -> float:
    table = LimitTable(path)
    before = time.thread_time_ns()
    for _ in range(20_000):
        table.enter()
        table.leave()
    return (time.thread_time_ns() - before) / 20e6


def measure(path: str, worker: int, limits: tuple[Limit, ...], turns: int, out: Any = None) -> tuple[float, float]:
    """-> the median of rounds, and the tenth that other processes disturbed least."""
    limiter = Limiter(LimitTable(path), worker, limits)
    busy, rounds = 0, []
    for first in range(1, turns + 1, ROUND):
        sum(range(2500 * ROUND))  # what turns cost besides
        before = time.thread_time_ns()
        for sequence in range(first, first + ROUND):
            held = limiter.admit(CALLER, "m", COST)
            if isinstance(held, Hold):
                held.settle(ACTUAL, sequence)
            else:
                busy += 1
        rounds.append((time.thread_time_ns() - before) / ROUND / 1000)
    rounds.sort()
    if out is not None:
        out.put((rounds[len(rounds) // 2], busy))
    return rounds[len(rounds) // 2], rounds[len(rounds) // 10]


async def measure_leases(path: str, limits: tuple[Limit, ...], url: str, turns: int) -> tuple[float, int]:
    """All that the process does, its exchanges with the server too."""
    limiter, waited = LeasedLimiter(LimitTable(path), 0, limits, parse_url(url)), 0
    keeper = asyncio.ensure_future(limiter.run())
    idle = time.thread_time_ns()
    for _ in range(turns):
        await asyncio.sleep(0)
    idle = time.thread_time_ns() - idle
    before = time.thread_time_ns()
    for sequence in range(1, turns + 1):
        held = limiter.admit(CALLER, "m", COST)
        if isinstance(held, Refused):
            waited += 1
            held = await limiter.admit_later(CALLER, "m", COST)
        assert isinstance(held, Hold), held
        held.settle(ACTUAL, sequence)
        await asyncio.sleep(0)
    spent = time.thread_time_ns() - before - idle
    keeper.cancel()
    await limiter.close()
    return spent / turns / 1000, waited


def measure_many(path: str, limits: tuple[Limit, ...], turns: int, processes: int) -> tuple[float, int]:
    context = get_context("fork")
    out: Any = context.Queue()
    many = [context.Process(target=measure, args=(path, at, limits, turns, out)) for at in range(processes)]
    for process in many:
        process.start()
    found = [out.get() for _ in many]
    for process in many:
        process.join()
    return sum(spent for spent, _ in found) / processes, sum(busy for _, busy in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--counters", help="URL of a Redis or Valkey to measure leases with")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        create(os.path.join(folder, "lock"), 1)
        print(f"the lock, taken and given back: {measure_lock(os.path.join(folder, 'lock')):.2f} us")
        for name, limits in CASES.items():
            path = os.path.join(folder, name)
            create(path, given.processes)
            alone, least = measure(path, 0, limits, given.turns)
            beside, busy = measure_many(path, limits, given.turns, given.processes)
            text = f"{name:22} alone {alone:5.1f} us (at best {least:.1f})"
            text += f"   {given.processes} at once {beside:5.1f} us ({busy} found it busy)"
            if given.counters:
                create(f"{path} leased", 1, leased=True)
                leased, waited = uvloop.run(measure_leases(f"{path} leased", limits, given.counters, given.turns))
                text += f"   leased {leased:5.1f} us ({waited} waited)"
            print(text)


if __name__ == "__main__":
    main()
