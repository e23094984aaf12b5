"""All evaluators as one: who is asked, what is merged, what nobody can judge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from antiphon.chat.together import Frame
from antiphon.evaluators.backends import Backend
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.composite import Composite, Coverage, LocalMember, RemoteMember
from antiphon.flow.ports import Judge, Scope
from antiphon.safety.verdict import FAILURE, NOTHING, Stage, Verdict
from tests.support.evaluators import HARMLESS, VIOLENT, Plain, evaluating

ANYWHERE = Scope()
SHIELD = Verdict(jailbreak=True)


class Told:
    """An evaluator that says what it was told to, when it is told to."""

    def __init__(self, verdict: Verdict | None) -> None:
        self.asked: list[asyncio.Future[Verdict]] = []
        self.closed = False
        self._verdict = verdict

    def ask(self, stage: Stage, texts: Sequence[str]) -> asyncio.Future[Verdict]:
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        if self._verdict is not None:
            future.set_result(self._verdict)
        self.asked.append(future)
        return future

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[EvaluatorClient]:
    async with evaluating(tmp_path / "e.sock", {"plain": Backend(Plain())}):
        client = EvaluatorClient([str(tmp_path / "e.sock")], 10.0, lambda line: None)
        yield client
        await client.close()


def of(
    client: EvaluatorClient | None, *outside: Told, inside: Sequence[LocalMember] = (LocalMember("plain", Coverage()),)
) -> Composite:
    panel = Composite(client, inside if client else (), [RemoteMember(each, Coverage()) for each in outside])
    panel.start()
    return panel


async def test_findings_are_merged(client: EvaluatorClient) -> None:
    panel: Judge = of(client, Told(SHIELD), Told(HARMLESS))
    assert await panel.ask(Stage.PROMPT, ["violence"], ANYWHERE) == VIOLENT | SHIELD


async def test_one_that_fails_is_named_and_the_others_count(client: EvaluatorClient) -> None:
    verdict = await of(client, Told(FAILURE)).ask(Stage.PROMPT, ["violence"], ANYWHERE)
    assert verdict == VIOLENT | FAILURE


async def test_alone_a_remote_one_needs_no_process() -> None:
    panel = of(None, Told(SHIELD))
    assert panel.state is None
    assert await panel.ask(Stage.PROMPT, ["x"], ANYWHERE) == SHIELD


async def test_the_applications_own_words_are_no_jailbreak_to_a_remote_one_either() -> None:
    shield = Told(SHIELD)
    assert (await of(None, shield).ask(Stage.PROMPT, [Frame("a rule")], ANYWHERE)).jailbreak is False
    assert len(shield.asked) == 1
    both = await of(None, shield).ask(Stage.PROMPT, ["a question", Frame("a rule")], ANYWHERE)
    assert both.jailbreak is True


async def test_a_remote_one_that_gives_up_on_own_words_leaves_nobody_waiting() -> None:
    silent = Told(None)
    asked = of(None, silent).ask(Stage.PROMPT, [Frame("a rule")], ANYWHERE)
    silent.asked[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asked, 5)


async def test_nobody_to_ask_is_nothing() -> None:
    assert await of(None).ask(Stage.PROMPT, ["x"], ANYWHERE) == NOTHING


async def test_bounds_say_who_is_asked(client: EvaluatorClient) -> None:
    answers, route, key = Told(SHIELD), Told(SHIELD), Told(SHIELD)
    panel = Composite(
        client,
        [LocalMember("plain", Coverage(routes=frozenset({"r"})), reach=12)],
        [
            RemoteMember(answers, Coverage(frozenset({Stage.ANSWER}))),
            RemoteMember(route, Coverage(routes=frozenset({"r"}))),
            RemoteMember(key, Coverage(keys=frozenset({"k"}))),
        ],
    )
    panel.start()
    for stage, scope in (
        (Stage.ANSWER, ANYWHERE),
        (Stage.PROMPT, Scope("r", "x")),
        (Stage.PROMPT, Scope("x", "k")),
        (Stage.PROMPT, Scope("x", "k")),
        (Stage.PROMPT, Scope("x", None)),
    ):
        await panel.ask(stage, ["x"], scope)
    assert [len(each.asked) for each in (answers, route, key)] == [1, 1, 2]
    assert panel.reach(Scope("r")) == 12
    assert panel.reach(Scope("x")) == 0


async def test_who_does_not_wait_any_more_takes_the_questions_along() -> None:
    one, other = Told(None), Told(None)
    asked = of(None, one, other).ask(Stage.PROMPT, ["x"], ANYWHERE)
    asked.cancel()
    await asyncio.gather(asked, *one.asked, *other.asked, return_exceptions=True)
    assert one.asked[0].cancelled()
    assert other.asked[0].cancelled()


async def test_closing_closes_all(client: EvaluatorClient) -> None:
    other = Told(SHIELD)
    await of(client, other).close()
    assert other.closed
