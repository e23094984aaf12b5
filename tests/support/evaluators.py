"""Evaluators for tests: a plain one that can be held up, and the evaluator process's server inside this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from antiphon.evaluators.backends import Backend
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.process import WorkerConnection
from antiphon.evaluators.scheduler import Scheduler
from antiphon.evaluators.wire import Hello
from antiphon.safety.verdict import SAFE, Severity, Stage, Verdict

VIOLENT = Verdict(severities=(*SAFE[:3], Severity.HIGH))
HARMLESS = Verdict(severities=SAFE)


class Plain:
    """Finds violence where a text says so, raises where it is told to; waits while it is held."""

    def __init__(self) -> None:
        self.judged: list[str] = []  # in order
        self.batches: list[int] = []
        self.began = threading.Semaphore(0)
        self._free = threading.Event()
        self._free.set()

    def hold(self) -> None:
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        self.began.release()
        assert self._free.wait(10)
        self.batches.append(len(texts))
        self.judged += texts
        if any("raise" in text for text in texts):
            raise RuntimeError("as asked")
        return [VIOLENT if "violence" in text else HARMLESS for text in texts]


@asynccontextmanager
async def evaluating(path: Path, parts: Mapping[str, Backend], fault: str | None = None) -> AsyncIterator[Scheduler]:
    """Listens at `path` as the evaluator process does."""
    docket = Scheduler(parts, lambda line: None)
    connections: list[WorkerConnection] = []

    def connect() -> WorkerConnection:
        connections.append(WorkerConnection(docket, Hello(fault)))
        return connections[-1]

    server = await asyncio.get_running_loop().create_unix_server(connect, str(path))
    try:
        yield docket
    finally:
        server.close()
        for connection in connections:
            connection.abort()
        docket.close()
        remove(path)


async def judged_again(client: EvaluatorClient) -> None:
    """Asks until there is a verdict: for a client whose time limit is short, on a machine that may be busy."""
    async with asyncio.timeout(20):
        while True:
            if await client.ask(Stage.PROMPT, ["violence"], ["plain"]) == VIOLENT:
                return
            await asyncio.sleep(0.01)


async def done_within(seconds: float, asked: Sequence[asyncio.Future[Verdict]]) -> bool:
    """By a timer of this loop: timers run in their order, also where a busy machine runs them late."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bool] = loop.create_future()
    loop.call_later(seconds, lambda: found.set_result(all(each.done() for each in asked)))
    return await found


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)  # newer Pythons do so themselves
