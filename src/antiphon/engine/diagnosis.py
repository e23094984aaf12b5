"""Why there is no engine, in one sentence that says what to do: from how its process ended and what it wrote last."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import Final

import msgspec

RETRY: Final = 30.0  # seconds before a start that failed is tried again
LESS: Final = "Use a smaller model, or set [engine] context or slots lower."
SHORT_OF_MEMORY: Final = ("insufficient memory", "failed to allocate", "bad_alloc", "Cannot allocate memory")
LOADING: Final = "error loading model: "
MEBIBYTE: Final = 1024 * 1024
LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class EngineFault(Exception):
    """`again`: seconds until it is tried again."""

    def __init__(self, sentence: str, again: float = RETRY) -> None:
        super().__init__(sentence)
        self.again = again


def diagnose(told: bytes, status: int, written: Iterable[str], model: str) -> str:
    """`told`: its last message, if there was one; `status`: its exit status, negative for a signal."""
    lines = list(written)
    if status == -signal.SIGKILL or any(words in line for line in lines for words in SHORT_OF_MEMORY):
        return f"There is too little memory for the model {model}. {LESS}"
    if status == -signal.SIGILL:
        return "This machine's CPU lacks instructions that the embedded engine needs (AVX2)."
    fault = _fault(told)
    if fault is not None and "libgomp" in fault:
        return f"{fault} Install libgomp (Debian, Ubuntu: apt install libgomp1; Fedora: dnf install libgomp)."
    if fault is not None and "xllamacpp" in fault:
        return f"{fault} Install Antiphon with its dependencies, on a machine for which xllamacpp has a wheel."
    said = [line.split(LOADING, 1)[1] for line in lines if LOADING in line]
    if said:
        return (
            f"The model file {model} cannot be loaded, it may be corrupt: {said[-1]}. Fetch it again, or name another."
        )
    if fault is not None:
        return fault
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return f"The engine {how} while it loaded {model}."


def check_memory(model: str) -> None:
    """A model larger than the machine's memory would be read from the disk for every token."""
    try:
        size = os.stat(model).st_size
    except OSError as error:
        raise EngineFault(f"The model file {model} cannot be read: {error.strerror}.") from None
    free = available_memory()
    if free is not None and size > free:
        raise EngineFault(
            f"There is too little memory for the model {model}: it takes {size // MEBIBYTE} MiB, "
            f"and {free // MEBIBYTE} MiB are free. {LESS}"
        )


def available_memory() -> int | None:
    """Bytes: what the machine has left, or what the container may take if that is less. None: it does not tell."""
    found = []
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")]
    except OSError:
        return None
    for path in LIMITS:
        try:
            with open(path, encoding="ascii") as file:
                found.append(int(file.read()))
        except (OSError, ValueError):  # no such limit, or "max"
            continue
    return min(found, default=None)


def _fault(told: bytes) -> str | None:
    try:
        fault = msgspec.json.decode(told)["fault"]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return None
    return str(fault)
