"""Asks /healthz every 50 ms on a connection of its own, in a process of its own: how long does the loop stand still?

The answer's delay is the pause of the gateway's loop, plus what the machine takes for itself. `late_ms` says how busy
the machine is: how late this process itself was woken.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

EVERY = 0.05
ASK = b"GET /healthz HTTP/1.1\r\nhost: pulse\r\n\r\n"
PATIENCE = 120.0


class Pulse:
    """The process, as the fuzzer sees it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.figures: dict[str, float] = {}

    def end(self) -> dict[str, float]:
        if not self.figures:
            output, _ = self._process.communicate(timeout=PATIENCE + 10)
            self.figures = json.loads(output or b"{}")
        return self.figures


@contextmanager
def beating(port: int) -> Iterator[Pulse]:
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzz.pulse", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Pulse(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ask(connection: socket.socket) -> bool:
    """Whether it was answered with 200."""
    connection.sendall(ASK)
    answer = b""
    while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
        piece = connection.recv(4096)
        if not piece:
            return False
        answer += piece
    return answer.startswith(b"HTTP/1.1 200 ")


def watch(port: int) -> dict[str, float]:
    """Until stdin is closed."""
    delays: list[float] = []
    late = failures = 0.0
    connection: socket.socket | None = None
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
        begun = time.monotonic()
        late = max(late, begun - due)
        try:
            connection = connection or socket.create_connection(("127.0.0.1", port), PATIENCE)
            good = ask(connection)
        except OSError:
            good = False
        if not good:
            failures += 1
            connection = None
        delays.append(time.monotonic() - begun)
        due = max(due + EVERY, time.monotonic())
    delays.sort()
    rank = delays[min(len(delays) - 1, int(len(delays) * 0.99))] if delays else 0.0
    return {
        "asked": len(delays),
        "failed": failures,
        "longest_ms": round(delays[-1] * 1000, 1) if delays else 0.0,
        "p99_ms": round(rank * 1000, 1),
        "over_50_ms": sum(delay > 0.05 for delay in delays),
        "late_ms": round(late * 1000, 1),
    }


if __name__ == "__main__":
    print(json.dumps(watch(int(sys.argv[1]))))
