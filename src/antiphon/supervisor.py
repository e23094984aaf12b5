"""Processes: `antiphon serve` holds the listening sockets and keeps the workers, the engine's host and the evaluators
alive.

The sockets are the supervisor's: a worker that dies leaves its queue of connections to its successor; none is reset.
With several workers each has a socket of its own on the same port (SO_REUSEPORT: the kernel spreads the connections).
The supervisor has no event loop and no threads, so that forking stays safe and cheap.
"""

from __future__ import annotations

import os
import resource
import secrets
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Protocol

from antiphon import wiring, worker
from antiphon.banner import banner
from antiphon.engine import state
from antiphon.engine.options import END, EngineOptions
from antiphon.engine.pulse import Pulse
from antiphon.evaluators import orders
from antiphon.listen import open_sockets, remove_socket
from antiphon.log import put
from antiphon.place import Place
from antiphon.room import open_room
from antiphon.settings import Settings
from antiphon.settings.model import Address
from antiphon.wiring_evaluators import evaluator_orders

WATCHED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
START_LIMIT = 30.0  # seconds for the first workers to be ready
SETTLE_LIMIT = 3600.0  # seconds that the banner waits for the engine, which may have a model to fetch first
LEAST_PATIENCE = 30.0  # seconds of silence before the engine's host is taken for hanging
HOST_PATIENCE = 5.0  # seconds for the engine's host to end; nobody waits for its answers then
UNLINK_BEFORE = 0.5  # seconds before a lame-duck phase ends at which a unix socket is removed
TICK = 0.05  # seconds between looks at the engine, while the banner waits for it
# The evaluators beat twice a second, and load in less than one; a disk that has to wake up takes longer.
EVALUATORS_SILENT, EVALUATORS_LOADING = 3.0, 30.0
EVALUATORS = (sys.executable, "-P", "-m", "antiphon.evaluators")  # -P: nothing from the directory we were started in


class Host(Protocol):
    """The engine's host: shows on `told` that it lives (engine/pulse.py), ends when `life` does."""

    def __call__(self, options: EngineOptions, listener: socket.socket, *, told: int, life: int) -> None: ...


def run_host(options: EngineOptions, listener: socket.socket, *, told: int, life: int) -> None:
    """Imported in the host's own process: the supervisor and its workers do without the 10 MB that it needs."""
    from antiphon.engine import host  # noqa: PLC0415

    host.run(options, listener, told=told, life=life)


def run(settings: Settings, host: Host = run_host, *, least_patience: float = LEAST_PATIENCE) -> int:
    """`least_patience`: seconds of silence after which the host is killed, where `hang_after` is short."""
    for warning in settings.warnings:
        _say(f"WARNING: {warning}")
    raise_descriptor_limit()
    try:
        server = settings.server
        sockets = open_sockets(server.listen, server.workers, mode=server.socket_mode, group=server.socket_group)
    except OSError as error:
        _say(f"antiphon: cannot listen on {settings.server.listen}: {error.strerror or error}")
        return 1
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    with open_room() as room:
        return Supervisor(settings, sockets, room, host, least_patience).run()


