"""A turn leaves nothing behind, also while the collector sleeps: it runs seldom, and bodies can be large."""

from __future__ import annotations

import gc
import os

import pytest

from antiphon.flow.running import MOST_PIECES, MOST_TEXT, bound
from antiphon.log import LogFile
from antiphon.upstreams.scripted import error, json_answer, sse
from tests.support.shapes import completion, hello
from tests.turns.conftest import Start

KINDS = {
    "QuickTurn",
    "Gather",
    "Stream",
    "Gate",
    "Incoming",
    "Turn",
    "Request",
    "ChatRequest",
    "Exchange",
    "ChatClient",
    "ChatStream",
    "Call",
}


def ours() -> list[str]:
    """Kinds of objects of ours that only the collector could free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return sorted(KINDS & {type(item).__name__ for item in gc.garbage})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("plain", [True, False])
async def test_finished_turns_are_no_garbage(start: Start, stream: bool, plain: bool) -> None:
    scripts = [sse(*hello()) if stream else json_answer(completion())] * 3 + [error(500)]
    running, _ = await start(*scripts)
    gc.collect()
    gc.disable()
    try:
        for _ in scripts:
            await (running.post(stream=stream) if plain else running.post(stream=stream, x_whole=True))
        assert ours() == []
    finally:
        gc.enable()


def test_the_text_of_an_endless_answer_is_bounded() -> None:
    texts = ["word " * 10] * (MOST_PIECES + 1)
    bound(texts, 0)
    assert sum(map(len, texts)) == MOST_TEXT
    few = ["a"] * 10
    bound(few, 1000)
    assert len(few) == 10
    huge = ["x" * MOST_TEXT] * 3
    bound(huge, 3 * MOST_TEXT)
    assert sum(map(len, huge)) == MOST_TEXT


async def test_a_log_that_nobody_reads_stops_nothing() -> None:
    reader, writer = os.pipe()
    saved = os.dup(2)
    os.dup2(writer, 2)
    try:
        log = LogFile("-")
        for _ in range(5000):
            log.add(b"x" * 100)
        log.flush()
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().splitlines()
    assert 0 < len(lines) < 5000
    assert set(lines) == {b"x" * 100}, "a line was torn"
