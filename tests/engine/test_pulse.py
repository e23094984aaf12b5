"""The pulse of the engine's host, from both ends of its pipe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from antiphon.engine.pulse import ALIVE, SETTLED, Pulse, beat


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_who_is_heard_lives_and_who_is_silent_for_too_long_does_not(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    pulse = Pulse(reader, 30.0, now=100.0)
    for second in range(101, 131):
        assert pulse.look(float(second)) is None  # it was born a moment ago
    os.write(writer, ALIVE)
    assert pulse.look(131.0) is None
    for second in range(132, 162):
        assert pulse.look(float(second)) is None
    assert pulse.look(162.0) == 31.0


def test_a_listener_that_was_paused_itself_counts_from_then_on(pipe: tuple[int, int]) -> None:
    pulse = Pulse(pipe[0], 30.0, now=0.0)
    assert pulse.look(1.0) is None
    assert pulse.look(1000.0) is None
    for second in range(1001, 1031):
        assert pulse.look(float(second)) is None
    assert pulse.look(1031.0) == 31.0


def test_that_it_has_settled_is_told_once_and_kept(pipe: tuple[int, int]) -> None:
    pulse = Pulse(pipe[0], 30.0, now=0.0)
    pulse.look(0.5)
    assert not pulse.settled
    os.write(pipe[1], ALIVE + SETTLED + ALIVE)
    pulse.look(1.0)
    assert pulse.settled
    os.write(pipe[1], ALIVE)
    pulse.look(2.0)
    assert pulse.settled


async def test_the_host_beats_and_tells_at_once_that_it_has_settled(pipe: tuple[int, int]) -> None:
    settled = asyncio.Event()
    beating = asyncio.create_task(beat(pipe[1], settled))
    await asyncio.sleep(0)
    assert os.read(pipe[0], 16) == ALIVE
    settled.set()
    heard = await asyncio.to_thread(os.read, pipe[0], 16)
    assert heard == SETTLED
    assert await asyncio.to_thread(os.read, pipe[0], 16) == ALIVE  # and goes on
    beating.cancel()


async def test_a_pipe_that_nobody_reads_does_not_stop_the_host(pipe: tuple[int, int]) -> None:
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
