"""The line before the engine: bounded, in turn, patient for a while, and unmoved by a restart."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.engine.slot_queue import SlotQueue, SlotTicket
from antiphon.errors import OverloadError


class Guest:
    """A request that takes one slot, and keeps it until told."""

    def __init__(self, line: SlotQueue, ticket: SlotTicket | None = None) -> None:
        self.served = asyncio.Event()
        self.leave = asyncio.Event()
        self._line = line
        self._ticket = ticket
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        if self._ticket is not None:
            await self._sit(self._ticket)
            return
        async with self._line.place() as ticket:
            await self._line.up(ticket)
            await self._sit(ticket)

    async def _sit(self, ticket: SlotTicket) -> None:
        async with self._line.slot(ticket):
            self.served.set()
            await self.leave.wait()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def opened(slots: int = 1, length: int = 8, patience: float = 30.0) -> SlotQueue:
    line = SlotQueue(slots, length, patience)
    line.open()
    return line


async def test_slots_are_granted_in_the_order_of_arrival() -> None:
    line = opened(slots=2)
    guests = [Guest(line) for _ in range(4)]
    await settle()
    assert [guest.served.is_set() for guest in guests] == [True, True, False, False]
    guests[1].leave.set()
    await settle()
    assert [guest.served.is_set() for guest in guests] == [True, True, True, False]
    for guest in guests:
        guest.leave.set()
    await asyncio.gather(*(guest.task for guest in guests))


async def test_beyond_its_length_the_line_refuses_at_once_and_says_when_to_come_back() -> None:
    line = opened(slots=1, length=2)
    guests = [Guest(line) for _ in range(4)]
    await settle()
    with pytest.raises(OverloadError) as refused:
        await guests[3].task
    assert refused.value.status == 429
    assert refused.value.code == "rate_limit_exceeded"
    assert refused.value.retry_after is not None
    assert refused.value.retry_after >= 1
    assert not any(guest.task.done() for guest in guests[:3])
    for guest in guests[:3]:
        guest.leave.set()
    await asyncio.gather(*(guest.task for guest in guests[:3]))


async def test_who_has_waited_too_long_is_refused_and_takes_no_slot_later() -> None:
    line = opened(slots=1, patience=0.05)
    first = Guest(line)
    await settle()
    late = Guest(line)
    with pytest.raises(OverloadError) as refused:
        await late.task
    assert refused.value.status == 429
    first.leave.set()
    await first.task
    third = Guest(line)
    await settle()
    assert third.served.is_set()
    third.leave.set()
    await third.task


async def test_one_request_with_many_choices_does_not_keep_others_out() -> None:
    line = opened(slots=1)
    async with line.place() as ticket:
        many = [Guest(line, ticket) for _ in range(3)]
        await settle()
        other = Guest(line)
        await settle()
        many[0].leave.set()
        await settle()
        # The ticket's second choice stood in line before the other came; then it is the other's turn.
        assert [guest.served.is_set() for guest in many] == [True, True, False]
        many[1].leave.set()
        await settle()
        assert other.served.is_set()
        assert not many[2].served.is_set()
        other.leave.set()
        many[2].leave.set()
        await asyncio.gather(*(guest.task for guest in many), other.task)


async def test_further_choices_of_a_request_that_was_served_wait_as_long_as_it_takes() -> None:
    line = opened(slots=1, patience=0.05)
    other = Guest(line)
    await settle()
    async with line.place() as ticket:
        many = [Guest(line, ticket) for _ in range(2)]  # both stand in line before either is served
        await settle()
        other.leave.set()
        await other.task
        await settle()
        await asyncio.sleep(0.1)  # longer than the patience of who has not been served
        assert [guest.served.is_set() for guest in many] == [True, False]
        assert not many[1].task.done()
        many[0].leave.set()
        many[1].leave.set()
        await asyncio.gather(*(guest.task for guest in many))


async def test_a_full_line_and_a_long_wait_are_told_apart() -> None:
    line = opened(slots=1, length=1, patience=0.05)
    first, second, third = Guest(line), Guest(line), Guest(line)
    with pytest.raises(OverloadError, match="and 1 requests wait already"):
        await third.task
    with pytest.raises(OverloadError, match=r"none became free within 0\.05 s"):
        await second.task
    first.leave.set()
    await first.task


async def test_while_the_engine_is_down_nobody_is_served_and_everybody_waits() -> None:
    line = opened()
    line.close("It crashed.")
    waiting = Guest(line)
    await settle()
    assert not waiting.served.is_set()
    line.open()
    await settle()
    assert waiting.served.is_set()
    waiting.leave.set()
    await waiting.task


async def test_who_waits_too_long_for_an_engine_is_told_what_it_is_doing_not_that_it_is_busy() -> None:
    line = SlotQueue(slots=1, length=8, patience=0.05)
    with pytest.raises(OverloadError, match="starting") as refused:
        await Guest(line).task
    assert (refused.value.status, refused.value.code) == (503, "engine_unavailable")


async def test_who_stands_in_line_when_the_engine_dies_is_served_by_the_next_one() -> None:
    line = opened()
    first, second = Guest(line), Guest(line)
    await settle()
    line.close("It crashed.")
    first.leave.set()
    await settle()
    assert not second.served.is_set()
    line.open()
    await settle()
    assert second.served.is_set()
    second.leave.set()
    await asyncio.gather(first.task, second.task)


async def test_without_an_engine_everybody_is_told_why() -> None:
    line = opened()
    first, waiting = Guest(line), Guest(line)
    await settle()
    line.fail("There is no model file.")
    with pytest.raises(OverloadError, match="There is no model file"):
        await waiting.task
    with pytest.raises(OverloadError, match="There is no model file") as refused:
        await Guest(line).task
    assert (refused.value.status, refused.value.code) == (503, "engine_unavailable")
    first.leave.set()
    await first.task
    line.open()
    again = Guest(line)
    await settle()
    assert again.served.is_set()
    again.leave.set()
    await again.task


async def test_a_guest_that_goes_away_leaves_nothing_behind() -> None:
    line = opened(slots=1, length=1)
    first, waiting = Guest(line), Guest(line)
    await settle()
    waiting.task.cancel()
    await settle()
    next_one = Guest(line)  # the place in line is free again
    await settle()
    assert not next_one.task.done()
    first.task.cancel()
    await settle()
    assert next_one.served.is_set()
    next_one.leave.set()
    await next_one.task


async def test_a_slot_granted_to_one_that_leaves_in_the_same_moment_is_not_lost() -> None:
    line = opened(slots=1)
    first, second, third = Guest(line), Guest(line), Guest(line)
    await settle()
    first.leave.set()
    await asyncio.sleep(0)
    second.task.cancel()
    await settle()
    assert third.served.is_set()
    third.leave.set()
    await third.task
