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

from bench import requests
from bench.cases import CHUNKS, JSON, Case
from bench.gateways import KEY, Gateway
from bench.install import BENCH, BUILD, ROOT, home, program
from bench.load import Outcome, drive, exchange, write_pool
from bench.processes import Cores, started, tree_cpu_seconds, wait_until_idle

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

    def request(self, case: Case) -> bytes:
        return requests.first(case, self.port, self.gateway, self.arena.upstream)

    def drive(self, case: Case, number: int = 0) -> tuple[Outcome, float, float]:
        """What the load generator saw, and the CPU seconds that the process tree spent on it; evaluators apart."""
        pool = self.arena.pool(case, self.gateway, self.port)
        before, apart = tree_cpu_seconds(self.process.pid)
        outcome = drive(case, self.port, pool, self.arena.cores.driver, number)
        if self.gateway.judges:
            wait_until_idle(self.process.pid)  # verdicts that came too late were paid for by this case
        after, apart_after = tree_cpu_seconds(self.process.pid)
        return outcome, after - before, apart_after - apart


class Arena:
    def __init__(self, upstream: int, stack: ExitStack) -> None:
        self.upstream = upstream
        self.cores = Cores.here()
        self._stack = stack
        self._pools: dict[tuple[str, int, str, int], Path] = {}

    def direct(self, case: Case, number: int = 0) -> Outcome:
        """Without a gateway between the load generator and the mock."""
        return drive(case, self.upstream, self.pool(case, None, self.upstream), self.cores.driver, number)

    def pool(self, case: Case, gateway: Gateway | None, port: int) -> Path:
        """The file of a case's requests to this port; written once."""
        name = gateway.name if gateway else "mock"
        key = (case.name, case.pace, name, port)
        if key not in self._pools:
            file = BUILD / "pools" / f"{name}-{case.name}-{case.pace}-{port}"
            write_pool(file, requests.pool(case, port, gateway, self.upstream))
            self._pools[key] = file
        return self._pools[key]

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
    def launched(
        self, gateway: Gateway, run: Path, port: int, more_settings: str = ""
    ) -> Iterator[subprocess.Popen[bytes]]:
        values = {
            "port": str(port),
            "upstream": str(self.upstream),
            "metrics": str(free_port()),
            "run": str(run),
            "peers": str(BENCH / "peers"),
            "root": gateway.root or str(ROOT),
            "home": str(home(gateway)),
            "key": KEY,
        }
        if gateway.config:
            text = (BENCH / "peers" / gateway.config).read_text() + more_settings
            (run / gateway.config).write_text(_fill(text, values))
        command = [_fill(word, values) for word in gateway.command]
        with started(command, self.cores.gateway, log_of(gateway), gateway.environ) as process:
            yield process


@contextmanager
def arena() -> Iterator[Arena]:
    """The mock upstream, up, and room for gateways beside it."""
    with ExitStack() as stack:
        upstream = free_port()
        (BUILD / "logs").mkdir(parents=True, exist_ok=True)
        shutil.rmtree(BUILD / "pools", ignore_errors=True)
        (BUILD / "pools").mkdir()
        command = [str(program("mock")), str(upstream), str(CHUNKS)]
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
            exchange(port, requests.first(JSON, port))
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
