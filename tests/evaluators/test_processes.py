"""Several evaluator processes, as a worker sees them: who is asked, who instead, who waits and for how long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest

from antiphon.evaluators import unjudged
from antiphon.evaluators.backends import Backend
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.link import WINDOW
from antiphon.evaluators.patience import BURST, WaitEstimate
from antiphon.evaluators.share import MOST_TRIES, PROMPTS, SHORT, Share
from antiphon.evaluators.topic import Topic
from antiphon.evaluators.wire import Hello, pack
from antiphon.safety.verdict import FAILURE, NOTHING, Stage, Verdict
from tests.support.evaluators import HARMLESS, VIOLENT, Plain, done_within, evaluating, judged_again, remove
from tests.support.process import until

PARTS = ["plain"]


class Steady:
    """Takes a while for each text."""

    def __init__(self, seconds: float) -> None:
        self.judged: list[str] = []
        self._seconds = seconds
        self._never = threading.Event()

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        for _ in texts:
            self._never.wait(self._seconds)
        self.judged += texts
        return [HARMLESS for _ in texts]


@asynccontextmanager
async def asking(
    paths: list[Path], *, seconds: float = 10.0, queue: float = 0.0, said: list[str] | None = None
) -> AsyncIterator[EvaluatorClient]:
    client = EvaluatorClient([*map(str, paths)], seconds, (said if said is not None else []).append, queue)
    client.start()
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a.sock", tmp_path / "b.sock"]


@pytest.fixture
async def two(paths: list[Path]) -> AsyncIterator[list[Plain]]:
    """Two processes."""
    plains = [Plain(), Plain()]
    async with AsyncExitStack() as stack:
        for path, plain in zip(paths, plains, strict=True):
            await stack.enter_async_context(evaluating(path, {"plain": Backend(plain)}))
        yield plains
        for plain in plains:
            plain.release()


def texts_of(count: int) -> list[str]:
    return [f"text {number:04}" for number in range(count)]


async def both_up(client: EvaluatorClient, two: list[Plain]) -> None:
    """Asks until both have judged something of this."""
    asked: list[str] = []
    async with asyncio.timeout(10):
        while not all(set(asked) & set(plain.judged) for plain in two):
            asked.append(f"{uuid4()}")
            await client.ask(Stage.PROMPT, asked[-1:], PARTS)
    for plain in two:
        plain.judged.clear()


async def test_both_work_and_every_worker_asks_the_same_one(paths: list[Path], two: list[Plain]) -> None:
    async with asking(paths) as one, asking(paths) as other:
        await both_up(one, two)
        await both_up(other, two)
        for text in texts_of(100):  # one after the other: neither has more to do than it can take
            assert await one.ask(Stage.PROMPT, [text], PARTS) == HARMLESS
            assert await other.ask(Stage.PROMPT, [text], PARTS) == HARMLESS
    judged = [set(plain.judged) for plain in two]
    assert len(judged[0]) > 25 < len(judged[1])
    assert sorted(two[0].judged + two[1].judged) == sorted(texts_of(100))


async def test_the_texts_of_a_question_are_divided_and_the_worst_counts(paths: list[Path], two: list[Plain]) -> None:
    async with asking(paths) as client:
        await both_up(client, two)
        topic = client.topic(Stage.PROMPT, PARTS)
        assert await client.ask_about(topic, [*texts_of(20), "violence"]) == VIOLENT
        assert two[0].judged
        assert two[1].judged
        again = client.ask_about(topic, [*texts_of(20), "violence"])
        assert again.done()  # each text is known by itself
        assert await client.ask_about(topic, texts_of(19)) == HARMLESS


async def test_one_without_work_takes_what_waits_for_the_other(paths: list[Path], two: list[Plain]) -> None:
    async with asking(paths) as client:
        await both_up(client, two)
        two[0].hold()
        asked = [client.ask(Stage.PROMPT, [text], PARTS) for text in texts_of(400)]
        await until(lambda: sum(each.done() for each in asked) >= 400 - WINDOW[PROMPTS])
        two[0].release()
        assert set(await asyncio.gather(*asked)) == {HARMLESS}
    assert len(two[0].judged) <= WINDOW[PROMPTS]


async def test_what_a_dead_one_was_asked_is_asked_of_the_other(paths: list[Path]) -> None:
    dies, lives = Plain(), Plain()
    dies.hold()
    async with evaluating(paths[1], {"plain": Backend(lives)}), asking(paths) as client:
        async with evaluating(paths[0], {"plain": Backend(dies)}):
            await until(lambda: client.state == "ready")
            asked = [client.ask(Stage.PROMPT, [text], PARTS) for text in texts_of(40)]
            assert await asyncio.to_thread(dies.began.acquire, timeout=10)
        assert set(await asyncio.gather(*asked)) == {HARMLESS}
        assert client.state == "ready"
    assert sorted(lives.judged) == sorted(texts_of(40))
    dies.release()


async def test_what_a_silent_one_was_asked_is_asked_of_the_other(paths: list[Path], two: list[Plain]) -> None:
    async with asking(paths) as client:
        await both_up(client, two)
        two[0].hold()
        asked = [client.ask(Stage.PROMPT, [text], PARTS) for text in texts_of(40)]
        assert set(await asyncio.gather(*asked)) == {HARMLESS}
        more = [client.ask(Stage.PROMPT, [f"more {text}"], PARTS) for text in texts_of(40)]
        assert set(await asyncio.gather(*more)) == {HARMLESS}
        assert two[0].judged == []
        two[0].release()
        await both_up(client, two)  # it speaks again, so it is asked again


async def test_one_that_was_silent_may_answer_when_the_other_has_died(paths: list[Path]) -> None:
    """As on a busy machine: it is slow, not hung, and the one that is asked instead is killed."""
    slow, dies = Plain(), Plain()
    async with evaluating(paths[0], {"plain": Backend(slow)}), asking(paths, seconds=10.0) as client:
        async with evaluating(paths[1], {"plain": Backend(dies)}) as docket:
            await both_up(client, [slow, dies])
            slow.hold()
            dies.hold()
            asked = [client.ask(Stage.PROMPT, [f"{text} violence"], PARTS) for text in texts_of(8)]
            await until(lambda: len(docket) == 8)  # its own, and what the silent one was asked
        slow.release()
        assert set(await asyncio.gather(*asked)) == {VIOLENT}
    dies.release()


class Mortal(asyncio.Protocol):
    """Dies by the first question."""

    deaths = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(pack(Hello()))

    def data_received(self, data: bytes) -> None:
        Mortal.deaths += 1
        self.transport.abort()


async def test_what_kills_whoever_is_asked_is_not_asked_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    server = await asyncio.get_running_loop().create_unix_server(Mortal, str(path))
    async with asking([path]) as client:
        assert await client.ask(Stage.PROMPT, ["poison"], PARTS) == FAILURE
    assert Mortal.deaths == MOST_TRIES
    server.close()


class Starting(asyncio.Protocol):
    """As one that is being started: connected, and silent."""

    transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Starting.transport = transport


async def test_what_is_asked_while_a_process_starts_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    server = await asyncio.get_running_loop().create_unix_server(Starting, str(path))
    async with asking([path], seconds=0.5, queue=10.0) as client:
        asked = client.ask(Stage.PROMPT, ["violence"], PARTS)
        await until(lambda: Starting.transport is not None)
        assert client.state == "starting"
        server.close()
        remove(path)
        async with evaluating(path, {"plain": Backend(Plain())}):
            cast(asyncio.Transport, Starting.transport).abort()
            assert await asked == VIOLENT


# Who waits


async def test_a_burst_waits_as_long_as_verdicts_keep_coming(tmp_path: Path) -> None:
    """It takes 4 s at least; the time limit and the wait are 3.5 s together."""
    path, steady = tmp_path / "a.sock", Steady(0.01)
    async with evaluating(path, {"plain": Backend(steady)}), asking([path], seconds=1.5, queue=2.0) as client:
        asked = [client.ask(Stage.PROMPT, [text], PARTS) for text in texts_of(400)]
        assert set(await asyncio.gather(*asked)) == {HARMLESS}
    assert steady.judged == texts_of(400)  # in the order of their arrival


async def test_nobody_waits_for_one_that_says_nothing(tmp_path: Path) -> None:
    path, plain = tmp_path / "a.sock", Plain()
    said: list[str] = []
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}), asking([path], seconds=0.2, queue=0.3, said=said) as client:
        asked = [client.ask(Stage.PROMPT, [text], PARTS) for text in texts_of(100)]
        assert not await done_within(0.2, asked)
        assert await done_within(2.0, asked)  # in a burst with verdicts they would wait for 4.5 s
        assert {each.result() for each in asked} == {FAILURE}
        assert client.state == "overloaded"
        await until(lambda: bool(said))
        assert said == ["texts that were not judged: 100; evaluators: overloaded"]
        plain.release()
        await judged_again(client)


async def test_how_many_went_unjudged_is_said_once_a_minute() -> None:
    said: list[str] = []
    counter = unjudged.Unjudged(said.append, lambda: "overloaded")
    counter.add(3)
    counter.add(4)
    await until(lambda: bool(said))
    counter.add(5)
    assert said == ["texts that were not judged: 7; evaluators: overloaded"]
    counter.say()  # as at the end
    assert said[1:] == ["texts that were not judged: 5; evaluators: overloaded"]
    counter.say()
    assert len(said) == 2


async def test_short_texts_do_not_wait_behind_long_ones(tmp_path: Path) -> None:
    path, steady = tmp_path / "a.sock", Steady(0.02)
    async with evaluating(path, {"plain": Backend(steady)}), asking([path]) as client:
        long = [client.ask(Stage.PROMPT, [f"{number}" + "x" * SHORT], PARTS) for number in range(60)]
        short = [client.ask(Stage.PROMPT, [f"short {number}"], PARTS) for number in range(8)]
        assert set(await asyncio.gather(*short, *long)) == {HARMLESS}  # the long ones have their turn, too
    order = [len(text) > SHORT for text in steady.judged]
    last_short = max(place for place, is_long in enumerate(order) if not is_long)
    assert sum(order[:last_short]) < 10


async def test_turns_under_way_go_before_those_that_begin(tmp_path: Path) -> None:
    path, plain = tmp_path / "a.sock", Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}), asking([path]) as client:
        prompts = [client.ask(Stage.PROMPT, [text], PARTS) for text in texts_of(200)]
        answer = client.ask(Stage.ANSWER, ["an answer"], PARTS)
        plain.release()
        await asyncio.gather(answer, *prompts)
    assert plain.judged.index("an answer") < 2 * WINDOW[PROMPTS]


def share_asked(at: float, limit: float = 1.0) -> Share:
    share = Share(1, Topic(Stage.PROMPT, []), [], (), NOTHING, lambda verdict: None, 0, FAILURE)
    share.asked, share.limit = at, limit
    return share


def test_patience_in_a_burst_and_when_more_is_asked_than_can_be_judged() -> None:
    patience = WaitEstimate(2.0)
    patience.enter(0.0)
    first = share_asked(0.0)
    for second in range(1, 30):  # verdicts keep coming
        patience.moved(float(second))
        assert not patience.is_over(first, patience.most(float(second)), float(second) + 0.5)
    assert patience.is_over(first, patience.most(29.0), 2.0 * BURST + 1.1)
    # For thirty seconds something has been waiting: from here on nobody waits longer than `queue`.
    assert patience.most(30.5) == 2.0
    assert patience.is_over(share_asked(27.0), patience.most(30.5), 30.5)
    assert not patience.is_over(share_asked(28.0), patience.most(30.5), 30.5)
    patience.leave()  # nothing waits any more: the next burst has its time
    assert patience.most(31.0) == 2.0 * BURST


def test_patience_with_what_stands_still() -> None:
    patience = WaitEstimate(2.0)
    patience.enter(0.0)
    patience.moved(5.0)
    assert not patience.is_over(share_asked(4.0), patience.most(7.9), 7.9)
    assert patience.is_over(share_asked(4.0), patience.most(8.1), 8.1)


def test_no_queue_is_no_wait() -> None:
    patience = WaitEstimate(0.0)
    assert not patience.is_over(share_asked(0.0), patience.most(0.9), 0.9)
    assert patience.is_over(share_asked(0.0), patience.most(1.1), 1.1)
