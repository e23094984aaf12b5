"""Early looks at the real evaluator process: told while it runs, risky while it is stopped, none when it is dead."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.composite import Composite, Coverage, LocalMember
from antiphon.evaluators.config import EvaluatorConfig, RuleConfig
from antiphon.flow.ports import Scope
from tests.support.process import until

CALM, RISKY = "The train leaves at nine, and the", "and what he said was so very naug"


@dataclass
class Running:
    process: asyncio.subprocess.Process
    panel: Composite

    async def look(self, text: str) -> bool | None:
        """None: there is no early look."""
        heard: list[bool] = []
        if not self.panel.early(text, Scope(), heard.append):
            return None
        await until(lambda: bool(heard))
        [risky] = heard
        return risky


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    orders = EvaluatorConfig(str(tmp_path), ("embedded",), rules=(RuleConfig("words", words=("naughty",)),))
    orders.write()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(orders.sockets[0])
    listener.listen()
    (_, told), (life, _) = pipes = os.pipe(), os.pipe()
    passed = [listener.fileno(), told, life]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "antiphon.evaluators", orders.file, *map(str, passed), pass_fds=passed
    )
    client = EvaluatorClient(orders.sockets, 10.0, lambda line: None)
    panel = Composite(client, [LocalMember("embedded", Coverage()), LocalMember("words", Coverage())])
    panel.start()
    yield Running(process, panel)
    await panel.close()
    if process.returncode is None:
        process.kill()
    await process.wait()
    listener.close()
    for each in (*pipes[0], *pipes[1]):
        os.close(each)


async def test_early_looks_while_it_runs_is_stopped_and_dies(running: Running) -> None:
    assert await running.look(CALM) is None
    await until(lambda: running.panel.state == "ready")
    assert await running.look(CALM) is False
    assert await running.look(RISKY) is True
    running.process.send_signal(signal.SIGSTOP)
    assert await running.look(CALM) is True
    running.process.send_signal(signal.SIGCONT)
    running.process.kill()
    await until(lambda: running.panel.state == "starting")
    assert await running.look(CALM) is None
