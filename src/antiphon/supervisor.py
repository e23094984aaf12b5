"""Processes: `antiphon serve` holds the listening sockets and keeps the workers, the engine's host, the evaluators
and the services beside them (credentials that expire, accounts) alive.

The sockets are the supervisor's: a worker that dies leaves its queue of connections to its successor; none is reset.
With several workers each has a socket of its own on the same port (SO_REUSEPORT: the kernel spreads the connections).
The supervisor has no event loop and no threads, so that forking stays safe and cheap.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Protocol

import msgspec

from antiphon import systemd, wiring, worker
from antiphon.banner import banner
from antiphon.control.state import ProcessState, SupervisorState, write_state
from antiphon.engine import state
from antiphon.engine.options import END, EngineOptions
from antiphon.evaluators import config
from antiphon.heartbeat import DUMP, describe_state, dump_on_signal, read_dump, remove_dump
from antiphon.lines import put
from antiphon.listen import open_sockets, remove_socket
from antiphon.log import append, error_line
from antiphon.place import Place
from antiphon.reload import SettingsReload
from antiphon.settings import Settings
from antiphon.settings.model import Address
from antiphon.terminal import Terminal
from antiphon.wiring_accounts import AccountsPlan, run_accounts_process
from antiphon.wiring_control import control_options, first_credential
from antiphon.wiring_evaluators import evaluator_orders
from antiphon.wiring_metrics import name_metrics, prepare_metrics

WATCHED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD)
START_LIMIT = 30.0  # seconds for the first workers to be ready
SETTLE_LIMIT = 3600.0  # seconds that the banner waits for the engine, which may have a model to fetch first
LEAST_PATIENCE = 30.0  # seconds of silence before the engine's host is taken for hanging
HOST_PATIENCE = 5.0  # seconds for the engine's host to end; nobody waits for its answers then
SHIP_PATIENCE = 10.0  # seconds for the accounts process to bring the last entries to the store
UNLINK_BEFORE = 0.5  # seconds before a lame-duck phase ends at which a unix socket is removed
LOOK = 0.5  # seconds between looks at the children
TICK = 0.05  # the same, while the banner waits for the engine
DUMP_BEFORE = 0.6  # seconds before patience ends in which a silent process is asked where it stands
EVALUATORS = (sys.executable, "-P", "-m", "antiphon.evaluators")  # -P: nothing from the directory we were started in


class HostProcess(Protocol):
    """The engine's host: shows on `told` that it lives (engine/pulse.py), ends when `life` does."""

    def __call__(self, options: EngineOptions, listener: socket.socket, *, told: int, life: int) -> None: ...


def run_host(options: EngineOptions, listener: socket.socket, *, told: int, life: int) -> None:
    """Imported in the host's own process: the supervisor and its workers do without the 10 MB that it needs."""
    from antiphon.engine import host  # noqa: PLC0415

    host.run(options, listener, told=told, life=life)


