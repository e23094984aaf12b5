"""Requests as a client would send them, and the load generator that sends many of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from bench.gateways import KEY, Gateway
from bench.install import program

SYSTEM = "You are a helpful assistant. Answer briefly, in plain English, and say so when you do not know."
QUESTION = (
    "What are three good reasons to measure the cost of a gateway before choosing its architecture? "
    "Please give one sentence for each reason, and end with a one-line summary."
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked for: a JSON answer, or a stream, its chunks `pace` microseconds apart (0: as fast as they come)."""

    stream: bool = False
    pace: int = 0


JSON, FAST, PACED = Kind(), Kind(stream=True), Kind(stream=True, pace=5000)


@dataclass(frozen=True, slots=True)
class Load:
    kind: Kind
    connections: int
    requests: int
    seconds: float  # no new request is sent after that


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the load generator reports. Times in microseconds, as {n, mean, p50, p90, p99, max}."""

    good: int
    errors: int
    reconnects: int
    seconds: float
    events: int
    fewest: int  # events in a stream
    most: int
    without_done: int
    bytes: int
    latency: dict[str, float] | None
    first: dict[str, float] | None
    lag: dict[str, float] | None
    first_error: str

    @property
    def units(self) -> int:
        """What a cost is divided by: chunks of a stream, or answers."""
        return self.events or self.good


def request(kind: Kind, port: int, gateway: Gateway | None = None, upstream: int = 0) -> bytes:
    """The whole request, head and body. No gateway: the mock itself is asked."""
    user = QUESTION + (f" [pace={kind.pace}]" if kind.pace else "")
    document = {
        "model": gateway.model if gateway else "mock-model",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}],
        "temperature": 0.7,
        "max_tokens": 256,
        "stream": kind.stream,
    }
    body = json.dumps(document, separators=(",", ":")).encode()
    own = (
        {name: value.replace("@upstream@", str(upstream)) for name, value in gateway.headers.items()} if gateway else {}
    )
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Authorization": f"Bearer {KEY}",
        "Accept": "*/*",
        "User-Agent": "loadgen/1",
        **own,
        "Content-Length": str(len(body)),
    }
    path = gateway.path if gateway else "/v1/chat/completions"
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def drive(load: Load, port: int, payload: bytes, core: int) -> Outcome:
    with tempfile.NamedTemporaryFile(prefix="bench-request-") as file:
        file.write(payload)
        file.flush()
        numbers = (port, load.connections, load.requests, load.seconds)
        done = subprocess.run(
            [str(program("loadgen")), *map(str, numbers), file.name],
            capture_output=True,
            text=True,
            timeout=load.seconds + 120,
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
        while not _is_whole(answer) and (data := connection.recv(65536)):
            answer += data
    return answer


def _is_whole(answer: bytes) -> bool:
    head, blank, body = answer.partition(b"\r\n\r\n")
    head = head.lower()
    if not blank:
        return False
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    declared = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return bool(declared) and len(body) >= int(declared)
