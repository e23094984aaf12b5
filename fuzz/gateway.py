"""The gateway under test: `antiphon serve` as a process of its own, its logs, its memory, its end.

It is in a session of its own, so that Ctrl-C reaches the fuzzer alone; the fuzzer then ends it.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import resident_bytes, stop, tree
from bench.start import is_ready

COMMAND = str(Path(sysconfig.get_path("scripts")) / "antiphon")
START_WITHIN = 60.0


class NotStarted(Exception):
    pass


@dataclass(slots=True)
class Gateway:
    pid: int
    worker: int  # pid
    port: int
    folder: Path

    @property
    def access_log(self) -> Path:
        return self.folder / "access.log"

    @property
    def error_log(self) -> Path:
        return self.folder / "error.log"

    def worker_bytes(self) -> int:
        return resident_bytes(self.worker)

    def processes(self) -> list[int]:
        return tree(self.pid)

    def is_alive(self) -> bool:
        """Whether the first worker still runs: one that was replaced has died."""
        return self.worker in tree(self.pid)


@contextmanager
def started(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Iterator[Gateway]:
    """A gateway with these settings; `@folder@` in them is the folder of its logs."""
    settings = folder / "antiphon.toml"
    settings.write_text(text.replace("@folder@", str(folder)))
    with (folder / "stderr.log").open("wb") as output:
        process = subprocess.Popen(
            [COMMAND, "serve", "-c", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )
    try:
        port = _port(process, folder)
        _wait_until_ready(port)
        yield Gateway(process.pid, _worker(process.pid), port, folder)
    finally:
        stop(process)
        if process.stdout is not None:
            process.stdout.close()


def _port(process: subprocess.Popen[bytes], folder: Path) -> int:
    """From the banner."""
    assert process.stdout is not None
    output = process.stdout.fileno()
    said = b""
    deadline = time.monotonic() + START_WITHIN
    while time.monotonic() < deadline:
        ready = select.select([output], [], [], 0.2)[0]
        piece = os.read(output, 4096) if ready else b""
        said += piece
        found = re.search(rb"http://127\.0\.0\.1:(\d+)", said)
        if found and b" try " in said:
            return int(found[1])
        if ready and not piece:
            break
    reason = (folder / "stderr.log").read_text()[-2000:]
    raise NotStarted(f"the gateway did not start: {said.decode(errors='replace')} {reason}")


def _wait_until_ready(port: int) -> None:
    """Until the evaluators have started, too."""
    deadline = time.monotonic() + START_WITHIN
    while not is_ready(port):
        if time.monotonic() > deadline:
            raise NotStarted("the gateway is not ready")
        time.sleep(0.02)


def _worker(supervisor: int) -> int:
    """The child that is no evaluator and no engine."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    others = (b"antiphon.evaluators", b"antiphon.engine")
    for child in map(int, children):
        command = Path(f"/proc/{child}/cmdline").read_bytes()
        if not any(other in command for other in others):
            return child
    raise NotStarted("the gateway has no worker")
