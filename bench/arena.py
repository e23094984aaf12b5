"""The arena: the mock upstream and any number of gateways, up at once, each on its own port, ended together."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.gateways import KEY, Gateway
from bench.install import BENCH, BUILD, ROOT, home, program
from bench.load import JSON, Kind, Load, Outcome, drive, exchange, request
from bench.processes import Cores, started, tree_cpu_seconds

READY_WITHIN, SLOW_READY_WITHIN = 30.0, 120.0


class NotReady(Exception):
    """A gateway exited, or did not answer 200 in time."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A gateway that is up and answers."""

    gateway: Gateway
    process: subprocess.Popen[bytes]
    port: int
    arena: Arena

    def request(self, kind: Kind) -> bytes:
        return request(kind, self.port, self.gateway, self.arena.upstream)

    def drive(self, load: Load) -> tuple[Outcome, float, float]:
        """What the load generator saw, and the CPU seconds that the process tree spent on it; evaluators apart."""
        before, apart = tree_cpu_seconds(self.process.pid)
        outcome = drive(load, self.port, self.request(load.kind), self.arena.cores.driver)
        after, apart_after = tree_cpu_seconds(self.process.pid)
        return outcome, after - before, apart_after - apart


class Arena:
    def __init__(self, upstream: int, stack: ExitStack) -> None:
        self.upstream = upstream
        self.cores = Cores.here()
        self._stack = stack

    def enter(self, gateway: Gateway) -> Contender:
        """Starts a gateway and waits until it answers a chat completion."""
        run = fresh_folder(gateway)
        port = free_port()
        process = self._stack.enter_context(self.launched(gateway, run, port))
        patience = SLOW_READY_WITHIN if gateway.slow else READY_WITHIN
        deadline = time.monotonic() + patience
        if gateway.picks_port:
            port = _read_port(run / "port", process, deadline)
        contender = Contender(gateway, process, port, self)
        _wait_until_answering(contender, deadline)
        return contender

    @contextmanager
    def launched(self, gateway: Gateway, run: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
        values = {
            "port": str(port),
            "upstream": str(self.upstream),
            "metrics": str(free_port()),
            "run": str(run),
            "peers": str(BENCH / "peers"),
            "root": str(ROOT),
            "home": str(home(gateway)),
            "key": KEY,
        }
        if gateway.config:
            (run / gateway.config).write_text(_fill((BENCH / "peers" / gateway.config).read_text(), values))
        command = [_fill(word, values) for word in gateway.command]
        with started(command, self.cores.gateway, log_of(gateway), gateway.environ) as process:
            yield process


@contextmanager
def arena(chunks: int = 200) -> Iterator[Arena]:
    """The mock upstream, up, and room for gateways beside it."""
    with ExitStack() as stack:
        upstream = free_port()
        (BUILD / "logs").mkdir(parents=True, exist_ok=True)
        command = [str(program("mock")), str(upstream), str(chunks)]
        mock = stack.enter_context(started(command, Cores.here().driver, BUILD / "logs" / "mock.log"))
        _wait_for_mock(mock, upstream)
        yield Arena(upstream, stack)


def fresh_folder(gateway: Gateway) -> Path:
    run = BUILD / "run" / gateway.name
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    return run


def log_of(gateway: Gateway) -> Path:
    return BUILD / "logs" / f"{gateway.name}.log"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _wait_for_mock(mock: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 5
    while True:
        try:
            exchange(port, request(JSON, port))
            return
        except OSError:
            if time.monotonic() > deadline or mock.poll() is not None:
                raise
            time.sleep(0.01)


def _read_port(file: Path, process: subprocess.Popen[bytes], deadline: float) -> int:
    while time.monotonic() < deadline and process.poll() is None:
        if file.is_file() and (text := file.read_text()):
            return int(text)
        time.sleep(0.05)
    raise NotReady("it named no port")


def _wait_until_answering(contender: Contender, deadline: float) -> None:
    answer = b""
    while time.monotonic() < deadline:
        if contender.process.poll() is not None:
            last = log_of(contender.gateway).read_text(errors="replace").strip().splitlines()[-1:]
            raise NotReady(f"it exited with {contender.process.returncode}: {' '.join(last)}")
        try:
            answer = exchange(contender.port, contender.request(JSON))
        except OSError:
            pass
        if answer.startswith(b"HTTP/1.1 200 "):
            return
        time.sleep(0.1)
    raise NotReady(f"no 200 in time; last answer: {answer[:300]!r}")
