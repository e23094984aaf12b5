"""A place for a process: what it becomes stays while processes come and go.

Forks, ends and starts anew; one that keeps dying waits longer each time. Whoever holds places reaps their processes.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.heartbeat import Heartbeat

STEADY = 10.0  # seconds: a process that lived this long starts over with the shortest back-off
# Every turn waits for workers and evaluators. They load in less than a second; a disk that wakes up takes longer.
SILENT, LOADING = 3.0, 30.0
BACKOFF = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(slots=True)
class Place:
    what: str  # in messages
    become: Callable[[int], None]  # in the child; given the pipe for its signs of life
    patience: float  # seconds to end after being asked to
    asks: int = signal.SIGTERM  # the signal that asks it to end
    silence: float = SILENT  # seconds without a sign of life after which it hangs
    loading: float = LOADING  # the same, before it is ready
    pid: int = 0
    born: float = 0.0
    starts: int = 0
    deaths: int = 0  # in a row
    due: float | None = None  # when to start the next process
    pipe: int = -1  # our end of that one
    heartbeat: Heartbeat | None = None  # of the process that runs now
    dumped: bool = False  # asked where it stands, since it is silent
    ending: float | None = None  # asked to end; when patience does
    fate: str | None = None  # how its process ends, where that is our doing

    def start(self) -> None:
        """Forks. OSError: no process or no descriptor is to be had."""
        self.due = None
        self.pipe, told = os.pipe()
        self.born = time.monotonic()
        self.starts += 1
        self.dumped = False
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self.pipe)
            os.close(told)
            raise
        if self.pid:
            os.close(told)
            self.heartbeat = Heartbeat(self.pipe, self.silence, self.loading, self.born)
            return
        status = 1
        try:
            os.close(self.pipe)
            self.become(told)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def start_if_due(self) -> OSError | None:
        """Why it could not be started, if it is to be tried again later."""
        if self.due is None or self.due > time.monotonic():
            return None
        try:
            self.start()
        except OSError as error:
            self.due = time.monotonic() + BACKOFF[-1]
            return error
        return None

    def died(self, status: int) -> str:
        """Its process was reaped. -> how it ended, and when the next one starts"""
        pid, self.pid, self.heartbeat = self.pid, 0, None
        os.close(self.pipe)
        now = time.monotonic()
        self.deaths = 0 if now - self.born > STEADY else self.deaths + 1
        delay = BACKOFF[min(self.deaths, len(BACKOFF) - 1)]
        self.due = now + delay
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        how, self.fate = self.fate or how, None
        return f"{self.what} {pid} {how}; another starts in {delay:g} s"

    def end(self) -> None:
        """Asks it to; asked again when patience is over, SIGKILL."""
        now = time.monotonic()
        if self.ending is None:
            self.ending = now + self.patience
            self.signal(self.asks)
        elif now > self.ending:
            self.signal(signal.SIGKILL)

    def kill(self, fate: str) -> None:
        self.fate = fate
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        if self.pid:
            os.kill(self.pid, number)
