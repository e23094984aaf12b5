"""Many prompts at once against real evaluator processes, also while one of them is killed or stopped.

What cannot be judged is refused here (`closed`), so an answer of 200 is a prompt that was judged."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import ScriptedUpstream, json_answer
from tests.support.gateway import to_one
from tests.support.process import Process, sent, serving, until
from tests.support.raw import Answer, call
from tests.support.shapes import completion

SAFETY = """
[engine]
enabled = false
[safety]
on_failure = "closed"
processes = {processes}
queue_ms = {queue_ms}
[[safety.evaluator]]
kind = "embedded"
"""
WORDS = """the garden city train morning winter letter story number table window paper question market weather history
river bread music teacher doctor engine school coffee summer project meeting report ticket budget recipe sentence please
explain compare write describe list count find""".split()  # noqa: SIM905
BURST = 150
WAIT = 40.0  # seconds for an answer: a burst may wait for 30 s before it is judged


def prompts(count: int, characters: int = 950) -> list[str]:
    pick = random.Random(11)
    return [" ".join(pick.choices(WORDS, k=characters // 6))[:characters] for _ in range(count)]


@asynccontextmanager
async def gateway_with(folder: Path, processes: int, queue_ms: int = 2000) -> AsyncIterator[Process]:
    upstream = ScriptedUpstream(lambda received: json_answer(completion("Fine.")))
    url = await upstream.start()
    try:
        settings = to_one(url, more=SAFETY.format(processes=processes, queue_ms=queue_ms))
        settings = settings.replace('error_log = "off"', 'error_log = "-"')
        async with serving(folder, settings) as gateway:
            await gateway.ready()
            await readyz(gateway, "ready")
            yield gateway
    finally:
        await upstream.stop()


async def readyz(gateway: Process, wanted: str) -> Answer:
    async with asyncio.timeout(20):
        while True:
            answer = await call(gateway.port, "GET", "/readyz")
            if answer.json.get("evaluators") == wanted:
                return answer
            await asyncio.sleep(0.02)


def ask_all(gateway: Process, texts: list[str]) -> list[asyncio.Task[Answer]]:
    return [asyncio.create_task(ask(gateway, text)) for text in texts]


async def ask(gateway: Process, text: str) -> Answer:
    asked = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return await call(gateway.port, "POST", "/v1/chat/completions", asked, patience=WAIT)


async def judged_again(gateway: Process) -> None:
    async with asyncio.timeout(WAIT):
        while True:
            if (await ask(gateway, "Good morning.")).status == 200:
                return
            await asyncio.sleep(0.02)


def statuses(answers: list[Answer]) -> set[int]:
    return {answer.status for answer in answers}


@pytest.mark.parametrize("processes", [1, 2])
async def test_all_of_a_burst_is_judged(tmp_path: Path, processes: int) -> None:
    async with gateway_with(tmp_path, processes) as gateway:
        assert len(gateway.evaluators()) == processes
        assert statuses(await asyncio.gather(*ask_all(gateway, prompts(BURST)))) == {200}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_one_of_two_that_dies_or_hangs_in_a_burst_costs_no_verdict(tmp_path: Path, number: int) -> None:
    async with gateway_with(tmp_path, 2) as gateway:
        asked = ask_all(gateway, prompts(BURST))
        await until(lambda: any(each.done() for each in asked))
        with sent(number, gateway.evaluators()[0]):
            assert statuses(await asyncio.gather(*asked)) == {200}


async def test_a_burst_waits_for_the_successor_of_the_only_one(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, 1, queue_ms=10_000) as gateway:
        asked = ask_all(gateway, prompts(BURST))
        await until(lambda: any(each.done() for each in asked))
        os.kill(gateway.evaluators()[0], signal.SIGKILL)
        assert statuses(await asyncio.gather(*asked)) == {200}


async def test_who_is_too_much_is_refused_in_time_and_readyz_says_so(tmp_path: Path) -> None:
    """The supervisor is stopped, too: it replaces nobody meanwhile, however long a busy machine takes to ask."""
    async with gateway_with(tmp_path, 1, queue_ms=100) as gateway:
        with sent(signal.SIGSTOP, gateway.process.pid), sent(signal.SIGSTOP, gateway.evaluators()[0]):
            answers = await asyncio.gather(*ask_all(gateway, prompts(20)))
            assert statuses(answers) == {503}  # answered although nobody judges any more
            assert {answer.json["error"]["code"] for answer in answers} == {"content_filter_error"}
            overloaded = await readyz(gateway, "overloaded")
            assert overloaded.status == 200  # it is no reason to send requests elsewhere: they would be as many there
        assert await gateway.said("texts that were not judged: ")
        await judged_again(gateway)
