"""The evaluator process as a worker sees it: answers, deaths, silence, bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.evaluators import client as room
from antiphon.evaluators.backends import PIECE, Backend
from antiphon.evaluators.client import LARGE, EvaluatorClient
from antiphon.evaluators.link import WINDOW
from antiphon.evaluators.share import PROMPTS
from antiphon.evaluators.wire import LARGEST, MOST_TEXTS
from antiphon.safety.verdict import FAILURE, LATE, OVER_LENGTH, Stage
from tests.support.evaluators import HARMLESS, VIOLENT, Plain, done_within, evaluating, judged_again, remove
from tests.support.process import until

PARTS = ["plain"]
SECONDS = 10.0  # patience of a client that is to be answered


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "e.sock"


@pytest.fixture
async def said() -> list[str]:
    return []


@pytest.fixture
async def client(path: Path, said: list[str]) -> AsyncIterator[EvaluatorClient]:
    client = EvaluatorClient([str(path)], SECONDS, said.append)
    client.start()
    yield client
    await client.close()


async def test_a_question_becomes_its_verdict(client: EvaluatorClient, path: Path) -> None:
    async with evaluating(path, {"plain": Backend(Plain())}):
        assert client.state == "starting"
        assert await client.ask(Stage.PROMPT, ["violence"], PARTS) == VIOLENT
        answers = [client.ask(Stage.ANSWER, [f"{n} violence" if n % 3 else f"{n}"], PARTS) for n in range(100)]
        verdicts = await asyncio.gather(*answers)
        assert verdicts == [VIOLENT if n % 3 else HARMLESS for n in range(100)]
        assert client.state == "ready"


async def test_what_could_not_be_loaded_is_told(client: EvaluatorClient, path: Path) -> None:
    async with evaluating(path, {}, "The evaluator 'embedded' cannot be loaded: no."):
        assert await client.ask(Stage.PROMPT, ["x"], PARTS) == FAILURE
        assert client.state == "The evaluator 'embedded' cannot be loaded: no."


async def test_silence_is_a_failure_within_the_time_limit(path: Path, said: list[str]) -> None:
    plain = Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}):
        client = EvaluatorClient([str(path)], 0.3, said.append)
        client.start()
        await until(lambda: client.state == "ready")
        first, second = (client.ask(Stage.PROMPT, [text], PARTS) for text in ("violence", "x"))
        assert await done_within(1.0, [first, second])
        assert [first.result(), second.result()] == [FAILURE, FAILURE]
        plain.release()
        await until(lambda: "violence" in plain.judged)  # its late answer is heard by nobody
        await judged_again(client)
        await client.close()


async def test_a_longer_text_has_more_time(path: Path, said: list[str]) -> None:
    """Else whoever writes enough would not be judged at all."""
    plain = Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}):
        client = EvaluatorClient([str(path)], 0.1, said.append)
        client.start()
        long = client.ask(Stage.PROMPT, ["long " * 200_000 + "violence"], PARTS)
        assert await client.ask(Stage.PROMPT, ["short"], PARTS) == FAILURE
        assert not long.done()
        plain.release()
        assert await long == VIOLENT
        await client.close()


async def test_a_process_that_goes_fails_what_waits_and_its_successor_answers(path: Path, said: list[str]) -> None:
    """What waits may be asked of the successor, within its time."""
    plain = Plain()
    plain.hold()
    client = EvaluatorClient([str(path)], 1.0, said.append)
    client.start()
    async with evaluating(path, {"plain": Backend(plain)}):
        waiting = client.ask(Stage.PROMPT, ["x"], PARTS)
        await asyncio.to_thread(plain.began.acquire)
    assert await waiting == FAILURE
    assert client.state == "starting"
    plain.release()
    async with evaluating(path, {"plain": Backend(Plain())}):
        await until(lambda: client.state != "starting")  # "overloaded" for a while, because a text was not judged
        await judged_again(client)
    await client.close()


async def test_nobody_there_is_a_failure_and_said_once(client: EvaluatorClient, said: list[str]) -> None:
    assert await client.ask(Stage.PROMPT, ["x"], PARTS) == FAILURE
    assert await client.ask(Stage.PROMPT, ["x"], PARTS) == FAILURE
    assert said == ["the evaluator process cannot be reached: No such file or directory"]


async def test_a_question_given_up_is_forgotten(client: EvaluatorClient, path: Path) -> None:
    plain = Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}):
        gone = client.ask(Stage.PROMPT, ["gone"], PARTS)
        stays = client.ask(Stage.PROMPT, ["violence"], PARTS)
        gone.cancel()
        plain.release()
        assert await stays == VIOLENT
        assert gone.cancelled()


async def test_what_waits_is_bounded_and_all_of_it_is_judged(client: EvaluatorClient, path: Path) -> None:
    plain = Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}):
        waiting = [client.ask(Stage.PROMPT, [f"{number}"], PARTS) for number in range(room.MOST_WAITING)]
        refused = client.ask(Stage.PROMPT, ["x"], PARTS)
        assert refused.done()
        assert await refused == FAILURE
        plain.release()
        assert set(await asyncio.gather(*waiting)) == {HARMLESS}
        assert await client.ask(Stage.PROMPT, ["x"], PARTS) == HARMLESS


async def test_thousands_of_texts_asked_for_in_slices(client: EvaluatorClient, path: Path) -> None:
    """As /v1/moderations does: it takes 2,048 inputs, more than may wait here or there."""
    async with evaluating(path, {"plain": Backend(Plain())}):
        for start in range(0, 2048, 64):
            texts = [f"violence {number}" for number in range(start, start + 64)]
            verdicts = await asyncio.gather(*(client.ask(Stage.PROMPT, [text], PARTS) for text in texts))
            assert verdicts == [VIOLENT] * 64


async def test_a_text_too_long_for_a_frame_is_a_failure_at_once(client: EvaluatorClient, path: Path) -> None:
    async with evaluating(path, {"plain": Backend(Plain())}):
        assert client.ask(Stage.PROMPT, ["x" * LARGEST], PARTS).result() == OVER_LENGTH
        assert client.ask(Stage.PROMPT, ["x"] * (MOST_TEXTS + 1), PARTS).result() == OVER_LENGTH
        assert await client.ask(Stage.PROMPT, ["violence"], PARTS) == VIOLENT


async def test_a_long_text_without_time_says_that_its_length_is_to_blame(
    client: EvaluatorClient, path: Path, said: list[str]
) -> None:
    """Of many long texts at once some are judged, the others are late; those that are short are neither."""
    plain = Plain()
    async with evaluating(path, {"plain": Backend(plain, PIECE)}):
        plain.hold()
        impatient = EvaluatorClient([str(path)], 0.3, said.append)
        impatient.start()
        long = [impatient.ask(Stage.PROMPT, [f"{number}" + "x" * LARGE], PARTS) for number in range(4)]
        short = impatient.ask(Stage.PROMPT, ["short"], PARTS)
        assert await short == FAILURE
        assert [await asyncio.wait_for(each, 30) for each in long] == [LATE] * 4
        await impatient.close()
        plain.release()
        assert await client.ask(Stage.PROMPT, ["violence" + "x" * LARGE], PARTS) == VIOLENT


async def test_a_process_that_ends_is_a_plain_failure_of_long_texts_too(client: EvaluatorClient, path: Path) -> None:
    plain = Plain()
    async with evaluating(path, {"plain": Backend(plain)}):
        plain.hold()
        asked = client.ask(Stage.PROMPT, ["x" * (LARGE + 1)], PARTS)
        assert await asyncio.to_thread(plain.began.acquire, timeout=5)
        await client.close()
        assert await asked == FAILURE
        plain.release()


async def test_nonsense_from_the_other_side_is_a_failure(client: EvaluatorClient, path: Path, said: list[str]) -> None:
    connected = asyncio.Event()

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        writer.write(b"\x00\x00\x00\x02{}")
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(babble, path)
    await connected.wait()
    await until(lambda: "the evaluator process said what cannot be read: ValidationError" in said)
    asked = client.ask(Stage.PROMPT, ["x"], PARTS)
    server.close()
    remove(path)
    assert await asked == FAILURE


class Odd(str):
    """A text that cannot be encoded, as by a mistake in our own code."""

    __slots__ = ()


@pytest.fixture
async def faults() -> list[object]:
    """What was logged as a fault of our own."""
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))
    return faults


async def test_a_text_that_cannot_be_sent_is_the_fault_of_who_asks(client: EvaluatorClient, path: Path) -> None:
    async with evaluating(path, {"plain": Backend(Plain())}):
        await until(lambda: client.state == "ready")
        for _ in range(room.MOST_WAITING + 1):  # nothing of it stays
            with pytest.raises(TypeError):
                client.ask(Stage.PROMPT, [Odd("x")], PARTS)
        assert await client.ask(Stage.PROMPT, ["violence"], PARTS) == VIOLENT
        assert client.state == "ready"


async def test_a_text_that_cannot_be_sent_later_fails_alone(
    client: EvaluatorClient, path: Path, faults: list[object]
) -> None:
    plain = Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}):
        first = [client.ask(Stage.PROMPT, [f"{number}"], PARTS) for number in range(WINDOW[PROMPTS])]
        await until(lambda: client.state == "ready")
        odd = [client.ask(Stage.PROMPT, [Odd(f"odd {number}")], PARTS) for number in range(3)]
        last = client.ask(Stage.PROMPT, ["violence"], PARTS)
        plain.release()
        async with asyncio.timeout(SECONDS / 2):
            assert set(await asyncio.gather(*first)) == {HARMLESS}
            assert await last == VIOLENT
            assert await asyncio.gather(*odd) == [FAILURE] * 3
        assert [type(fault) for fault in faults] == [TypeError] * 3


async def test_closed_it_fails_what_waits(path: Path, said: list[str]) -> None:
    plain = Plain()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain)}):
        client = EvaluatorClient([str(path)], SECONDS, said.append)
        client.start()
        waiting = client.ask(Stage.PROMPT, ["x"], PARTS)
        await asyncio.to_thread(plain.began.acquire)
        await client.close()
        assert await waiting == FAILURE
        assert await client.ask(Stage.PROMPT, ["x"], PARTS) == FAILURE
        plain.release()
