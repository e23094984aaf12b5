"""Signs of life, from both ends of the pipe."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.heartbeat import ALIVE, DUMP, READY, Heartbeat, beat, describe_state, read_dump
from tests.support.engine import until as wait_until

PATIENCE, LOADING = 3.0, 30.0
HANGING = """
import os, signal, sys, time
from antiphon.heartbeat import dump_on_signal
dump_on_signal(sys.argv[1])
def wait_for_ever():
    print("here", flush=True)
    {body}
wait_for_ever()
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def hangs(heart: Heartbeat, start: float, end: float) -> float | None:
    """When its silence is too long, if looked at twice a second."""
    for half in range(round(2 * start), round(2 * end) + 1):
        heart.look(half / 2)
        if heart.silence > heart.patience:
            return half / 2
    return None


def test_a_silent_process_hangs_and_one_that_beats_does_not(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    heart = Heartbeat(reader, PATIENCE, LOADING, now=100.0)
    assert hangs(heart, 100.5, 129.0) is None  # it loads
    os.write(writer, READY)
    for second in range(130, 200):
        assert hangs(heart, second, second + 0.5) is None
        os.write(writer, ALIVE)
    assert hangs(heart, 200.0, 210.0) == 203.5
    assert heart.silence == 3.5


def test_a_process_that_never_becomes_ready_hangs(pipe: tuple[int, int]) -> None:
    assert hangs(Heartbeat(pipe[0], PATIENCE, LOADING, now=0.0), 0.5, 40.0) == 30.5


def test_a_pause_of_the_whole_machine_is_nobodys_silence(pipe: tuple[int, int]) -> None:
    heart = Heartbeat(pipe[0], PATIENCE, LOADING, now=0.0)
    os.write(pipe[1], READY)
    heart.look(0.5)
    for wake in (1000.0, 2000.0, 2003.0, 2006.0):  # suspended, then hardly any time for anybody
        heart.look(wake)
        assert heart.silence == 0.0
    assert hangs(heart, 2006.5, 2020.0) == 2009.5


def test_a_process_that_recovers_is_not_silent_any_more(pipe: tuple[int, int]) -> None:
    heart = Heartbeat(pipe[0], PATIENCE, LOADING, now=0.0)
    os.write(pipe[1], READY)
    assert hangs(heart, 0.5, 3.0) is None
    os.write(pipe[1], ALIVE)
    heart.look(3.5)
    assert heart.silence == 0.0


def test_the_end_of_the_pipe_is_no_sign_of_life() -> None:
    reader, writer = os.pipe()
    heart = Heartbeat(reader, PATIENCE, LOADING, now=0.0)
    os.close(writer)
    assert not heart.listen()
    os.close(reader)


def test_that_it_is_ready_is_told_once_and_kept(pipe: tuple[int, int]) -> None:
    heart = Heartbeat(pipe[0], PATIENCE, LOADING, now=0.0)
    heart.look(0.5)
    assert not heart.ready
    os.write(pipe[1], ALIVE + READY + ALIVE)
    heart.look(1.0)
    assert heart.ready
    os.write(pipe[1], ALIVE)
    heart.look(1.5)
    assert heart.ready


async def test_the_child_beats_and_tells_at_once_that_it_is_ready(pipe: tuple[int, int]) -> None:
    ready = asyncio.Event()
    beating = asyncio.create_task(beat(pipe[1], ready))
    await asyncio.sleep(0)
    assert os.read(pipe[0], 16) == ALIVE
    ready.set()
    assert await asyncio.to_thread(os.read, pipe[0], 16) == READY
    assert await asyncio.to_thread(os.read, pipe[0], 16) == ALIVE  # and goes on
    beating.cancel()


async def test_a_child_that_is_not_well_says_nothing(pipe: tuple[int, int]) -> None:
    beating = asyncio.create_task(beat(pipe[1], asyncio.Event(), lambda: False))
    await asyncio.sleep(0.01)
    os.set_blocking(pipe[0], False)
    with pytest.raises(BlockingIOError):
        os.read(pipe[0], 16)
    beating.cancel()


async def test_a_pipe_that_nobody_reads_does_not_stop_the_child(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    while True:
        try:
            os.write(pipe[1], bytes(4096))
        except BlockingIOError:
            break
    beating = asyncio.create_task(beat(pipe[1], asyncio.Event()))
    await asyncio.sleep(0.01)
    assert not beating.done()
    beating.cancel()


async def test_a_child_whose_supervisor_has_gone_does_not_spin() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ready = asyncio.Event()
    ready.set()
    beating = asyncio.create_task(beat(writer, ready))
    await asyncio.wait_for(asyncio.sleep(0.01), 5)  # the loop is free for others
    assert not beating.done()
    beating.cancel()
    os.close(writer)


@pytest.mark.parametrize(
    ("body", "state"),
    [("while True: pass", "it runs without a pause"), ("time.sleep(1000)", "it waits in one call")],
)
def test_a_hanging_process_says_where_it_stands(tmp_path: Path, body: str, state: str) -> None:
    command = [sys.executable, "-c", HANGING.format(body=body), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"here\n"
            wait_until(lambda: describe_state(process.pid) == state)
            process.send_signal(DUMP)
            wait_until(lambda: any("<module>" in line for line in read_dump(str(tmp_path), process.pid)))
            assert any("wait_for_ever" in line for line in read_dump(str(tmp_path), process.pid))
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: describe_state(process.pid) == "it is stopped by a signal")
        finally:
            process.kill()
