"""What waits in the evaluator process: turns, bounds, time limits, memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from antiphon.evaluators import scheduler as room
from antiphon.evaluators.backends import OVERLAP, Backend, load_all
from antiphon.evaluators.scheduler import Scheduler
from antiphon.evaluators.verdict_cache import VerdictCache, digest
from antiphon.evaluators.wire import LONGEST_EARLY, MOST_EACH, MOST_TEXTS, Ask, EarlyAsk, Told
from antiphon.safety.verdict import FAILED, FAILURE, NOTHING, Stage
from tests.support.evaluators import HARMLESS, VIOLENT, Plain

LONG = 60.0  # seconds: nothing here takes so long


class Desk:
    """Asks a docket, and waits for its answers."""

    def __init__(self, plain: Plain, piece: int | None = None) -> None:
        self.said: list[str] = []
        self.docket = Scheduler({"plain": Backend(plain, piece)}, self.said.append)
        self._last = 0

    def ask(
        self, *texts: str, stage: Stage = Stage.PROMPT, seconds: float = LONG, parts: tuple[str, ...] = ("plain",)
    ) -> asyncio.Future[Told]:
        future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._last += 1
        self.docket.take(Ask(self._last, stage, list(texts), list(parts), seconds), future.set_result)
        return future


@pytest.fixture
def plain() -> Plain:
    return Plain()


@pytest.fixture
async def desk(plain: Plain) -> AsyncIterator[Desk]:
    desk = Desk(plain)
    yield desk
    plain.release()
    desk.docket.close()


async def begun(plain: Plain) -> None:
    assert await asyncio.to_thread(plain.began.acquire, timeout=10)


async def test_the_worst_text_counts(desk: Desk) -> None:
    assert (await desk.ask("all is well", "some violence")).verdict == VIOLENT
    assert (await desk.ask("all is well")).verdict == HARMLESS


async def test_what_was_judged_before_is_answered_at_once(desk: Desk, plain: Plain) -> None:
    await desk.ask("a", "b violence")
    again = desk.ask("a", "b violence")
    assert again.done()
    assert (await again).verdict == VIOLENT
    assert plain.judged == ["a", "b violence"]
    await desk.ask("a", stage=Stage.ANSWER)  # the other side is another question
    assert plain.judged == ["a", "b violence", "a"]


async def test_no_text_is_nothing(desk: Desk) -> None:
    assert (await desk.ask()).verdict == NOTHING


async def test_questions_gather_while_the_thread_computes(desk: Desk, plain: Plain) -> None:
    plain.hold()
    first = desk.ask("first")
    await begun(plain)
    others = [desk.ask(f"text {number}") for number in range(5)]
    plain.release()
    assert all(told.verdict == HARMLESS for told in await asyncio.gather(first, *others))
    assert plain.batches == [1, 5]


async def test_the_same_text_asked_twice_at_once_is_judged_once(desk: Desk, plain: Plain) -> None:
    plain.hold()
    desk.ask("first")
    await begun(plain)
    long = desk.ask(*(f"x{number}" for number in range(room.BATCH_PIECES)), "same")
    other = desk.ask("same")
    plain.release()
    await asyncio.gather(long, other)
    assert plain.judged.count("same") == 1


async def test_a_long_question_does_not_keep_short_ones_waiting(desk: Desk, plain: Plain) -> None:
    plain.hold()
    long = desk.ask(*(f"{number} " * 1000 for number in range(50)))
    await begun(plain)
    short = desk.ask("short")
    plain.release()
    await short
    assert not long.done()
    assert plain.judged.index("short") < 5
    await long


async def test_between_two_pieces_of_a_long_text_short_ones_have_their_turn(plain: Plain) -> None:
    desk = Desk(plain, piece=room.BATCH_CHARACTERS)
    plain.hold()
    long = desk.ask("".join(chr(0x4E00 + number % 5000) for number in range(5 * room.BATCH_CHARACTERS)))
    await begun(plain)
    shorts = [desk.ask(f"short {number}") for number in range(3)]
    plain.release()
    await asyncio.gather(*shorts)
    assert plain.batches[:2] == [1, 3]  # not with the next long piece, for which they would have to wait
    assert not long.done()
    await long
    desk.docket.close()


async def test_short_questions_do_not_keep_a_long_one_waiting_for_ever(plain: Plain) -> None:
    desk = Desk(plain, piece=room.BATCH_CHARACTERS)
    plain.hold()
    long = desk.ask("".join(chr(0x4E00 + number) for number in range(2 * room.BATCH_CHARACTERS - OVERLAP)))
    await begun(plain)
    shorts = [desk.ask(f"short {number}") for number in range(room.BATCH_PIECES * (room.MOST_PASSED + 3))]
    plain.release()
    await long
    assert plain.batches[: room.MOST_PASSED + 2] == [1, *[room.BATCH_PIECES] * room.MOST_PASSED, 1]
    await asyncio.gather(*shorts)
    desk.docket.close()


async def test_beyond_the_bound_the_answer_is_overloaded_at_once(desk: Desk, plain: Plain) -> None:
    plain.hold()
    waiting = [desk.ask(f"text {number}") for number in range(room.MOST_WAITING)]
    assert not any(future.done() for future in waiting)
    refused = desk.ask("one more")
    assert refused.done()
    assert (await refused).overloaded
    assert (await refused).verdict.error == FAILED
    plain.release()
    assert all(told.verdict == HARMLESS for told in await asyncio.gather(*waiting))
    assert len(desk.docket) == 0
    assert (await desk.ask("one more")).verdict == HARMLESS


async def test_texts_that_wait_are_bounded_in_size(desk: Desk, plain: Plain) -> None:
    plain.hold()
    half = desk.ask("a" * (room.MOST_CHARACTERS // 2 + 1))
    refused = desk.ask("b" * (room.MOST_CHARACTERS // 2))
    assert (await refused).overloaded
    plain.release()
    assert (await half).verdict == HARMLESS


async def test_too_many_texts_are_not_judged(desk: Desk) -> None:
    assert (await desk.ask(*["x"] * (MOST_TEXTS + 1))).verdict == FAILURE


async def test_when_the_time_is_over_what_was_found_counts(desk: Desk, plain: Plain) -> None:
    await desk.ask("violence")
    plain.hold()
    found = await desk.ask("violence", "one", "two", seconds=0.02)  # in the thread's hands, which does not come back
    assert found.verdict == VIOLENT | FAILURE
    assert len(desk.docket) == 0
    plain.release()
    assert (await desk.ask("three")).verdict == HARMLESS


async def test_what_nobody_waits_for_any_more_is_not_judged(desk: Desk, plain: Plain) -> None:
    plain.hold()
    desk.ask("first")
    await begun(plain)
    assert (await desk.ask("never judged", seconds=0.01)).verdict == FAILURE
    plain.release()
    await desk.ask("last")
    assert plain.judged == ["first", "last"]


async def test_what_is_not_loaded_fails_and_the_others_count(desk: Desk) -> None:
    told = await desk.ask("violence", parts=("plain", "missing"))
    assert told.verdict == VIOLENT | FAILURE


async def test_a_part_that_raises_fails_its_batch_and_is_blamed_once(desk: Desk, plain: Plain) -> None:
    assert (await desk.ask("raise")).verdict == FAILURE
    assert (await desk.ask("raise again")).verdict == FAILURE
    assert desk.said == ["antiphon: the evaluator 'plain' failed: RuntimeError"]
    assert (await desk.ask("violence")).verdict == VIOLENT
    assert (await desk.ask("raise")).verdict == FAILURE  # a failure is not remembered
    assert plain.judged.count("raise") == 2


async def test_long_texts_are_cut_into_pieces_that_overlap(plain: Plain) -> None:
    desk = Desk(plain, piece=1000)
    text = "".join(chr(0x4E00 + number) for number in range(2500))
    await desk.ask(text)
    first, second, third = plain.judged
    assert first == text[:1000]
    assert second == text[1000 - OVERLAP : 2000 - OVERLAP]
    assert third == text[2000 - 2 * OVERLAP :]
    desk.docket.close()


async def test_several_texts_are_told_apart(desk: Desk) -> None:
    told = await desk.ask("all is well", "some violence", "fine")
    assert told.each == [HARMLESS, VIOLENT, HARMLESS]
    assert (await desk.ask("some violence", "all is well")).each == [VIOLENT, HARMLESS]  # also from memory
    assert (await desk.ask("one text")).each is None
    assert (await desk.ask(*(f"t{number}" for number in range(MOST_EACH + 1)))).each is None


async def test_what_failed_is_not_told_apart(desk: Desk) -> None:
    assert (await desk.ask("all is well", "some violence", parts=("plain", "missing"))).each is None


def shown(text: str, *parts: str) -> EarlyAsk:
    return EarlyAsk(1, text, list(parts))


async def test_an_early_look_asks_each_part(plain: Plain) -> None:
    ends_in_a = Backend(plain, early=lambda text: text.endswith("a"))
    ends_in_b = Backend(plain, early=lambda text: text.endswith("b"))
    docket = Scheduler({"a": ends_in_a, "b": ends_in_b, "none": Backend(plain)}, lambda line: None)
    assert docket.early_parts == ["a", "b"]
    assert [docket.look_early(shown(text, "a", "b")) for text in ("xa", "xb", "xc")] == [True, True, False]
    assert not docket.look_early(shown("xb", "a"))
    docket.close()


async def test_an_early_look_that_cannot_be_had_is_risky(plain: Plain) -> None:
    def fails(text: str) -> bool:
        raise RuntimeError("as asked")

    said: list[str] = []
    parts = {
        "calm": Backend(plain, early=lambda text: False),
        "none": Backend(plain),
        "fails": Backend(plain, early=fails),
    }
    docket = Scheduler(parts, said.append)
    assert not docket.look_early(shown("x", "calm"))
    assert docket.look_early(shown("x", "calm", "none"))
    assert docket.look_early(shown("x", "calm", "missing"))
    assert docket.look_early(shown("x", "calm", "fails"))
    assert docket.look_early(shown("x" * (LONGEST_EARLY + 1), "calm"))
    assert said == ["antiphon: the evaluator 'fails' failed: RuntimeError"]
    docket.close()


async def test_an_early_look_does_not_wait_for_the_thread(plain: Plain) -> None:
    docket = Scheduler({"plain": Backend(plain, early=lambda text: False)}, lambda line: None)
    plain.hold()
    docket.take(Ask(1, Stage.ANSWER, ["held"], ["plain"], LONG), lambda told: None)
    await begun(plain)
    assert not docket.look_early(shown("x", "plain"))
    plain.release()
    docket.close()


def test_memory_forgets_what_was_not_needed_longest() -> None:
    memory = VerdictCache(2)
    keys = [digest(Stage.PROMPT, text) for text in "abc"]
    memory.keep(keys[0], HARMLESS)
    memory.keep(keys[1], VIOLENT)
    assert memory.find(keys[0]) == HARMLESS
    memory.keep(keys[2], HARMLESS)
    assert memory.find(keys[1]) is None
    assert memory.find(keys[0]) == HARMLESS
    assert len(memory) == 2
    assert digest(Stage.ANSWER, "a") != keys[0]


def test_what_cannot_be_loaded_is_named_and_the_rest_works() -> None:
    loads: list[int] = []

    def load() -> Backend:
        loads.append(1)
        return Backend(Plain())

    def broken() -> Backend:
        raise ImportError("No module named 'onnxruntime'")

    parts, faults = load_all({"a": load, "b": broken, "c": load})
    assert set(parts) == {"a", "c"}
    assert parts["a"] is parts["c"]
    assert len(loads) == 1
    assert faults == ["The evaluator 'b' cannot be loaded: ImportError: No module named 'onnxruntime'"]