@dataclass(slots=True)
class Supervisor:
    settings: Settings
    sockets: list[list[socket.socket]]  # of each worker
    room: str  # a private directory for the sockets that processes open among themselves
    host: HostProcess
    least_patience: float = LEAST_PATIENCE
    owns_sockets: bool = True  # False: systemd's
    control: socket.socket | None = None  # the control plane's listener; None: there is none
    loaded: Settings | None = None  # the settings as they were read; None: as they are used
    read: Callable[[], Settings] | None = None  # reads them again
    accounts: AccountsPlan | None = None  # None: they are off
    terminal: Terminal = field(default_factory=Terminal)
    engine: EngineOptions | None = None  # None: it does not run
    workers: list[Place] = field(default_factory=list)
    hosts: list[Place] = field(default_factory=list)  # the engine's, or none
    judged: config.EvaluatorConfig | None = None  # what the evaluators are told; None: their processes do not run
    evaluators: list[Place] = field(default_factory=list)
    services: list[Place] = field(default_factory=list)  # processes that work for all the others, and end last
    controls: list[Place] = field(default_factory=list)  # the control process, or none
    draining: bool = False
    _unlink_at: float | None = None  # when a unix socket is removed, while draining
    status: int = 0  # with which the command will exit
    _born: int = 0
    _state: SupervisorState | None = None  # as it was written last
    reload: SettingsReload = field(init=False)
    _life: tuple[int, int] = (-1, -1)
    _own: list[socket.socket] = field(default_factory=list)  # inner ones: as the public ones, they outlive processes
    _announce_by: float | None = None  # when the banner comes, whatever the engine does; None: it has come

    def run(self) -> int:
        self._prepare()
        for place in self._places():
            place.start()
        if not self._wait_ready():
            say("antiphon: a worker did not start; see the error above")
            self.status = 1
            self._drain()
            self._signal(self.workers, signal.SIGKILL)
        while True:
            self._watch()
            self._write_state()
            if self.draining:
                if self._ended():
                    return self.status
            else:
                self._announce()
                self._restart()
            caught = signal.sigtimedwait(WATCHED, self._patience())
            if caught is not None:
                self._on_signal(caught)
            self._reap()

    def _prepare(self) -> None:
        self._born = int(time.time())
        self._life = os.pipe()
        self.reload = SettingsReload(
            self.room,
            len(self.sockets),
            self.loaded or self.settings,
            self.read,
            say,
            partial(self._become, []),
            partial(name_metrics, self.room),
            self._write_state,
        )
        self.engine = wiring.engine_options(self.settings, self.room, secrets.token_hex(32))
        drain = self.settings.server.lame_duck + self.settings.server.drain + 5.0
        self.workers = [
            Place("worker", partial(self._become_worker, number, mine), drain)
            for number, mine in enumerate(self.sockets)
        ]
        if self.engine is not None:
            listener = open_sockets(Address("", 0, unix=self.engine.socket), 1)[0][0]
            self._own = [listener]
            silent = max(self.least_patience, 3 * self.engine.hang_after)
            become = partial(self._become_host, self.engine, listener)
            self.hosts = [Place("engine host", become, HOST_PATIENCE, END, silent, silent)]
        self.judged = evaluator_orders(self.settings, self.room)
        if self.judged is not None:
            self.judged.write()
            for path in self.judged.sockets:
                listener = open_sockets(Address("", 0, unix=path), 1)[0][0]
                self._own.append(listener)
                become = partial(self._become_evaluator, self.judged, listener)
                self.evaluators.append(Place("evaluator process", become, HOST_PATIENCE, config.END))
        if any(upstream.expires for upstream in self.settings.upstreams):
            self.services.append(Place("credential keeper", self._become_keeper, HOST_PATIENCE))
        if self.accounts is not None:
            become = partial(self._become_accounts, self.accounts)
            self.services.append(Place("accounts process", become, SHIP_PATIENCE))
        if self.control is not None:
            self._own.append(self.control)
            prepare_metrics(self.room, self.settings, len(self.sockets))
            self.controls = [Place("control process", partial(self._become_control, self.control), HOST_PATIENCE)]
        self._announce_by = time.monotonic() + (SETTLE_LIMIT if self.settings.rests_on_engine else 0.0)

    def _places(self) -> list[Place]:
        """The host first: its engine takes longest to be ready. The control process last: nobody waits for it."""
        return [*self.hosts, *self.evaluators, *self.services, *self.workers, *self.controls]

    def _write_state(self) -> None:
        """For the control process, when something has changed."""
        processes = tuple(ProcessState(place.what, place.pid, place.starts) for place in self._places())
        reload = self.reload
        state = SupervisorState(os.getpid(), self._born, self.draining, reload.generation)
        path = os.path.abspath(self.settings.path) if self.settings.path else ""
        state = msgspec.structs.replace(
            state,
            processes=processes,
            path=path,
            reloads=reload.tried,
            faults=reload.faults,
            reloading=reload.under_way,
        )
        if state != self._state:
            self._state = state
            write_state(self.room, state)

    def _wait_ready(self) -> bool:
        deadline = time.monotonic() + START_LIMIT
        for place in self.workers:
            while place.heartbeat is not None and not place.heartbeat.ready:
                heard, _, _ = select.select([place.pipe], [], [], max(0.0, deadline - time.monotonic()))
                if not heard or not place.heartbeat.listen():
                    return False
        return True

    # Saying that it is ready

    def _announce(self) -> None:
        if self._announce_by is None or not (self._settled() or time.monotonic() >= self._announce_by):
            return
        self._announce_by = None
        engine = None if self.engine is None else state.read(self.engine.state)
        credential = first_credential(self.settings, os.environ, say)
        words = banner(self.settings, self.sockets[0][0], engine, self.control, credential)
        put(1, words.encode().splitlines())
        systemd.notify(os.environ, "READY=1")

    def _settled(self) -> bool:
        """The engine is ready, or will not be soon: its host has told so, or is dead."""
        return all(place.heartbeat is None or place.heartbeat.ready for place in self.hosts)

    # Children that hang

    def _watch(self) -> None:
        """A child that hangs, its loop blocked or its process stopped, is killed: another one takes its place."""
        for place in self._places():
            if place.heartbeat is None:
                continue
            place.heartbeat.look(time.monotonic())
            silence, patience = place.heartbeat.silence, place.heartbeat.patience
            if silence > patience:
                self._kill(place, silence)
            elif silence < patience - DUMP_BEFORE:
                place.dumped = False
            elif not place.dumped:
                place.dumped = True
                place.signal(DUMP)

    def _kill(self, place: Place, silence: float) -> None:
        fate = f"was silent for {silence:.0f} s and was killed"
        if place.fate is None:  # once: a process that waits for a disk ends when the disk answers
            why = describe_state(place.pid)
            say(f"antiphon: {place.what} {place.pid} is silent: {why}")
            message = f"{place.what} {place.pid} {fate}: {why}"
            append(self.settings.server.error_log, error_line(message, where=read_dump(self.room, place.pid)))
        place.kill(fate)

    # Signals and deaths

    def _patience(self) -> float:
        """How long to wait for a signal: until the next restart is due. While draining none will be made."""
        if self.draining:
            return 0.25
        due = [place.due - time.monotonic() for place in self._places() if place.due is not None]
        return max(0.0, min([LOOK if self._announce_by is None else TICK, *due]))

    def _on_signal(self, caught: signal.struct_siginfo) -> None:
        number = caught.si_signo
        if number == signal.SIGHUP and self.terminal.is_gone(caught):
            if not self.draining:
                say("antiphon: the terminal was closed; ending")
                self._drain()
        elif number in (signal.SIGHUP, signal.SIGUSR1):
            rereads = number == signal.SIGHUP and not self.draining
            more = "; settings are read again" if rereads else ""
            say(f"antiphon: {signal.Signals(number).name} received: log files are opened anew{more}")
            self._signal(self.workers, signal.SIGUSR1)
            if rereads:
                self.reload.begin(self.settings)
        elif number in (signal.SIGTERM, signal.SIGINT):
            if self.draining:  # asked twice: at once
                self._signal(self._places(), signal.SIGKILL)
            else:
                self._drain(at_once=number == signal.SIGINT)

    def _signal(self, places: list[Place], number: int) -> None:
        for place in places:
            place.signal(number)

    def _drain(self, *, at_once: bool = True) -> None:
        """`at_once`: without a lame-duck phase; for whoever pressed Ctrl-C, and where nothing has started."""
        self.draining = True
        systemd.notify(os.environ, "STOPPING=1")
        lame_duck = 0.0 if at_once else self.settings.server.lame_duck
        self._unlink_at = time.monotonic() + lame_duck - UNLINK_BEFORE
        if at_once:
            for place in self.workers:
                place.asks = worker.AT_ONCE
        for mine in self.sockets:  # from here on only the workers hold the sockets
            for sock in mine:
                sock.close()

    def _unlink(self, now: float) -> None:
        """Before the workers stop to listen: later, another gateway may have put its own socket there."""
        if self._unlink_at is not None and now >= self._unlink_at:
            self._unlink_at = None
            if self.owns_sockets:
                remove_socket(self.settings.server.listen)

    def _ended(self) -> bool:
        """The workers first: their last answers may need the engine and the evaluators."""
        self._unlink(time.monotonic())
        for group in (self.workers, [*self.hosts, *self.evaluators, *self.services, *self.controls]):
            living = [place for place in group if place.pid]
            for place in living:
                place.end()
            if living:
                return False
        self._unlink(inf)
        if self.settings.server.control is not None:
            remove_socket(self.settings.server.control)
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.reload.pid:
                remove_dump(self.room, pid)
                self.settings = self.reload.ended(status, self.settings)
            for place in self._places():
                if place.pid == pid:
                    self._died(place, status)

    def _died(self, place: Place, status: int) -> None:
        remove_dump(self.room, place.pid)
        how = place.died(status)
        if self.draining:
            return
        say(f"antiphon: {how}")
        if self.engine is not None and place in self.hosts:
            try:
                state.write(self.engine.state, state.EngineState("unavailable", f"The {how}."))
            except OSError as error:
                say(f"antiphon: the engine's state cannot be written: {error.strerror}")

    def _restart(self) -> None:
        for place in self._places():
            if self.reload.pid and place in self.workers:
                continue  # it starts with the settings that the reload ends with
            error = place.start_if_due()
            if error is not None:
                say(f"antiphon: no {place.what} could be started: {error.strerror}")

    # In the child

    def _become_worker(self, number: int, sockets: list[socket.socket], told: int) -> None:
        self._become(sockets, kept=worker.REOPEN)
        worker.run(
            self.settings,
            sockets,
            self.room,
            self.engine,
            self.judged,
            self.accounts,
            number=number,
            generation=self.reload.generation,
            born=self._born,
            told=told,
            life=self._life[0],
        )

    def _become_host(self, engine: EngineOptions, listener: socket.socket, told: int) -> None:
        self._become([listener])
        self.host(engine, listener, told=told, life=self._life[0])

    def _become_keeper(self, told: int) -> None:
        """Imported in its own process: the others do without what it needs."""
        from antiphon.wiring_credentials import run_keeper  # noqa: PLC0415

        self._become([])
        run_keeper(self.settings, self.room, told=told, life=self._life[0])

    def _become_accounts(self, plan: AccountsPlan, told: int) -> None:
        self._become([])
        run_accounts_process(self.settings, plan, told=told, life=self._life[0])

    def _become_control(self, listener: socket.socket, told: int) -> None:
        """Imported in its own process, as the keeper."""
        from antiphon.control.process import run_control  # noqa: PLC0415

        self._become([listener])
        judged = self.judged is not None
        options = control_options(
            self.settings, self.room, self.engine, self.accounts, judged=judged, environ=os.environ
        )
        run_control(options, listener, told=told, life=self._life[0])

    def _become_evaluator(self, told_what: config.EvaluatorConfig, listener: socket.socket, told: int) -> None:
        """Another program: it needs nothing of our memory, nor of our environment."""
        self._become([listener])
        for number in (signal.SIGTERM, DUMP):  # inherited: it ends by a signal of its own, after the workers
            signal.signal(number, signal.SIG_IGN)
        handed = (listener.fileno(), told, self._life[0])
        for descriptor in handed:
            os.set_inheritable(descriptor, True)
        command = [*EVALUATORS, told_what.file, *map(str, handed)]
        os.execve(command[0], command, config.environment(os.environ))  # noqa: S606

    def _become(self, sockets: list[socket.socket], kept: Sequence[int] = ()) -> None:
        """What holds for every child; `sockets` are its own, the others must not be kept open by it. `kept`: signals
        that wait until it handles them."""
        # Ctrl-C and a closed terminal reach the whole group: the supervisor decides. Workers reopen their logs.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, DUMP):
            signal.signal(number, signal.SIG_IGN)
        dump_on_signal(self.room)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, set(WATCHED) - set(kept))
        os.close(self._life[1])
        for others in (*self.sockets, self._own):
            for sock in others:
                if sock not in sockets:
                    sock.close()


def say(line: str) -> None:
    """On stderr, unless nobody reads it: the supervisor must not wait for that."""
    put(2, [line.encode()])
