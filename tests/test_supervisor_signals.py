"""Signals: log files are opened anew, a closed terminal ends the gateway. Real processes, a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.process import COMMAND, PATIENCE, Process, gone, refused, serving, until
from tests.support.raw import call
from tests.test_supervisor_hung import settings

ASK = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def logging_settings(folder: Path, workers: int = 1) -> str:
    return settings(folder, workers).replace('access_log = "off"', f"access_log = {json.dumps(str(folder / 'a.log'))}")


async def logged(gateway: Process, file: Path) -> None:
    """A turn, and its line in that file."""
    answer = await call(gateway.port, "POST", "/v1/chat/completions", ASK)
    assert answer.status == 200
    await until(lambda: file.exists() and answer.headers["x-request-id"] in file.read_text())


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
async def test_log_files_are_opened_anew_in_every_worker(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "a.log"
    async with serving(tmp_path, logging_settings(tmp_path, workers=2)) as gateway:
        await gateway.ready()
        before = gateway.children()
        await logged(gateway, log)
        log.rename(tmp_path / "a.log.1")
        gateway.process.send_signal(number)
        await gateway.said(f"{number.name} received")
        await until(lambda: all(log in open_files(pid) for pid in before))
        await until(lambda: not any(tmp_path / "a.log.1" in open_files(pid) for pid in before))  # closed after that
        for _ in range(4):
            await logged(gateway, log)
        await until(lambda: gateway.children() == before)  # the process of a reload has ended


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
async def test_one_worker_can_be_told_by_itself(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "a.log"
    async with serving(tmp_path, logging_settings(tmp_path)) as gateway:
        await gateway.ready()
        (worker,) = gateway.children()
        log.rename(tmp_path / "a.log.1")
        os.kill(worker, number)
        await until(lambda: log in open_files(worker))
        await logged(gateway, log)


async def test_a_signal_that_is_for_workers_does_not_end_the_supervisor(tmp_path: Path) -> None:
    """`systemctl kill -s USR2` goes to every process of the service."""
    async with serving(tmp_path, logging_settings(tmp_path)) as gateway:
        await gateway.ready()
        before = gateway.children()
        gateway.process.send_signal(signal.SIGUSR2)
        gateway.process.send_signal(signal.SIGHUP)
        await gateway.said("SIGHUP received")  # it came later, and was taken
        await logged(gateway, tmp_path / "a.log")
        await until(lambda: gateway.children() == before)  # the process of a reload has ended


async def test_signals_for_the_log_end_no_process(tmp_path: Path) -> None:
    text = logging_settings(tmp_path).replace("[safety]\nenabled = false", "")
    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        await until(lambda: len(gateway.children()) == 2)
        await evaluators_are_ready(gateway)
        before = gateway.children()
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            for pid in before:
                os.kill(pid, number)
        gateway.process.send_signal(signal.SIGUSR1)
        await gateway.said("SIGUSR1 received")
        await logged(gateway, tmp_path / "a.log")
        await until(lambda: gateway.children() == before)  # the process of a reload has ended


async def evaluators_are_ready(gateway: Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if (await call(gateway.port, "GET", "/readyz")).json.get("evaluators") == "ready":
                return
            await asyncio.sleep(0.02)


def open_files(pid: int) -> set[Path]:
    folder = f"/proc/{pid}/fd"
    found = set()
    for each in os.listdir(folder):
        try:
            found.add(Path(os.readlink(f"{folder}/{each}")))
        except OSError:
            continue
    return found


class InTerminal:
    """A command in a terminal of its own, as its session's leader or as the job of a shell."""

    def __init__(self, master: int, leader: int) -> None:
        self.master, self.leader = master, leader
        self.text = ""

    def read_until(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while words not in self.text:
            assert select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))[0], self.text
            self.text += os.read(self.master, 65536).decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self.master)
        self.master = -1


@contextmanager
def in_terminal(*command: str) -> Iterator[InTerminal]:
    leader, master = pty.fork()
    if leader == 0:
        os.execv(command[0], command)
    terminal = InTerminal(master, leader)
    try:
        yield terminal
    finally:
        if terminal.master >= 0:
            terminal.close()
        try:
            os.kill(leader, signal.SIGKILL)
            os.waitpid(leader, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def gateway_settings(folder: Path) -> str:
    path = folder / "antiphon.toml"
    path.write_text(settings(folder))
    return str(path)


def port_of(text: str) -> int:
    return int(text.partition("http://127.0.0.1:")[2].split()[0].partition("/")[0])


def test_closing_the_terminal_ends_the_gateway(tmp_path: Path) -> None:
    with in_terminal(COMMAND, "serve", "-c", gateway_settings(tmp_path)) as terminal:
        terminal.read_until(" try ")
        port = port_of(terminal.text)
        assert not refused(port)
        watch = os.pidfd_open(terminal.leader)
        terminal.close()
        assert select.select([watch], [], [], PATIENCE)[0]
        os.close(watch)
        assert os.waitstatus_to_exitcode(os.waitpid(terminal.leader, 0)[1]) == 0
        assert refused(port)


@pytest.mark.parametrize("end", ["", " & wait"], ids=["in the foreground", "in the background"])
def test_also_one_that_a_shell_has_started(tmp_path: Path, end: str) -> None:
    """bash passes the hangup on to its jobs; the kernel sends it to the foreground."""
    line = f"{COMMAND} serve -c {gateway_settings(tmp_path)}{end}"
    with in_terminal("/bin/bash", "--norc", "-i", "-c", f"set -m; {line}; true") as terminal:
        terminal.read_until(" try ")
        (gateway,) = children(terminal.leader)
        terminal.close()
        assert gone(gateway)


def test_nohup_outlives_the_terminal(tmp_path: Path) -> None:
    line = f"nohup {COMMAND} serve -c {gateway_settings(tmp_path)} > {tmp_path}/out 2>&1 & echo started; read x"
    with in_terminal("/bin/bash", "--norc", "-i", "-c", f"set -m; {line}") as terminal:
        terminal.read_until("started")
        out = tmp_path / "out"
        deadline = time.monotonic() + PATIENCE
        while " try " not in (out.read_text() if out.exists() else ""):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        (gateway,) = children(terminal.leader)
        terminal.close()
        try:
            os.kill(gateway, signal.SIGHUP)  # and a later one means the log files
            while "SIGHUP received: log files are opened anew" not in out.read_text():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert not refused(port_of(out.read_text()))
        finally:
            os.kill(gateway, signal.SIGTERM)
        assert gone(gateway)


def test_a_hangup_that_somebody_sends_while_the_terminal_is_there_means_the_logs(tmp_path: Path) -> None:
    with in_terminal(COMMAND, "serve", "-c", gateway_settings(tmp_path)) as terminal:
        terminal.read_until(" try ")
        os.kill(terminal.leader, signal.SIGHUP)
        terminal.read_until("SIGHUP received: log files are opened anew")
        assert not refused(port_of(terminal.text))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
