"""Questions without a future: what is known is said at once, what is not is told by a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.evaluators import client as room
from antiphon.evaluators import topic
from antiphon.evaluators.backends import Backend
from antiphon.evaluators.client import LARGE, EvaluatorClient
from antiphon.evaluators.composite import Composite, Coverage, LocalMember, RemoteMember
from antiphon.evaluators.wire import LARGEST
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import FAILURE, LATE, NOTHING, OVER_LENGTH, SAFE, UNSUPPORTED_LANGUAGE, Stage, Verdict
from tests.evaluators.test_composite import SHIELD, Told
from tests.support.evaluators import HARMLESS, VIOLENT, Plain, evaluating
from tests.support.process import until

SCOPE = Scope()


class Heard:
    def __init__(self) -> None:
        self.all: list[Verdict] = []

    def __call__(self, verdict: Verdict) -> None:
        self.all.append(verdict)

    async def one(self) -> Verdict:
        await until(lambda: bool(self.all))
        assert len(self.all) == 1
        return self.all[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "e.sock"


@pytest.fixture
def plain() -> Plain:
    return Plain()


@pytest.fixture
async def client(path: Path, plain: Plain) -> AsyncIterator[EvaluatorClient]:
    async with evaluating(path, {"plain": Backend(plain), "other": Backend(Plain())}):
        client = EvaluatorClient([str(path)], 10.0, lambda line: None)
        client.start()
        yield client
        plain.release()
        await client.close()


@pytest.fixture
def panel(client: EvaluatorClient) -> Composite:
    return Composite(client, [LocalMember("plain", Coverage())])


async def asked(panel: Composite, *texts: str, stage: Stage = Stage.PROMPT) -> Verdict:
    heard = Heard()
    assert panel.ask_now(stage, texts, SCOPE, heard) is None
    assert not heard.all  # never within the call
    return await heard.one()


def known(panel: Composite, *texts: str, stage: Stage = Stage.PROMPT) -> Verdict | None:
    return panel.ask_now(stage, texts, SCOPE, lambda verdict: None)


async def test_a_verdict_is_told_and_known_the_next_time(panel: Composite, plain: Plain) -> None:
    assert await asked(panel, "some violence") == VIOLENT
    assert await asked(panel, "all is well") == HARMLESS
    assert known(panel, "some violence") == VIOLENT
    assert known(panel, "all is well") == HARMLESS
    assert known(panel, "all is well", "some violence") == VIOLENT
    assert plain.judged == ["some violence", "all is well"]


async def test_only_what_is_new_is_asked_about(panel: Composite, plain: Plain) -> None:
    """A conversation is sent again with every turn."""
    assert await asked(panel, "system", "some violence", "first") == VIOLENT
    assert await asked(panel, "system", "first", "second") == HARMLESS
    assert await asked(panel, "system", "some violence", "third") == VIOLENT
    assert plain.judged == ["system", "some violence", "first", "second", "third"]
    assert known(panel, "first", "second", "third") == HARMLESS


async def test_the_other_side_and_other_evaluators_are_other_questions(
    client: EvaluatorClient, panel: Composite
) -> None:
    await asked(panel, "x")
    assert known(panel, "x") == HARMLESS
    assert await asked(panel, "x", stage=Stage.ANSWER) == HARMLESS
    both = Composite(client, [LocalMember("plain", Coverage()), LocalMember("other", Coverage())])
    assert await asked(both, "x") == HARMLESS
    assert known(Composite(client, [LocalMember("plain", Coverage())]), "x") == HARMLESS  # the same ones


async def test_a_future_knows_the_same(panel: Composite, plain: Plain) -> None:
    assert await panel.ask(Stage.PROMPT, ["some violence"], SCOPE) == VIOLENT
    assert known(panel, "some violence") == VIOLENT
    again = panel.ask(Stage.PROMPT, ["some violence"], SCOPE)
    assert again.done()
    assert again.result() == VIOLENT
    assert plain.judged == ["some violence"]


async def test_a_failure_is_not_known(panel: Composite, plain: Plain) -> None:
    assert await asked(panel, "raise") == FAILURE
    assert await asked(panel, "fine", "raise") == FAILURE
    assert await asked(panel, "raise") == FAILURE
    assert plain.judged.count("raise") == 3


async def test_what_is_known_counts_where_the_rest_fails(panel: Composite) -> None:
    await asked(panel, "some violence")
    assert await asked(panel, "some violence", "raise") == VIOLENT | FAILURE


async def test_a_language_that_nobody_reads_is_known(path: Path) -> None:
    class Foreign:
        def judge(self, texts: list[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
            return [Verdict(severities=SAFE, error=UNSUPPORTED_LANGUAGE) for _ in texts]

    async with evaluating(path, {"foreign": Backend(Foreign())}):  # type: ignore[arg-type]
        client = EvaluatorClient([str(path)], 10.0, lambda line: None)
        client.start()
        panel = Composite(client, [LocalMember("foreign", Coverage())])
        verdict = await asked(panel, "x")
        assert verdict.error == UNSUPPORTED_LANGUAGE
        assert known(panel, "x") == verdict
        await client.close()


async def test_what_is_known_is_bounded(panel: Composite) -> None:
    await asked(panel, "first")
    for start in range(0, room.REMEMBERED, 64):
        await asked(panel, *(f"text {number}" for number in range(start, start + 64)))
    assert known(panel, f"text {room.REMEMBERED - 1}") == HARMLESS
    assert await asked(panel, "first") == HARMLESS


async def test_a_long_text_is_asked_about_again(panel: Composite, plain: Plain) -> None:
    """To digest it would cost the worker more than to send it; the process remembers it."""
    text = "x" * (topic.LONGEST + 1)
    assert await asked(panel, text) == HARMLESS
    assert await asked(panel, text) == HARMLESS
    assert plain.judged == [text]


async def test_half_a_surrogate_pair_is_known_too(panel: Composite) -> None:
    assert await asked(panel, "violence \ud83d") == VIOLENT
    assert known(panel, "violence \ud83d") == VIOLENT


async def test_one_too_many_fails_at_once(panel: Composite, plain: Plain) -> None:
    plain.hold()
    heard = [Heard() for _ in range(room.MOST_WAITING)]
    for number, each in enumerate(heard):
        assert panel.ask_now(Stage.PROMPT, [f"{number}"], SCOPE, each) is None
    assert known(panel, "one more") == FAILURE
    assert known(panel, "x" * LARGE, "y") == LATE
    assert known(panel, "x" * LARGEST, "y") == OVER_LENGTH
    plain.release()
    for each in heard:
        await each.one()


async def test_a_process_that_dies_fails_what_waits(path: Path) -> None:
    plain, heard = Plain(), Heard()
    plain.hold()
    client = EvaluatorClient([str(path)], 10.0, lambda line: None)
    async with evaluating(path, {"plain": Backend(plain)}):
        client.start()
        panel = Composite(client, [LocalMember("plain", Coverage())])
        assert panel.ask_now(Stage.PROMPT, ["x"], SCOPE, heard) is None
        assert await asyncio.to_thread(plain.began.acquire, timeout=10)
    assert await heard.one() == FAILURE
    plain.release()
    await client.close()


async def test_somebody_outside_is_asked_each_time(client: EvaluatorClient) -> None:
    outside = Told(SHIELD)
    panel = Composite(client, [LocalMember("plain", Coverage())], [RemoteMember(outside, Coverage())])
    assert await asked(panel, "violence") == VIOLENT | SHIELD
    assert await asked(panel, "violence") == VIOLENT | SHIELD
    assert len(outside.asked) == 2


async def test_nobody_to_ask_is_nothing_at_once() -> None:
    assert known(Composite(None, []), "x") == NOTHING


async def test_one_that_fails_when_it_is_told_leaves_the_others_alone(panel: Composite) -> None:
    def fails(verdict: Verdict) -> None:
        raise RuntimeError("as asked")

    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))
    assert panel.ask_now(Stage.PROMPT, ["a"], SCOPE, fails) is None
    assert await asked(panel, "violence") == VIOLENT
    assert [type(fault) for fault in faults] == [RuntimeError]
