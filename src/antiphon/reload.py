"""New settings for a gateway that runs: read, compared, brought to every worker or to none [reload-whole].

The supervisor reads and compares. A child process of it then asks all workers to prepare; when all have, it tells all
to commit. Meanwhile the supervisor replaces no worker: one that dies starts with what the reload ends with.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from antiphon.control.worker_socket import CONTROL, NoAnswer, ask, worker_name
from antiphon.settings import Settings, SettingsError
from antiphon.settings.evaluators import in_force
from antiphon.settings.model import ServerSettings

PREPARE: Final = 30.0  # seconds for a worker to build what new settings need
COMMIT: Final = 10.0
# What new turns look up. Everything else of [server] belongs to sockets, processes and logs.
RELOADED: Final = frozenset(
    {
        *("dialect", "auth", "strict", "receipts", "cors", "max_client_requests", "max_key_requests"),
        *("keepalive_comment", "max_json_depth", "max_json_values", "maritaca_object"),
    }
)


def needs_restart(old: Settings, new: Settings) -> list[str]:
    """What differs and cannot change while the gateway runs."""
    names = [name.name for name in fields(ServerSettings) if name.name not in RELOADED]
    found = [f"[server] {name}" for name in names if getattr(old.server, name) != getattr(new.server, name)]
    for name in ("engine", "accounts"):
        if getattr(old, name) != getattr(new, name):
            found.append(f"[{name}]")
    if old.limits != new.limits:
        found.append("[[limit]]")
    if (old.embedded is None) != (new.embedded is None):
        found.append("whether a route leads to the embedded model")
    if _evaluators(old) != _evaluators(new):
        found.append("[safety] evaluators")
    if _expiring(old) != _expiring(new):
        found.append("upstreams whose credentials expire")
    return found


def _evaluators(settings: Settings) -> Any:
    """Who judges: processes and connections. (What is done with a verdict can change.)"""
    safety, rows = settings.safety, in_force(settings.safety)
    asked = {row.route for row in rows if row.route is not None}
    routes = [route for route in settings.routes if route.model in asked]
    names = {target.upstream for route in routes for target in route.targets}
    used = [upstream for upstream in settings.upstreams if upstream.name in names]
    return safety.enabled, safety.processes, safety.queue_ms, rows, routes, used


def _expiring(settings: Settings) -> Any:
    return [(place, row) for place, row in enumerate(settings.upstreams) if row.expires]


def adapt(new: Settings, used: Settings) -> Settings:
    """The new settings with what belongs to sockets and processes as it is: found out at the start, not read."""
    fixed = {name.name: getattr(used.server, name.name) for name in fields(ServerSettings) if name.name not in RELOADED}
    return replace(new, server=replace(new.server, **fixed))


def bring(room: str, workers: int, number: int, settings: Settings) -> str | None:
    """In a process of its own. -> why the new settings are not used."""
    return asyncio.run(_bring(room, workers, pickle.dumps((number, settings))))


async def _bring(room: str, workers: int, data: bytes) -> str | None:
    names = [worker_name(number) for number in range(workers)]
    faults = [fault for fault in await _ask_all(room, names, "prepare", data, PREPARE) if fault is not None]
    if faults:
        await _ask_all(room, names, "abort", b"", COMMIT)
        return faults[0]
    await _ask_all(room, names, "commit", b"", COMMIT)
    await _ask_all(room, [CONTROL], "settings", data, COMMIT)
    return None


async def _ask_all(room: str, names: Sequence[str], what: str, data: bytes, patience: float) -> list[str | None]:
    return await asyncio.gather(*(_ask(room, name, what, data, patience) for name in names))


async def _ask(room: str, name: str, what: str, data: bytes, patience: float) -> str | None:
    """-> what is wrong. A process that is dead is not: its successor gets the settings that are used in the end."""
    try:
        answer = await ask(room, name, what, data, patience)
    except NoAnswer as error:
        return f"{name} did not answer in time" if error.was_slow else None
    return f"{name}: {answer['fault']}" if "fault" in answer else None


@dataclass(slots=True)
class SettingsReload:
    """The supervisor's part."""

    room: str
    workers: int
    loaded: Settings  # as they were read
    read: Callable[[], Settings] | None  # None: they cannot be read again
    say: Callable[[str], None]
    become: Callable[[], None]  # what a child of the supervisor does first
    add_names: Callable[[Settings], None]  # of metrics
    tell: Callable[[], None]  # that it is under way
    generation: int = 1
    tried: int = 0
    under_way: bool = False
    faults: tuple[str, ...] = ()  # of the last one; none: it is in use
    pid: int = 0  # of the process that brings settings to the workers
    _next: tuple[Settings, Settings] | None = None  # as they were read, and as they are used
    _again: bool = False

    def begin(self, used: Settings) -> None:
        """`used`: the settings in use."""
        if self.pid:
            self._again = True
            return
        self.under_way = True
        self.tell()  # before the file is read: who asks from now on may have changed it
        try:
            new = self.read() if self.read is not None else None
        except SettingsError as error:
            self._end([str(fault) for fault in error.faults])
            return
        if new is None:
            self._end(["the settings cannot be read again"])
            return
        fixed = needs_restart(self.loaded, new)
        if fixed:
            self._end([f"these need a restart: {', '.join(fixed)}"])
            return
        self._next = (new, adapt(new, used))
        self.add_names(new)
        self._fork(self._next[1])

    def _fork(self, settings: Settings) -> None:
        try:
            self.pid = os.fork()
        except OSError as error:
            self._end([f"no process could be started: {error.strerror}"])
            return
        if self.pid:
            return
        status = 1
        try:
            self.become()
            fault = bring(self.room, self.workers, self.generation + 1, settings)
            with open(self._fault_path(), "w") as file:
                file.write(fault or "")
            status = 0 if fault is None else 1
        finally:
            os._exit(status)

    def ended(self, status: int, used: Settings) -> Settings:
        """That process has ended. -> the settings in use"""
        self.pid = 0
        assert self._next is not None
        (new, adapted), self._next = self._next, None
        if os.waitstatus_to_exitcode(status) == 0:
            self.loaded, used = new, adapted
            self.generation += 1
            self._end([])
        else:
            self._end([self._read_fault()])
        if self._again:
            self._again = False
            self.begin(used)
        return used

    def _end(self, faults: list[str]) -> None:
        self.tried += 1
        self.under_way = False
        self.faults = tuple(faults)
        if not faults:
            self.say(f"antiphon: settings generation {self.generation} is in use")
        for fault in faults:
            self.say(f"antiphon: settings are not reloaded: {fault}")

    def _fault_path(self) -> str:
        return os.path.join(self.room, "reload-fault")

    def _read_fault(self) -> str:
        try:
            with open(self._fault_path()) as file:
                return file.read() or "the reload failed"
        except OSError:
            return "the reload failed"