def raise_descriptor_limit() -> None:
    """Every stream takes two descriptors; the usual soft limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(slots=True)
class Supervisor:
    settings: Settings
    sockets: list[list[socket.socket]]  # of each worker
    room: str  # a private directory for the sockets that processes open among themselves
    host: Host
    least_patience: float = LEAST_PATIENCE
    engine: EngineOptions | None = None  # None: it does not run
    workers: list[Place] = field(default_factory=list)
    hosts: list[Place] = field(default_factory=list)  # the engine's, or none
    judged: orders.Orders | None = None  # what the evaluators are told; None: their process does not run
    evaluators: list[Place] = field(default_factory=list)
    draining: bool = False
    _unlink_at: float | None = None  # when a unix socket is removed, while draining
    status: int = 0  # with which the command will exit
    _pulse: Pulse | None = None  # of the host that runs now
    _evaluator_pulse: Pulse | None = None
    _born: int = 0
    _life: tuple[int, int] = (-1, -1)
    _own: list[socket.socket] = field(default_factory=list)  # inner ones: as the public ones, they outlive processes
    _announce_by: float | None = None  # when the banner comes, whatever the engine does; None: it has come

    def run(self) -> int:
        self._prepare()
        for place in self._places():
            place.start()
        if not self._wait_ready():
            _say("antiphon: a worker did not start; see the error above")
            self.status = 1
            self._drain()
            self._signal(self.workers, signal.SIGKILL)
        while True:
            if self.draining:
                if self._ended():
                    return self.status
            else:
                self._feel()
                self._feel_evaluators()
                self._announce()
                self._restart()
            caught = signal.sigtimedwait(WATCHED, self._patience())
            if caught is not None:
                self._on_signal(caught.si_signo)
            self._reap()

    def _prepare(self) -> None:
        self._born = int(time.time())
        self._life = os.pipe()
        self.engine = wiring.engine_options(self.settings, self.room, secrets.token_hex(32))
        drain = self.settings.server.lame_duck + self.settings.server.drain + 5.0
        self.workers = [Place("worker", partial(self._become_worker, mine), drain) for mine in self.sockets]
        if self.engine is not None:
            listener = open_sockets(Address("", 0, unix=self.engine.socket), 1)[0][0]
            self._own = [listener]
            self.hosts = [Place("engine host", partial(self._become_host, self.engine, listener), HOST_PATIENCE, END)]
        self.judged = evaluator_orders(self.settings, self.room)
        if self.judged is not None:
            self.judged.write()
            listener = open_sockets(Address("", 0, unix=self.judged.socket), 1)[0][0]
            self._own.append(listener)
            become = partial(self._become_evaluators, self.judged, listener)
            self.evaluators = [Place("evaluator process", become, HOST_PATIENCE, orders.END)]
        self._announce_by = time.monotonic() + (SETTLE_LIMIT if self.settings.rests_on_engine else 0.0)

    def _places(self) -> list[Place]:
        """The host first: its engine takes longest to be ready."""
        return [*self.hosts, *self.evaluators, *self.workers]

    def _wait_ready(self) -> bool:
        deadline = time.monotonic() + START_LIMIT
        for place in self.workers:
            heard, _, _ = select.select([place.ready], [], [], max(0.0, deadline - time.monotonic()))
            if not heard or os.read(place.ready, 1) != b"1":
                return False
        return True

    # Saying that it is ready

    def _announce(self) -> None:
        if self._announce_by is None or not (self._settled() or time.monotonic() >= self._announce_by):
            return
        self._announce_by = None
        engine = None if self.engine is None else state.read(self.engine.state)
        put(1, banner(self.settings, self.sockets[0][0], engine).encode().splitlines())

    def _settled(self) -> bool:
        """The engine is ready, or will not be soon: its host has told so, or is dead."""
        return self._pulse is None or self._pulse.settled

    def _feel(self) -> None:
        """A host that hangs, its loop blocked or its process stopped, is killed: another one takes its place."""
        for place in self.hosts:
            if not place.pid or self.engine is None:
                continue
            patience = max(self.least_patience, 3 * self.engine.hang_after)
            self._pulse = self._pulse or Pulse(place.ready, patience, time.monotonic())
            silence = self._pulse.look(time.monotonic())
            if silence is not None:
                place.kill(f"was silent for {silence:.0f} s and was killed")

    def _feel_evaluators(self) -> None:
        """The same, with less patience: every turn waits for their verdicts. They beat once they are loaded."""
        for place in self.evaluators:
            if not place.pid:
                continue
            now = time.monotonic()
            pulse = self._evaluator_pulse = self._evaluator_pulse or Pulse(place.ready, EVALUATORS_SILENT, now)
            silence = pulse.look(now)
            is_loading = not pulse.settled and now - place.born < EVALUATORS_LOADING
            if silence is not None and not is_loading:
                place.kill(f"was silent for {silence:.0f} s and was killed")

    # Signals and deaths

    def _patience(self) -> float:
        """How long to wait for a signal: until the next restart is due. While draining none will be made."""
        if self.draining:
            return 0.25
        due = [place.due - time.monotonic() for place in self._places() if place.due is not None]
        return max(0.0, min([1.0 if self._announce_by is None else TICK, *due]))

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGHUP:
            _say("antiphon: SIGHUP received; settings are not reloaded by this version")
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
            remove_socket(self.settings.server.listen)

    def _ended(self) -> bool:
        """The workers first: their last answers may need the engine and the evaluators."""
        self._unlink(time.monotonic())
        for group in (self.workers, [*self.hosts, *self.evaluators]):
            living = [place for place in group if place.pid]
            for place in living:
                place.end()
            if living:
                return False
        self._unlink(inf)
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for place in self._places():
                if place.pid == pid:
                    self._died(place, status)

    def _died(self, place: Place, status: int) -> None:
        how = place.died(status)
        if place in self.hosts:
            self._pulse = None
        elif place in self.evaluators:
            self._evaluator_pulse = None
        if self.draining:
            return
        _say(f"antiphon: {how}")
        if self.engine is not None and place in self.hosts:
            try:
                state.write(self.engine.state, state.State("unavailable", f"The {how}."))
            except OSError as error:
                _say(f"antiphon: the engine's state cannot be written: {error.strerror}")

    def _restart(self) -> None:
        for place in self._places():
            error = place.start_if_due()
            if error is not None:
                _say(f"antiphon: no {place.what} could be started: {error.strerror}")

    # In the child

    def _become_worker(self, sockets: list[socket.socket], told: int) -> None:
        self._become(sockets)
        life = self._life[0]
        worker.run(self.settings, sockets, self.room, self.engine, self.judged, born=self._born, ready=told, life=life)

    def _become_host(self, engine: EngineOptions, listener: socket.socket, told: int) -> None:
        self._become([listener])
        self.host(engine, listener, told=told, life=self._life[0])

    def _become_evaluators(self, told_what: orders.Orders, listener: socket.socket, told: int) -> None:
        """Another program: it needs nothing of our memory, nor of our environment."""
        self._become([listener])
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # inherited: it ends by a signal of its own, after the workers
        descriptors = (listener.fileno(), told, self._life[0])
        for descriptor in descriptors:
            os.set_inheritable(descriptor, True)
        command = [*EVALUATORS, told_what.file, *map(str, descriptors)]
        os.execve(command[0], command, orders.environment(os.environ))  # noqa: S606

    def _become(self, sockets: list[socket.socket]) -> None:
        """What holds for every child; `sockets` are its own, the others must not be kept open by it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the supervisor decides
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        os.close(self._life[1])
        for others in (*self.sockets, self._own):
            for sock in others:
                if sock not in sockets:
                    sock.close()


def _say(line: str) -> None:
    """On stderr, unless nobody reads it: the supervisor must not wait for that."""
    put(2, [line.encode()])
