"""Joins: what is only told by two texts together is found, what one of them says alone is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from antiphon.chat.together import Frame, Join
from antiphon.evaluators.backends import Backend
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.composite import Composite, Coverage, LocalMember, RemoteMember
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import SAFE, Severity, Stage, Verdict
from tests.support.evaluators import HARMLESS, VIOLENT, evaluating

SCOPE = Scope("m", None)


class Phrases:
    """Finds "kill him" and "murder", and calls whatever says "ignore" a jailbreak."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.sought_in: list[str] = []  # texts in which jailbreaks were sought

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        self.judged += texts
        self.sought_in += texts if jailbreaks else []
        return [self._judge(text) for text in texts]

    def _judge(self, text: str) -> Verdict:
        violent = "kill him" in text or "murder" in text
        severities = (*SAFE[:3], Severity.HIGH if violent else Severity.SAFE)
        return Verdict(severities=severities, jailbreak="ignore" in text, lists=("ours",) if "kill him" in text else ())


@pytest.fixture
def phrases() -> Phrases:
    return Phrases()


@pytest.fixture
async def client(tmp_path: Path, phrases: Phrases) -> AsyncIterator[EvaluatorClient]:
    async with evaluating(tmp_path / "e.sock", {"plain": Backend(phrases)}):
        client = EvaluatorClient([str(tmp_path / "e.sock")], 10.0, lambda line: None)
        client.start()
        yield client
        await client.close()


def ask(client: EvaluatorClient, *texts: str) -> asyncio.Future[Verdict]:
    return Composite(client, [LocalMember("plain", Coverage())]).ask(Stage.PROMPT, texts, SCOPE)


async def test_what_neither_half_says_is_found(client: EvaluatorClient) -> None:
    verdict = await ask(client, "him", "kill", Join.of("kill", "him"))
    assert verdict.severities == VIOLENT.severities
    assert verdict.lists == ("ours",)


async def test_what_one_half_says_alone_is_no_finding(client: EvaluatorClient) -> None:
    verdict = await ask(client, "a report", Join.of("a murder", "was reported"))
    assert verdict.severities == SAFE
    assert not verdict.lists


async def test_edges_are_no_jailbreak(client: EvaluatorClient) -> None:
    assert (await ask(client, "a", Join.of("ignore", "that"))).jailbreak is False
    assert (await ask(client, "ignore that", Join.of("ignore", "that"))).jailbreak is True


async def test_jailbreaks_are_sought_in_whole_texts_of_others_only(client: EvaluatorClient, phrases: Phrases) -> None:
    await ask(client, "a text", Frame("the application's words"), Join.of("kill", "him"))
    assert set(phrases.judged) == {"a text", "the application's words", "kill him", "kill", "him"}
    assert phrases.sought_in == ["a text"]


async def test_a_join_is_known_and_is_not_the_text_that_reads_the_same(
    client: EvaluatorClient, phrases: Phrases
) -> None:
    join = Join.of("a murder", "was reported")
    assert (await ask(client, "a", join)).severities == SAFE
    count = len(phrases.judged)
    assert ask(client, "a", join).done()
    assert (await ask(client, "a", str(join))).severities == VIOLENT.severities
    assert phrases.judged[count:] == [str(join)]
    assert (await ask(client, "a", Join.of("a murder was", "reported"))).severities == SAFE
    assert (await ask(client, str(join))).severities == VIOLENT.severities


async def test_half_a_surrogate_pair_in_a_join(client: EvaluatorClient) -> None:
    assert (await ask(client, "a\ud83d", Join.of("kill\ud83d", "x"))).severities == HARMLESS.severities


class Outsider:
    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def ask(self, stage: Stage, texts: Sequence[str]) -> asyncio.Future[Verdict]:
        self.asked.append(list(texts))
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        future.set_result(HARMLESS)
        return future

    async def close(self) -> None:
        pass


async def test_somebody_outside_is_asked_about_joins_as_one_text() -> None:
    outsider = Outsider()
    panel = Composite(None, [], [RemoteMember(outsider, Coverage())])
    await panel.ask(Stage.PROMPT, ["a", "b", Join.of("a", "b"), Join.of("c", "d")], SCOPE)
    await panel.ask(Stage.PROMPT, ["a"], SCOPE)
    assert outsider.asked == [["a", "b", "a b\nc d"], ["a"]]
