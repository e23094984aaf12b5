"""A text that takes the classifier long: it is judged, and nobody waits for it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from antiphon.evaluators.backends import load_classifier
from antiphon.evaluators.client import EvaluatorClient
from antiphon.safety.verdict import CATEGORIES, Severity, Stage, Verdict
from tests.support.evaluators import evaluating
from tests.support.process import until

THREAT = "I will come to your house tonight and kill you and your whole family with my knife. "
WORDS = """
    garden table letter window morning kitchen river bridge paper summer market bread winter school report meeting
    project budget coffee train ticket station teacher lesson music guitar recipe butter flour the and with for from
""".split()  # noqa: SIM905


def prose(characters: int) -> str:
    pick = random.Random(7)
    sentences: list[str] = []
    while sum(map(len, sentences)) < characters:
        sentences.append(" ".join(pick.choices(WORDS, k=12)).capitalize() + ". ")
    return "".join(sentences)


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
async def test_a_threat_in_a_long_prompt_is_found(tmp_path: Path, at: float) -> None:
    calm = prose(200_000)
    cut = calm.find(". ", int(len(calm) * at) - 200) + 2 if at else 0
    async with evaluating(tmp_path / "e.sock", {"embedded": load_classifier()}):
        client = EvaluatorClient([str(tmp_path / "e.sock")], 60.0, lambda line: None)
        client.start()
        order: list[asyncio.Future[Verdict]] = []
        long = client.ask(Stage.PROMPT, [calm[:cut] + THREAT + calm[cut:]], ["embedded"])
        await until(lambda: client.state == "ready")  # so the long one was sent first
        short = [client.ask(Stage.PROMPT, [f"How do I bake bread number {n}?"], ["embedded"]) for n in range(3)]
        for asked in (long, *short):
            asked.add_done_callback(order.append)
        verdict, *others = await asyncio.gather(long, *short)
        await client.close()
    assert [other.error for other in others] == [None] * 3
    assert order[-1] is long
    assert verdict.error is None
    assert verdict.severities is not None
    assert verdict.severities[CATEGORIES.index("violence")] >= Severity.MEDIUM
