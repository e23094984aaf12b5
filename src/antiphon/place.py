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

STEADY = 10.0  # seconds: a process that lived this long starts over with the shortest back-off
BACKOFF = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(slots=True)
class Place:
    what: str  # in messages
    become: Callable[[int], None]  # in the child; given the pipe on which it says that it is ready
    patience: float  # seconds to end after being asked to
    asks: int = signal.SIGTERM  # the signal that asks it to end
    pid: int = 0
    born: float = 0.0
    deaths: int = 0  # in a row
    due: float | None = None  # when to start the next process
    ready: int = -1  # our end of that pipe
    ending: float | None = None  # asked to end; when patience does
    fate: str | None = None  # how its process ends, where that is our doing

    def start(self) -> None:
        """Forks. OSError: no process or no descriptor is to be had."""
        self.due = None
        self.ready, told = os.pipe()
        self.born = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self.ready)
            os.close(told)
            raise
        if self.pid:
            os.close(told)
            return
        status = 1
        try:
            os.close(self.ready)
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
        pid, self.pid = self.pid, 0
        os.close(self.ready)
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
