"""A worker that hangs is replaced within five seconds, and the log says where it stood. Real processes and signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.process import Process, serving, until
from tests.support.raw import call

# A gateway whose workers can be told to hang: SIGALRM makes them run Python code for ever.
HANGING = """
import signal, sys
from antiphon import cli, worker

def hang_for_ever(number, frame):
    {body}

run = worker.run
def run_and_hang(*arguments, **named):
    signal.signal(signal.SIGALRM, hang_for_ever)
    run(*arguments, **named)
worker.run = run_and_hang
raise SystemExit(cli.main(["serve", "-c", *sys.argv[1:]]))
"""
SETTINGS = """
[server]
listen = "127.0.0.1:0"
workers = {workers}
access_log = "off"
error_log = {error_log}
[engine]
enabled = false
[safety]
enabled = false
[[upstream]]
name = "s"
protocol = "scripted"
[[route]]
model = "*"
targets = [{{ upstream = "s" }}]
"""


def settings(folder: Path, workers: int = 1) -> str:
    return SETTINGS.format(workers=workers, error_log=json.dumps(str(folder / "error.log")))


async def replaced(gateway: Process, hung: int) -> None:
    async with asyncio.timeout(5.0):  # what the supervisor promises
        await until(lambda: hung not in gateway.children() and bool(gateway.children()))
        assert (await call(gateway.port, "GET", "/healthz")).status == 200


async def test_a_stopped_worker_is_replaced(tmp_path: Path) -> None:
    async with serving(tmp_path, settings(tmp_path)) as gateway:
        await gateway.ready()
        (hung,) = gateway.children()
        os.kill(hung, signal.SIGSTOP)
        await replaced(gateway, hung)
        assert await gateway.said(f"antiphon: worker {hung} is silent: it is stopped by a signal")
        assert await gateway.said(f"antiphon: worker {hung} was silent for 3 s and was killed; another starts in ")
    (line,) = map(json.loads, (tmp_path / "error.log").read_text().splitlines())
    assert line["message"] == f"worker {hung} was silent for 3 s and was killed: it is stopped by a signal"


async def test_the_other_worker_is_left_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, settings(tmp_path, workers=2)) as gateway:
        await gateway.ready()
        hung, well = gateway.children()
        os.kill(hung, signal.SIGSTOP)
        await gateway.said(f"worker {hung} was silent for ")
        await until(lambda: len(gateway.children()) == 2)
        assert well in gateway.children()


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ("while True: pass", "it runs without a pause"),
        (
            "import ctypes, os; ctypes.PyDLL(None).read(os.pipe()[0], b' ', 1)",
            "it waits in one call",
        ),  # holding the interpreter's lock
    ],
)
async def test_the_log_says_where_a_worker_hangs(tmp_path: Path, body: str, state: str) -> None:
    command = (sys.executable, "-c", HANGING.format(body=body))
    async with serving(tmp_path, settings(tmp_path), command=command) as gateway:
        await gateway.ready()
        (hung,) = gateway.children()
        os.kill(hung, signal.SIGALRM)
        await replaced(gateway, hung)
        await gateway.said(f"worker {hung} is silent: {state}")
    (line,) = map(json.loads, (tmp_path / "error.log").read_text().splitlines())
    assert line["message"].startswith(f"worker {hung} was silent for ")
    assert any("hang_for_ever" in place for place in line["where"])


async def test_a_hung_worker_does_not_keep_a_drain_waiting(tmp_path: Path) -> None:
    async with serving(tmp_path, settings(tmp_path)) as gateway:
        await gateway.ready()
        (hung,) = gateway.children()
        os.kill(hung, signal.SIGSTOP)
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0  # drain = 30 s


async def test_a_pause_of_all_processes_kills_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path, settings(tmp_path, workers=2)) as gateway:
        await gateway.ready()
        before = gateway.children()
        everybody = [gateway.process.pid, *before]
        for pid in everybody:
            os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(4.0)  # time itself is what is tried
        for pid in everybody:
            os.kill(pid, signal.SIGCONT)
        for _ in range(20):
            assert (await call(gateway.port, "GET", "/healthz")).status == 200
        await asyncio.sleep(1.1)  # two looks of the supervisor
        assert gateway.children() == before
