"""The evaluator process among the others: /readyz, its replacement, its turn to end. The classifier is the real one."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.config import ALONE, KEPT, EvaluatorConfig, read
from antiphon.evaluators.protected.index import PACKAGED
from antiphon.place import BACKOFF
from antiphon.safety.verdict import FAILURE, NOTHING, Severity, Stage
from tests.support.process import Process, gone, sent, serving, until
from tests.support.raw import call

SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
[engine]
enabled = false
[safety]
processes = 1
"""
GRAVE = "I will kill you and everyone in your family."


def evaluator(gateway: Process) -> int:
    """The process id; 0 where there is none."""
    return next(iter(gateway.evaluators()), 0)


def orders_of(pid: int) -> EvaluatorConfig:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return read(words[words.index(b"antiphon.evaluators") + 1].decode())


@asynccontextmanager
async def judging(folder: Path, seconds: float = 20.0) -> AsyncIterator[tuple[Process, EvaluatorClient]]:
    """A gateway, and a client at its evaluator process, as a worker has one."""
    async with serving(folder, SETTINGS) as gateway:
        await gateway.ready()
        await until(lambda: bool(evaluator(gateway)))
        client = EvaluatorClient(orders_of(evaluator(gateway)).sockets, seconds, lambda line: None)
        client.start()
        try:
            yield gateway, client
        finally:
            await client.close()


async def is_judged(client: EvaluatorClient) -> bool:
    verdict = await client.ask(Stage.PROMPT, [GRAVE], ["embedded"])
    return verdict.severities is not None and max(verdict.severities) >= Severity.MEDIUM


async def judged_again(client: EvaluatorClient) -> None:
    async with asyncio.timeout(30):
        while True:
            if await is_judged(client):
                return
            await asyncio.sleep(0.01)


async def readyz(port: int, wanted: str) -> None:
    async with asyncio.timeout(30):
        while True:
            if (await call(port, "GET", "/readyz")).json.get("evaluators") == wanted:
                return
            await asyncio.sleep(0.02)


