"""Memory per open, idle stream: how much a worker grows by while many streams stand open through it, over their number.

Each stream has had its first chunk; the next is minutes away.

usage: python -m bench.streams [--streams N] [NAME…]     (default: 2000, antiphon)
"""

from __future__ import annotations

import argparse
import resource
import socket
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bench.arena import Contender, NotReady, arena
from bench.cases import FAST, JSON, PACED
from bench.gateways import BY_NAME
from bench.install import Missing, compile_programs, install
from bench.processes import busiest, cpu_seconds, resident_bytes

IDLE = replace(PACED, name="idle", pace=100_000_000)
# Enough for the worker to be the busiest of its tree.
WARM_UP = (replace(JSON, connections=32, requests=20_000, seconds=8), FAST.times(0.16))
BATCH = 100  # opened together, so that no listen queue overflows


@dataclass(frozen=True, slots=True)
class Growth:
    streams: int
    before: int
    after: int
    cpu_per_second: float  # of the worker while all stand idle

    def __str__(self) -> str:
        each = (self.after - self.before) / self.streams / 1024
        return (
            f"{each:.1f} KiB per open idle stream ({self.streams} streams, worker RSS {self.before / 1e6:.1f} -> "
            f"{self.after / 1e6:.1f} MB, idle CPU {self.cpu_per_second * 100:.1f} % of a core)"
        )


def measure(name: str, streams: int) -> Growth:
    with arena() as place, ExitStack() as stack:
        contender = place.enter(BY_NAME[name])
        for case in WARM_UP:
            contender.drive(case)
        worker = busiest(contender.process.pid)
        before = resident_bytes(worker)
        for opened in range(0, streams, BATCH):
            open_streams(contender, min(BATCH, streams - opened), stack)
        spent = cpu_seconds(worker)
        time.sleep(2)
        idle = (cpu_seconds(worker) - spent) / 2
        return Growth(streams, before, resident_bytes(worker), idle)


def open_streams(contender: Contender, count: int, stack: ExitStack) -> None:
    """Opens them and reads until each has had its first event; they stay open as long as the stack does."""
    payload = contender.request(IDLE)
    batch = []
    for _ in range(count):
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", contender.port), 10))
        connection.sendall(payload)
        batch.append(connection)
    for connection in batch:
        answer = b""
        while b"data:" not in answer:
            data = connection.recv(65536)
            answer += data
            if not data:
                raise NotReady(f"a stream ended before its first event: {answer[:300]!r}")


def raise_file_limit(wanted: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY and hard < wanted else wanted, hard)
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description="Memory per open idle stream.")
    parser.add_argument("names", nargs="*", metavar="NAME", default=["antiphon"])
    parser.add_argument("--streams", type=int, default=2000)
    options = parser.parse_args(arguments)
    raise_file_limit(3 * options.streams + 256)  # children inherit it: a proxy holds two sockets per stream
    status = 0
    for name in options.names:
        try:
            compile_programs()
            install(BY_NAME[name])
            print(f"{name}: {measure(name, options.streams)}", flush=True)
        except (Missing, NotReady, TimeoutError) as reason:
            print(f"bench: without {name}: {reason}", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
