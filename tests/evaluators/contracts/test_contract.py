"""What holds for every evaluator, whoever it is: the embedded ones, and services behind each vendor's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.evaluators.composite import Composite
from antiphon.evaluators.protected import winnow
from antiphon.evaluators.protected.build import build as build_index
from antiphon.evaluators.protected.sources import describe
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import CATEGORIES, SAFE, Severity, Stage, Verdict
from tests.evaluators.contracts.panels import panel_at, panel_of
from tests.evaluators.protected.conftest import invented
from tests.support.moderators import MODERATORS

INSIDE = {
    "embedded": 'kind = "embedded"\ntimeout = 20',
    "rules": 'kind = "rules"\nname = "banned"\nwords = ["violence"]\ntimeout = 20',
    "protected": 'kind = "protected"\nindex = ["own.index"]\ntimeout = 20',  # of CODE, made by the fixture
}
CODE = invented(seed=99)
# What each is there to find, and on which side. (What the classifier finds is no single word.)
GRAVE = "I will kill you and everyone in your family with this violence."
FINDS = {
    "embedded": (Stage.PROMPT, GRAVE),
    "rules": (Stage.ANSWER, GRAVE),
    "protected": (Stage.ANSWER, CODE),
    **dict.fromkeys(MODERATORS, (Stage.PROMPT, GRAVE)),
}
HARMLESS = "How do I bake bread with a crisp crust?"


def index_of(code: str, room: Path) -> None:
    (room / "source").mkdir()
    (room / "source" / "own.c").write_text(code)
    build_index(winnow.CODE, [describe(room / "source", "https://x.example", "GPL-3.0-only")], [], room / "own.index")


def judged(verdict: Verdict) -> bool:
    """Something at all was looked at."""
    flags = (verdict.jailbreak, verdict.protected_text, verdict.protected_code)
    return verdict.severities is not None or any(flag is not None for flag in flags)


def found(verdict: Verdict) -> bool:
    flags = (verdict.jailbreak, verdict.protected_text, verdict.protected_code)
    grave = max(verdict.severities or SAFE) >= Severity.MEDIUM
    return grave or any(flags) or bool(verdict.lists)


@pytest.mark.parametrize("kind", [*INSIDE, *MODERATORS])
class TestEvaluator:
    @pytest.fixture
    async def panel(self, tmp_path: Path, kind: str) -> AsyncIterator[Composite]:
        if kind == "protected":
            await asyncio.to_thread(index_of, CODE, tmp_path)
        if kind in INSIDE:
            async with panel_of(tmp_path, INSIDE[kind]) as panel:
                yield panel
        else:
            async with panel_at(tmp_path, kind, more="timeout = 20") as (panel, _):
                yield panel

    @pytest.mark.parametrize("stage", Stage)
    async def test_a_harmless_text_gets_a_verdict_without_findings(
        self, panel: Composite, kind: str, stage: Stage
    ) -> None:
        verdict = await panel.ask(stage, [HARMLESS], Scope())
        assert verdict.error is None
        assert not found(verdict)
        if kind == "protected" and stage is Stage.PROMPT:
            assert not judged(verdict)
        elif kind != "rules":
            assert judged(verdict)
        assert verdict.severities is None or len(verdict.severities) == len(CATEGORIES)

    async def test_it_finds_what_it_is_there_for(self, panel: Composite, kind: str) -> None:
        stage, text = FINDS[kind]
        verdict = await panel.ask(stage, [text], Scope())
        assert found(verdict)
        assert verdict.error is None

    async def test_the_worst_text_counts_and_neighbours_change_nothing(self, panel: Composite, kind: str) -> None:
        stage, text = FINDS[kind]
        alone = await panel.ask(stage, [text], Scope())
        harmless = await panel.ask(stage, [HARMLESS], Scope())
        others = [f"{HARMLESS} ({number})" for number in range(5)]
        amid = await asyncio.gather(*(panel.ask(stage, [each], Scope()) for each in [*others, text, HARMLESS]))
        assert amid[5:] == [alone, harmless]
        assert found(await panel.ask(stage, [HARMLESS, text, HARMLESS], Scope())) == found(alone)

    @pytest.mark.parametrize("texts", [[], [""], [" \n"], ["\ud800"], ["\0"], ["é" * 30_000], [HARMLESS] * 100])
    async def test_no_text_is_too_odd(self, panel: Composite, texts: list[str]) -> None:
        verdict = await panel.ask(Stage.ANSWER, texts, Scope())
        assert verdict.error != "content_filter_error"
        assert not found(verdict)
