"""Signs of life on the pipe between a child process and the supervisor: a process that hangs is not a dead one.

The child writes a byte every half second from its event loop. Silence means that the loop is blocked or the process is
stopped. Where it stands then is written to a file in the gateway's private directory: by a signal handler in C, which
runs also while Python code or a native call blocks the loop.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

ALIVE: Final = b"."
READY: Final = b"1"  # once: it can do its work, or will not be able to soon
BEAT: Final = 0.5  # seconds
OVERSLEPT: Final = 1.5  # seconds between two looks, which come twice a second: the supervisor itself was paused
DUMP: Final = signal.SIGUSR2
STATES: Final = {
    "R": "it runs without a pause",
    "S": "it waits in one call",
    "D": "it waits for a disk or a device",
    "T": "it is stopped by a signal",
    "t": "it is stopped by a debugger",
}


def always() -> bool:
    return True


async def beat(pipe: int, ready: asyncio.Event, is_well: Callable[[], bool] = always) -> None:
    """The child's part, until cancelled. A pipe that is full or has no reader is no reason to stop."""
    os.set_blocking(pipe, False)
    said = False
    while True:
        if is_well():
            word = READY if ready.is_set() and not said else ALIVE
            with suppress(OSError):
                os.write(pipe, word)
                said = said or word == READY
        if ready.is_set():
            await asyncio.sleep(BEAT)
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT):
                await ready.wait()


class Heartbeat:
    """The supervisor's part: of one process, from its start."""

    def __init__(self, pipe: int, patience: float, loading: float, now: float) -> None:
        """Seconds of silence after which the process hangs: once it is ready, and before."""
        self.ready = False
        self.silence = 0.0
        self._pipe = pipe
        self._patience = patience
        self._loading = loading
        self._heard = self._looked = now
        os.set_blocking(pipe, False)

    @property
    def patience(self) -> float:
        return self._patience if self.ready else self._loading

    def look(self, now: float) -> None:
        """A pause of our own (a suspended or overloaded machine) is no silence of the child."""
        paused, self._looked = now - self._looked > OVERSLEPT, now
        if self.listen() or paused:
            self._heard = now
        self.silence = now - self._heard

    def listen(self) -> bool:
        """False: it has said nothing, or has ended."""
        try:
            said = os.read(self._pipe, 65536)
        except BlockingIOError:
            return False
        self.ready = self.ready or READY in said
        return bool(said)


# Where a silent process stands


def dump_on_signal(room: str) -> None:
    """In the child. The file stays open: faulthandler keeps its descriptor. A full disk is no reason not to start."""
    try:
        file = open(_dump_path(room, os.getpid()), "wb", buffering=0)  # noqa: SIM115
    except OSError:
        signal.signal(DUMP, signal.SIG_IGN)
        return
    faulthandler.register(DUMP, file=file, all_threads=True)


def read_dump(room: str, pid: int) -> list[str]:
    """Places in the code, innermost first; none where it could not say."""
    try:
        text = _dump_path(room, pid).read_text("utf-8", "replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


def remove_dump(room: str, pid: int) -> None:
    _dump_path(room, pid).unlink(missing_ok=True)


def describe_state(pid: int) -> str:
    """What the kernel says of a process (proc(5))."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        state = ""
    return STATES.get(state, "why is not known")


def _dump_path(room: str, pid: int) -> Path:
    return Path(room, f"stack-{pid}")