def environment(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {line.partition(b"=")[0].decode() for line in lines if line}


async def test_it_judges_and_readyz_says_so(tmp_path: Path) -> None:
    async with judging(tmp_path) as (gateway, client):
        assert await is_judged(client)
        await readyz(gateway.port, "ready")
        assert (await call(gateway.port, "GET", "/readyz")).status == 200


async def test_while_it_starts_the_gateway_is_not_ready(tmp_path: Path) -> None:
    async with judging(tmp_path) as (gateway, _):
        await readyz(gateway.port, "ready")
        with sent(signal.SIGSTOP, gateway.process.pid):  # as if its successor took long
            os.kill(evaluator(gateway), signal.SIGKILL)
            await readyz(gateway.port, "starting")
            answer = await call(gateway.port, "GET", "/readyz")
            assert (answer.status, answer.json["reason"]) == (503, "evaluators: starting")
            assert (await call(gateway.port, "GET", "/healthz")).status == 200
        await readyz(gateway.port, "ready")
        assert (await call(gateway.port, "GET", "/readyz")).status == 200


async def test_killed_it_has_a_successor_at_once_for_which_questions_wait(tmp_path: Path) -> None:
    async with judging(tmp_path) as (gateway, client):
        assert await is_judged(client)
        first = evaluator(gateway)
        os.kill(first, signal.SIGKILL)
        assert await is_judged(client)
        died = await gateway.said(f"evaluator process {first} was killed by SIGKILL; another starts in ")
        assert float(died.split()[-2]) <= BACKOFF[1]
        assert evaluator(gateway) not in (0, first)
        await readyz(gateway.port, "ready")


async def test_hanging_its_questions_fail_in_time_and_it_is_replaced(tmp_path: Path) -> None:
    async with judging(tmp_path, 0.5) as (gateway, client):
        await readyz(gateway.port, "ready")
        first = evaluator(gateway)
        os.kill(first, signal.SIGSTOP)
        assert await client.ask(Stage.PROMPT, ["anything"], ["embedded"]) == FAILURE
        assert "s and was killed" in await gateway.said(f"evaluator process {first} was silent for ")
        await judged_again(client)


async def test_it_sees_nothing_of_the_environment(tmp_path: Path) -> None:
    async with serving(tmp_path, SETTINGS, environ={"OPENAI_API_KEY": "sk-secret"}) as gateway:
        await gateway.ready()
        await readyz(gateway.port, "ready")
        names = environment(evaluator(gateway))
        assert names <= KEPT | {*ALONE, "MALLOC_ARENA_MAX"}
        assert set(ALONE) <= names


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_with_the_gateway(tmp_path: Path, number: int) -> None:
    async with serving(tmp_path, SETTINGS) as gateway:
        await gateway.ready()
        await readyz(gateway.port, "ready")
        pid = evaluator(gateway)
        gateway.process.send_signal(number)
        assert await gateway.ended() == 0
        assert await asyncio.to_thread(gone, pid)
        _, said = await gateway.process.communicate()
        assert said == b""


async def test_it_ends_with_a_killed_supervisor(tmp_path: Path) -> None:
    async with serving(tmp_path, SETTINGS) as gateway:
        await gateway.ready()
        await readyz(gateway.port, "ready")
        pid = evaluator(gateway)
        gateway.process.kill()
        assert await asyncio.to_thread(gone, pid)


async def test_a_sigterm_to_all_processes_does_not_end_it_before_the_workers(tmp_path: Path) -> None:
    async with judging(tmp_path) as (gateway, client):
        assert await is_judged(client)
        os.kill(evaluator(gateway), signal.SIGTERM)
        assert await is_judged(client)


@pytest.mark.parametrize(
    "safety", ["enabled = false", '[[safety.evaluator]]\nkind = "http"\nurl = "http://127.0.0.1:9"']
)
async def test_it_does_not_run_where_nobody_needs_it(tmp_path: Path, safety: str) -> None:
    async with serving(tmp_path, SETTINGS + safety) as gateway:
        await gateway.ready()
        assert len(gateway.children()) == 1
        assert (await call(gateway.port, "GET", "/readyz")).json == {"status": "ready"}


async def test_a_part_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    shutil.copy(PACKAGED, tmp_path / "broken.idx")  # whole when the settings are read, broken when it is loaded again
    rows = '[[safety.evaluator]]\nkind = "embedded"\n[[safety.evaluator]]\nkind = "protected"\nindex = ["broken.idx"]'
    async with serving(tmp_path, SETTINGS + rows) as gateway:
        await gateway.ready()
        (tmp_path / "new.idx").write_bytes(b"no index")
        (tmp_path / "new.idx").rename(tmp_path / "broken.idx")
        os.kill(evaluator(gateway), signal.SIGKILL)
        assert await gateway.said("antiphon: The evaluator 'protected' cannot be loaded: ")
        client = EvaluatorClient(orders_of(evaluator(gateway)).sockets, 20.0, lambda line: None)
        client.start()
        assert await is_judged(client)
        state = client.state
        assert state.startswith("The evaluator 'protected' cannot be loaded: ")
        assert (await client.ask(Stage.ANSWER, ["x"], ["protected"])) == FAILURE
        await client.close()
        await readyz(gateway.port, state)


async def test_it_is_told_what_the_settings_say(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# ours\nProject Bluebird\n/BB-[0-9]{6}/\n")
    rows = '[[safety.evaluator]]\nkind = "rules"\nname = "ours"\nfile = "list.txt"\nlists = ["secrets"]'
    async with serving(tmp_path, SETTINGS + rows) as gateway:
        await gateway.ready()
        await readyz(gateway.port, "ready")
        client = EvaluatorClient(orders_of(evaluator(gateway)).sockets, 20.0, lambda line: None)
        client.start()
        for text in ("About project bluebird.", "BB-123456", "AKIAIOSFODNN7EXAMPLE"):
            assert (await client.ask(Stage.ANSWER, [text], ["ours"])).lists == ("ours",)
        assert await client.ask(Stage.ANSWER, ["About birds."], ["ours"]) == NOTHING
        await client.close()


async def test_all_workers_share_it_and_a_new_gateway_has_a_new_one(tmp_path: Path) -> None:
    pids = []
    for _ in range(2):
        text = SETTINGS.replace("[engine]", "workers = 2\n[engine]")
        async with serving(tmp_path, text) as gateway:
            await gateway.ready()
            assert len(gateway.children()) == 3
            await readyz(gateway.port, "ready")
            pids.append(evaluator(gateway))
            gateway.process.send_signal(signal.SIGTERM)
            assert await gateway.ended() == 0
    assert len(set(pids)) == 2
