"""Metrics of the gateway as a whole, which the control process finds out when it is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, get_args

from antiphon import __version__
from antiphon.control.options import ControlOptions
from antiphon.control.state import ProcessState, SupervisorState, read_state
from antiphon.engine import state as engine_state
from antiphon.metrics.render import Sample

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICKS: Final = os.sysconf("SC_CLK_TCK")


def gather(options: ControlOptions) -> Iterator[Sample]:
    state = read_state(options.room)
    yield Sample("antiphon_build_info", "gauge", "Always 1.", [((("version", __version__),), 1)])
    generation = "The newest generation of settings that all workers use."
    yield Sample("antiphon_settings_generation", "gauge", generation, [((), state.generation)])
    yield Sample("antiphon_draining", "gauge", "1: the gateway is ending.", [((), state.draining)])
    if state.started:
        yield Sample("antiphon_start_time_seconds", "gauge", "When the gateway started.", [((), state.started)])
    yield from _processes(state)
    if options.journal is not None:
        words = "Bytes of the journal: entries on their way to the store, and what is kept until it has them."
        yield Sample("antiphon_journal_bytes", "gauge", words, [((), _size(options.journal))])
    if options.engine is not None:
        found = engine_state.read(options.engine.state).status
        values = [((("state", word),), float(word == found)) for word in get_args(engine_state.Status)]
        yield Sample("antiphon_engine_state", "gauge", "1 for the state that the embedded engine is in.", values)


def _size(folder: str) -> float:
    """Of its files; those that go meanwhile count as nothing."""
    total = 0
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            with suppress(OSError):
                total += file.stat(follow_symlinks=False).st_size
    return float(total)


def _processes(state: SupervisorState) -> Iterator[Sample]:
    """By kind: how often one was started, how many run, and what they use."""
    everyone = [ProcessState("supervisor", state.pid, 1), *state.processes]
    kinds = list(dict.fromkeys(process.what for process in everyone))
    memory, seconds, running, starts = [], [], [], []
    for kind in kinds:
        label = (("process", kind.replace(" ", "_")),)
        pids = [process.pid for process in everyone if process.what == kind and process.pid]
        used = [process_usage(pid) for pid in pids]
        memory.append((label, float(sum(resident for resident, _ in used))))
        seconds.append((label, sum(cpu for _, cpu in used)))
        running.append((label, float(len(pids))))
        starts.append((label, float(sum(process.starts for process in everyone if process.what == kind))))
    yield Sample("antiphon_processes", "gauge", "Processes that run, by kind.", running)
    yield Sample("antiphon_process_starts", "counter", "Processes that were started, by kind.", starts)
    yield Sample("antiphon_process_resident_memory_bytes", "gauge", "Resident memory, shared pages included.", memory)
    yield Sample("antiphon_process_cpu_seconds", "gauge", "CPU time of the processes that run now.", seconds)


def process_usage(pid: int) -> tuple[int, float]:
    """(resident bytes, CPU seconds); zeros where it has ended. proc(5): fields 14, 15 and 24 of `stat`."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return int(fields[21]) * PAGE, (int(fields[11]) + int(fields[12])) / TICKS
    except (OSError, IndexError, ValueError):
        return 0, 0.0
