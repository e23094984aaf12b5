"""CPU per turn at an equal rate: each gateway is sent so many plain JSON requests a second.

A worker that waits most of the time pays more for each turn than one that is never idle: every event is a wake-up of
its own, with cold caches. With safety on the evaluators bound the rate, so a duel at full load compares a waiting
worker with an nginx that never waits. Here both have the same rate.

usage: python -m bench.rate [--rate N] [--turns N] [--rounds N] GATEWAY...
"""

from __future__ import annotations

import argparse
import select
import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from bench.arena import Contender, NotReady, arena
from bench.cases import JSON
from bench.gateways import BY_NAME
from bench.install import Missing, compile_programs, install
from bench.load import is_whole
from bench.processes import tree_cpu_seconds, wait_until_idle

CONNECTIONS = 16
PATIENCE = 20.0  # seconds for the last answers


def read_pool(file: Path) -> Iterator[bytes]:
    data = file.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("=I", data, at)
        at += 4
        yield data[at : at + length]
        at += length


def send_evenly(port: int, requests: Sequence[bytes], rate: float) -> None:
    """Sends each request at its time, on a connection that waits for nothing. Raises RuntimeError: not all answered."""
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    idle, answers = list(connections), dict.fromkeys(connections, b"")
    begin, sent, whole = time.monotonic(), 0, 0
    deadline = begin + len(requests) / rate + PATIENCE
    while whole < len(requests):
        now = time.monotonic()
        due = begin + sent / rate
        if sent < len(requests) and idle and now >= due:
            idle.pop(0).sendall(requests[sent])
            sent += 1
            continue
        if now > deadline:
            raise RuntimeError(f"{len(requests) - whole} of {len(requests)} turns were not answered")
        wait = max(0.0, due - now) if sent < len(requests) and idle else 1.0
        for each in select.select(connections, [], [], wait)[0]:
            answers[each] += each.recv(65536)
            if is_whole(answers[each]):
                answers[each] = b""
                idle.append(each)
                whole += 1
    for each in connections:
        each.close()


def measure(contender: Contender, rate: float, turns: int, first: int) -> tuple[float, float]:
    """-> microseconds of CPU per turn: the gateway's, and its evaluators'."""
    pool = contender.arena.pool(JSON, contender.gateway, contender.port)
    requests = list(islice(cycle(read_pool(pool)), first, first + turns))
    if contender.gateway.judges:
        wait_until_idle(contender.process.pid)
    before, apart = tree_cpu_seconds(contender.process.pid)
    send_evenly(contender.port, requests, rate)
    after, apart_after = tree_cpu_seconds(contender.process.pid)
    return (after - before) / turns * 1e6, (apart_after - apart) / turns * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.rate", description="CPU per turn at an equal rate.")
    parser.add_argument("--rate", type=float, default=100.0, help="turns a second")
    parser.add_argument("--turns", type=int, default=300, help="of each gateway in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("gateways", nargs="+", metavar="GATEWAY")
    asked = parser.parse_args()
    gateways = [BY_NAME[name] for name in asked.gateways]
    try:
        compile_programs()
        for gateway in gateways:
            install(gateway)
        with arena() as place:
            contenders = [place.enter(gateway) for gateway in gateways]
            spent: dict[str, list[tuple[float, float]]] = {gateway.name: [] for gateway in gateways}
            for number in range(asked.rounds):
                for contender in contenders:  # a request is new in each round: nothing is remembered
                    figures = measure(contender, asked.rate, asked.turns, number * asked.turns)
                    spent[contender.gateway.name].append(figures)
    except (Missing, NotReady, RuntimeError) as error:
        print(f"rate: {error}", file=sys.stderr)
        return 1
    for name, rounds in spent.items():
        own, apart = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name}: {own:.0f} us a turn, evaluators {apart:.0f} us, at {asked.rate:g} turns a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
