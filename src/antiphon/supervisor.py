"""Processes: `antiphon serve` holds the listening sockets and keeps the workers alive.

The sockets are the supervisor's: a worker that dies leaves its queue of connections to its successor; none is reset.
With several workers each has a socket of its own on the same port (SO_REUSEPORT: the kernel spreads the connections).
The supervisor has no event loop and no threads, so that forking stays safe and cheap.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field

from antiphon import worker
from antiphon.banner import banner
from antiphon.listen import open_sockets, remove_socket
from antiphon.log import put
from antiphon.settings import Settings

WATCHED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
STEADY = 10.0  # seconds: a worker that lived this long starts over with the shortest back-off
BACKOFF = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)
START_LIMIT = 30.0  # seconds for the first workers to be ready


def run(settings: Settings) -> int:
    for warning in settings.warnings:
        _say(f"WARNING: {warning}")
    raise_descriptor_limit()
    try:
        sockets = open_sockets(settings.server.listen, settings.server.workers)
    except OSError as error:
        _say(f"antiphon: cannot listen on {settings.server.listen}: {error.strerror or error}")
        return 1
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    with tempfile.TemporaryDirectory(prefix="antiphon-") as room:
        return Supervisor(settings, sockets, room).run()


def raise_descriptor_limit() -> None:
    """Every stream takes two descriptors; the usual soft limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(slots=True)
class Place:
    """A worker's place: its sockets stay while processes come and go."""

    sockets: list[socket.socket]
    pid: int = 0
    born: float = 0.0
    deaths: int = 0  # in a row
    due: float | None = None  # when to start the next process
    ready: int = -1  # the pipe on which the process says that it is ready


@dataclass(slots=True)
class Supervisor:
    settings: Settings
    sockets: list[list[socket.socket]]
    room: str  # a private directory for the sockets that workers open among themselves
    places: list[Place] = field(default_factory=list)
    draining: float | None = None  # the time at which patience ends
    _born: int = 0
    _life: tuple[int, int] = (-1, -1)

    def run(self) -> int:
        self._born = int(time.time())
        self._life = os.pipe()
        self.places = [Place(sockets) for sockets in self.sockets]
        for place in self.places:
            self._start(place)
        if not self._wait_ready():
            self._signal(signal.SIGKILL)
            remove_socket(self.settings.server.listen)
            _say("antiphon: a worker did not start; see the error above")
            return 1
        print(banner(self.settings, self.sockets[0][0]), flush=True)
        while True:
            caught = signal.sigtimedwait(WATCHED, self._patience())
            if caught is not None:
                self._on_signal(caught.si_signo)
            self._reap()
            if self.draining is not None:
                if not any(place.pid for place in self.places):
                    return 0
                if time.monotonic() > self.draining:
                    self._signal(signal.SIGKILL)
            else:
                self._restart()

    def _wait_ready(self) -> bool:
        deadline = time.monotonic() + START_LIMIT
        for place in self.places:
            heard, _, _ = select.select([place.ready], [], [], max(0.0, deadline - time.monotonic()))
            if not heard or os.read(place.ready, 1) != b"1":
                return False
        return True

    def _patience(self) -> float:
        """How long to wait for a signal: until the next restart is due. While draining none will be made."""
        if self.draining is not None:
            return 0.25
        due = [place.due for place in self.places if place.due is not None]
        return max(0.0, min(due) - time.monotonic()) if due else 1.0

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGHUP:
            _say("antiphon: SIGHUP received; settings are not reloaded by this version")
        elif number in (signal.SIGTERM, signal.SIGINT):
            if self.draining is not None:  # asked twice: at once
                self._signal(signal.SIGKILL)
                return
            self.draining = time.monotonic() + self.settings.server.drain + 5.0
            remove_socket(self.settings.server.listen)
            self._signal(signal.SIGTERM)
            for place in self.places:  # from here on only the workers hold the sockets
                for sock in place.sockets:
                    sock.close()

    def _signal(self, number: int) -> None:
        for place in self.places:
            if place.pid:
                os.kill(place.pid, number)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for place in self.places:
                if place.pid == pid:
                    self._died(place, status)

    def _died(self, place: Place, status: int) -> None:
        pid, place.pid = place.pid, 0
        os.close(place.ready)
        if self.draining is not None:
            return
        now = time.monotonic()
        place.deaths = 0 if now - place.born > STEADY else place.deaths + 1
        delay = BACKOFF[min(place.deaths, len(BACKOFF) - 1)]
        place.due = now + delay
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        _say(f"antiphon: worker {pid} {how}; another starts in {delay:g} s")

    def _restart(self) -> None:
        now = time.monotonic()
        for place in self.places:
            if place.due is not None and place.due <= now:
                place.due = None
                try:
                    self._start(place)
                except OSError as error:  # no process or no descriptor to be had: later
                    place.due = now + BACKOFF[-1]
                    _say(f"antiphon: no worker could be started: {error.strerror}")

    def _start(self, place: Place) -> None:
        """Forks a worker."""
        place.ready, told = os.pipe()
        place.born = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        place.pid = os.fork()
        if place.pid:
            os.close(told)
            return
        status = 1
        try:
            os.close(place.ready)
            self._become_worker(place, told)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def _become_worker(self, place: Place, told: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the supervisor decides
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        os.close(self._life[1])
        for other in self.places:
            if other is not place:
                for sock in other.sockets:
                    if sock not in place.sockets:
                        sock.close()
        worker.run(self.settings, place.sockets, self.room, born=self._born, ready=told, life=self._life[0])


def _say(line: str) -> None:
    """On stderr, unless nobody reads it: the supervisor must not wait for that."""
    put(sys.stderr.fileno(), [line.encode()])
