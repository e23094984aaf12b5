"""Processes under measurement: started on a core of their own, ended by pid, and what /proc says of their cost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
EVALUATORS = b"antiphon.evaluators"
CPUCLOCK_SCHED = 2  # linux/posix-timers.h: a process's CPU clock in nanoseconds, all its threads, dead ones too


@dataclass(frozen=True, slots=True)
class Cores:
    """The mock and the load generator share one core, the gateway has the other (or the same, where there is one)."""

    driver: int
    gateway: int

    @classmethod
    def here(cls) -> Cores:
        available = sorted(os.sched_getaffinity(0))
        return cls(available[0], available[min(1, len(available) - 1)])


@contextmanager
def started(
    command: Sequence[str], core: int, log: Path, environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends it and what it started: asks, waits, and only then kills."""
    family = tree(process.pid)
    for sign, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        _signal(family if sign == signal.SIGKILL else [process.pid], sign)
        if _gone(process, family, patience):
            return
        _signal(family, sign)


def _signal(pids: list[int], sign: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, sign)
        except ProcessLookupError:
            pass


def _gone(process: subprocess.Popen[bytes], family: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None and not any(Path(f"/proc/{pid}").exists() for pid in family):
            return True
        time.sleep(0.02)
    return False


# What they cost


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := _stat(int(entry))):
            children.setdefault(int(stat[1]), []).append(int(entry))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of one process with the children it has reaped."""
    try:
        own = time.clock_gettime(((~pid) << 3) | CPUCLOCK_SCHED)
    except OSError:
        return 0.0
    stat = _stat(pid)
    return own + ((int(stat[13]) + int(stat[14])) / TICKS if stat else 0.0)


def tree_cpu_seconds(root: int) -> tuple[float, float]:
    """Of a gateway, and of the evaluators that it has beside it: those are reported apart."""
    spent = {pid: cpu_seconds(pid) for pid in tree(root)}
    apart = sum(seconds for pid, seconds in spent.items() if is_apart(pid))
    return sum(spent.values()) - apart, apart


def wait_until_idle(root: int, within: float = 20.0) -> None:
    """Until a gateway and its evaluators use less than a twentieth of a core."""
    deadline = time.monotonic() + within
    spent = sum(tree_cpu_seconds(root))
    while time.monotonic() < deadline:
        time.sleep(0.2)
        before, spent = spent, sum(tree_cpu_seconds(root))
        if spent - before < 0.01:
            return


def busiest(root: int) -> int:
    """The worker: of a process and its descendants the one that has used the most CPU."""
    return max((pid for pid in tree(root) if not is_apart(pid)), key=cpu_seconds)


def is_apart(pid: int) -> bool:
    try:
        return EVALUATORS in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def resident_bytes(pid: int) -> int:
    """From smaps_rollup, which counts; statm's figure lags behind on kernels with per-core counters."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:")), 0)


def tree_resident_bytes(root: int) -> int:
    return sum(resident_bytes(pid) for pid in tree(root))


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command's name, which may itself hold spaces and brackets."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()
