"""What the supervisor tells the evaluator processes, in a file of the private room: which evaluators to load."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Final

import msgspec

END: Final = signal.SIGRTMIN  # ends the process; nobody else sends it

# What of the environment the process gets: nothing that may be a secret.
KEPT: Final = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH"})
# One thread computes: more would fight with the workers for the cores, and for one text at a time they gain little.
ALONE: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class RuleConfig(msgspec.Struct, frozen=True):
    """One list of words and patterns, as its settings say it."""

    name: str
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    file: str | None = None
    lists: tuple[str, ...] = ()  # those that are built in


class ProtectedConfig(msgspec.Struct, frozen=True):
    name: str
    indexes: tuple[str, ...] = ()  # files; none: the packaged index


class EvaluatorConfig(msgspec.Struct, frozen=True):
    room: str
    embedded: tuple[str, ...] = ()  # the names under which the classifier is asked
    protected: tuple[ProtectedConfig, ...] = ()
    rules: tuple[RuleConfig, ...] = ()
    processes: int = 1

    @property
    def sockets(self) -> list[str]:
        """One for each process."""
        return [f"{self.room}/evaluators-{number}.sock" for number in range(self.processes)]

    @property
    def file(self) -> str:
        return f"{self.room}/evaluators.json"

    def write(self) -> None:
        with open(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(self))


def read(path: str) -> EvaluatorConfig:
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=EvaluatorConfig)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name in KEPT}
    return {**kept, **dict.fromkeys(ALONE, "1"), "MALLOC_ARENA_MAX": "2"}
