"""`antiphon serve` as a process of its own: its banner, its stderr, its children, its end."""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import socket
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

COMMAND = str(Path(sysconfig.get_path("scripts")) / "antiphon")
PATIENCE = 20.0  # seconds after which a test has failed


class Process:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.banner = ""
        self.port = 0

    async def ready(self) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while " try " not in self.banner:
                line = await self.process.stdout.readline()
                assert line, f"ended early: {self.banner}"
                self.banner += line.decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.banner)
        self.port = int(found[1]) if found else 0

    async def said(self, words: str) -> str:
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while True:
                line = (await self.process.stderr.readline()).decode()
                assert line, f"never said {words!r}"
                if words in line:
                    return line

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), 10)

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def evaluators(self) -> list[int]:
        return [pid for pid in self.children() if b"antiphon.evaluators" in command_line(pid)]


@asynccontextmanager
async def serving(
    directory: Path, text: str, *, command: Sequence[str] = (COMMAND, "serve", "-c"), environ: Mapping[str, str] = {}
) -> AsyncIterator[Process]:
    path = directory / "antiphon.toml"
    path.write_text(text)
    process = await asyncio.create_subprocess_exec(
        *command,
        str(path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environ},
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def command_line(pid: int) -> bytes:
    """Empty where the process has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextmanager
def sent(number: int, pid: int) -> Iterator[None]:
    """Sends a signal; a process that it stops goes on afterwards, if it is still there."""
    os.kill(pid, number)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def until(holds: Callable[[], bool]) -> None:
    """For what another process does and tells nobody."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


def refused(port: int) -> bool:
    """Nobody listens there."""
    with socket.socket() as probe:
        return bool(probe.connect_ex(("127.0.0.1", port)))


def gone(pid: int) -> bool:
    """Waits until the process has ended, at most ten seconds."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], 10)[0])
    finally:
        os.close(watch)
