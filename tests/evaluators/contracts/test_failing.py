"""Services that fail, each in every way: the verdict says so, in time, and nothing raises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.evaluators.composite import Composite
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import FAILED, Stage
from antiphon.upstreams.scripted import ScriptedUpstream
from tests.evaluators.contracts.panels import panel_at
from tests.support.moderators import CREDENTIAL, FAULTS, MODERATORS

SECONDS = 1.0
IN_VAIN = [fault for fault in FAULTS if fault != "please hang"]


@pytest.mark.parametrize("kind", MODERATORS)
class TestFailing:
    @pytest.fixture
    async def at(self, tmp_path: Path, kind: str) -> AsyncIterator[tuple[Composite, ScriptedUpstream]]:
        async with panel_at(tmp_path, kind, more=f"timeout = {SECONDS}") as found:
            yield found

    async def test_every_fault_is_a_failure(
        self, at: tuple[Composite, ScriptedUpstream], kind: str, tmp_path: Path
    ) -> None:
        panel, _ = at
        for fault in IN_VAIN:
            if kind == "http" and fault == "please other json":
                continue  # an object without findings is an answer: nothing was found
            verdict = await panel.ask(Stage.PROMPT, [fault], Scope())
            assert verdict.error == FAILED, fault
        await panel.close()
        log = (tmp_path / "errors").read_text() if (tmp_path / "errors").exists() else ""
        assert CREDENTIAL not in log
        assert "please" not in log

    async def test_silence_is_a_failure_within_the_time_limit(self, at: tuple[Composite, ScriptedUpstream]) -> None:
        panel, service = at
        loop = asyncio.get_running_loop()
        began = loop.time()
        verdict = await panel.ask(Stage.PROMPT, ["please hang"], Scope())
        assert verdict.error == FAILED
        assert loop.time() - began < 2 * SECONDS
        for request in service.requests:  # and its connections are given up
            await asyncio.wait_for(request.closed.wait(), 5)

    async def test_given_up_the_call_is_given_up_too(self, at: tuple[Composite, ScriptedUpstream]) -> None:
        panel, service = at
        asked = panel.ask(Stage.PROMPT, ["please hang"], Scope())
        (request, *_) = await service.received(1)
        asked.cancel()
        await asyncio.wait_for(request.closed.wait(), 5)

    async def test_a_service_that_is_gone_is_a_failure(self, at: tuple[Composite, ScriptedUpstream]) -> None:
        panel, service = at
        await service.stop()
        assert (await panel.ask(Stage.PROMPT, ["hello"], Scope())).error == FAILED

    async def test_a_failure_is_not_remembered_and_a_finding_is(
        self, at: tuple[Composite, ScriptedUpstream], kind: str
    ) -> None:
        panel, service = at
        first = await panel.ask(Stage.PROMPT, ["violence"], Scope())
        asked = len(service.requests)
        assert await panel.ask(Stage.PROMPT, ["violence"], Scope()) == first
        assert len(service.requests) == asked
        both = await panel.ask(Stage.PROMPT, ["violence", "please fail"], Scope())
        assert both.error == FAILED
        assert both.severities == first.severities
        again = await panel.ask(Stage.PROMPT, ["violence", "please fail"], Scope())
        assert again.error == FAILED
        assert len(service.requests) > asked + 1
