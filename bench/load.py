"""The load generator and its reports, and single exchanges."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import Case
from bench.install import program


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the load generator reports. Times in microseconds, as {n, mean, p50, p90, p99, max}."""

    good: int  # whole answers
    errors: int  # all others
    reconnects: int
    seconds: float
    events: int
    texts: int  # words that came in streams
    bytes: int
    latency: dict[str, float] | None
    first: dict[str, float] | None
    lag: dict[str, float] | None
    first_error: str

    @property
    def units(self) -> int:
        """What a cost is divided by: the chunks of text that the mock sent, or answers."""
        return self.texts or self.good


def write_pool(file: Path, requests: Iterable[bytes]) -> None:
    with file.open("wb") as out:
        for request in requests:
            out.write(struct.pack("=I", len(request)) + request)


def drive(case: Case, port: int, pool: Path, core: int, number: int = 0) -> Outcome:
    """`number`: of the first request. It chooses where the walk through the pool begins, and what the answers hold."""
    numbers = (port, case.connections, case.requests, case.seconds)
    done = subprocess.run(
        [str(program("loadgen")), *map(str, numbers), str(pool), str(number), str(case.texts)],
        capture_output=True,
        text=True,
        timeout=case.seconds + 120,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return Outcome(**report)


def exchange(port: int, payload: bytes, timeout: float = 20.0) -> bytes:
    """One request on a connection of its own; the whole answer, head and body, as it came."""
    with socket.create_connection(("127.0.0.1", port), 2) as connection:
        connection.settimeout(timeout)
        connection.sendall(payload)
        answer = b""
        while not is_whole(answer) and (data := connection.recv(65536)):
            answer += data
    return answer


def is_whole(answer: bytes) -> bool:
    head, blank, body = answer.partition(b"\r\n\r\n")
    head = head.lower()
    if not blank:
        return False
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    declared = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return bool(declared) and len(body) >= int(declared)
