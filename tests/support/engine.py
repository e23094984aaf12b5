"""A gateway with the embedded engine, as its own processes, seen from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")
COMMAND = Path(sysconfig.get_path("scripts")) / "antiphon"
PATIENCE = 60.0  # seconds after which a test has failed


class Gateway:
    def __init__(self, url: str, pid: int, stderr: Path, state_home: Path) -> None:
        self.url = url
        self.pid = pid
        self._stderr = stderr
        self.journal = state_home / "antiphon" / "engine.log"

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    def native(self) -> int:
        """The process id of the native engine, once there is one."""
        return until(lambda: next((pid for pid in descendants(self.pid) if is_native(pid)), None))


def is_native(pid: int) -> bool:
    try:
        return b"antiphon.engine.native" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return children + [grandchild for child in children for grandchild in descendants(child)]


def until(look: Callable[[], Found | None], patience: float = PATIENCE) -> Found:
    """For what another process does and tells nobody."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {patience} s")


@contextmanager
def running(room: Path, settings: str | None = None, **environ: str) -> Iterator[Gateway]:
    """`antiphon serve` on a free port; without `settings` as a newcomer starts it, but that nobody judges what is said:
    what the engine makes of sampling at its limits is not always fit to be judged."""
    state_home = room / "state"
    environ = {**os.environ, "XDG_STATE_HOME": str(state_home), "ANTIPHON_SAFETY__ENABLED": "false", **environ}
    options = ["--listen", "127.0.0.1:0"]
    if settings is not None:
        (room / "settings.toml").write_text(settings)
        options += ["-c", str(room / "settings.toml")]
    out, err = room / "out", room / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen([COMMAND, "serve", *options], stdout=stdout, stderr=stderr, cwd=room, env=environ)
    try:

        def address() -> str | None:
            assert process.poll() is None, err.read_text()
            found = re.search(r"listening +(http://\S+)", out.read_text())
            return found[1] if found else None

        yield Gateway(until(address), process.pid, err, state_home)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
