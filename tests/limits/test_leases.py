"""Limits that machines share, with a real Valkey: exact together, and what happens when it or a machine is gone."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from antiphon.limits import central
from antiphon.limits.leases import TTL, LeasedLimiter
from antiphon.limits.limit import Caller, Cost, Limit, Refused
from antiphon.limits.limiter import Hold
from antiphon.limits.resp import parse_url
from antiphon.limits.table import LimitTable, create
from tests.limits.processes import fork
from tests.limits.valkey import Valkey

ALICE = Caller("alice")
DEADLINE = 30.0


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path)
    server.start()
    yield server
    server.stop()


Machines = Callable[..., LeasedLimiter]


@pytest.fixture
async def machine(tmp_path: Path, valkey: Valkey) -> AsyncIterator[Machines]:
    """Makes a worker of a machine; one with the same name is another worker of the same machine."""
    made: list[LeasedLimiter] = []
    paths: set[str] = set()

    def make(name: str, *limits: Limit, worker: int = 0, is_open: bool = False, ttl: int = TTL) -> LeasedLimiter:
        path = str(tmp_path / name)
        if path not in paths:
            create(path, 4, rows=64, leased=True)
        paths.add(path)
        limiter = LeasedLimiter(LimitTable(path), worker, limits, parse_url(valkey.url), is_open=is_open, ttl=ttl)
        made.append(limiter)
        return limiter

    yield make
    for limiter in made:
        await limiter.close()
        limiter.table.close()


async def admit(limiter: LeasedLimiter, cost: Cost, caller: Caller = ALICE) -> Hold | Refused:
    """As a turn does it."""
    result = limiter.admit(caller, "m", cost)
    if isinstance(result, Refused) and result.may_wait:
        result = await limiter.admit_later(caller, "m", cost)
    return result


async def must(limiter: LeasedLimiter, cost: Cost, caller: Caller = ALICE) -> Hold:
    result = await admit(limiter, cost, caller)
    assert isinstance(result, Hold), result
    return result


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_twenty_at_once_over_machines_and_workers_are_six(machine: Machines) -> None:
    limit = Limit("a", total=500)
    workers = [machine("one", limit), machine("one", limit, worker=1), machine("two", limit), machine("three", limit)]
    results = await asyncio.gather(*(admit(workers[at % 4], Cost(money=75)) for at in range(20)))
    assert sum(isinstance(result, Hold) for result in results) == 6
    refused = [result for result in results if isinstance(result, Refused)]
    assert {each.measure for each in refused} == {"total"}
    assert refused[0].error("m").code == "insufficient_quota"


@pytest.mark.parametrize("cost", [1, 3, 7, 10, 33, 120])
async def test_whatever_it_costs_the_last_unit_is_found(machine: Machines, cost: int) -> None:
    """Slices that one machine does not use are recalled for the other."""
    one, two = machine("one", Limit("a", total=500)), machine("two", Limit("a", total=500))
    for limiter in (one, two):
        await must(limiter, Cost(money=cost))
    granted = 2
    while isinstance(await admit(two, Cost(money=cost)), Hold):
        granted += 1
    assert granted == 500 // cost


async def test_most_turns_ask_nobody(machine: Machines) -> None:
    limiter = machine("one", Limit("a", requests_per_minute=10_000, tokens_per_minute=10_000_000, total=10**9))
    waited = 0
    for _ in range(500):
        result = limiter.admit(ALICE, "m", Cost(50, 50, 100))
        if isinstance(result, Refused):
            waited += 1
            result = await limiter.admit_later(ALICE, "m", Cost(50, 50, 100))
        assert isinstance(result, Hold)
        result.settle(Cost(50, 20, 70))
        await asyncio.sleep(0)
    assert waited < 100


async def test_what_was_not_used_comes_back_to_all(machine: Machines) -> None:
    one, two = machine("one", Limit("a", total=100)), machine("two", Limit("a", total=100))
    hold = await must(one, Cost(money=100))
    assert isinstance(await admit(two, Cost(money=1)), Refused)
    hold.settle(Cost(money=30))
    await must(two, Cost(money=70))
    assert isinstance(await admit(one, Cost(money=1)), Refused)


async def test_every_measure_is_shared(machine: Machines) -> None:
    cases = [
        (Limit("r", requests_per_minute=4), Cost()),
        (Limit("i", input_tokens_per_minute=40), Cost(10, 0)),
        (Limit("o", output_tokens_per_minute=40), Cost(0, 10)),
        (Limit("t", tokens_per_minute=40), Cost(5, 5)),
        (Limit("c", concurrent=4), Cost()),
        (Limit("d", day=40), Cost(money=10)),
        (Limit("m", month=40), Cost(money=10)),
    ]
    for limit, cost in cases:
        one, two = machine("one", limit), machine("two", limit)
        for limiter in (one, two, one, two):
            await must(limiter, cost)
        refused = await admit(one, cost)
        assert isinstance(refused, Refused)
        assert getattr(limit, refused.measure) == refused.most
        assert (refused.wait is None) == (refused.measure in ("day", "month"))


async def test_an_idle_machine_returns_its_slice(machine: Machines) -> None:
    one, two = machine("one", Limit("a", total=1000)), machine("two", Limit("a", total=1000))
    (await must(one, Cost(money=100))).settle(Cost(money=100))
    (row,) = one._leased.values()

    async def returned() -> bool:
        await one.look_after()
        reading = row.look(one.table.memory)
        return reading.balances()[7] == 0 and reading.acknowledged == reading.spent

    await until(returned)
    await must(two, Cost(money=900))


async def test_a_stream_is_extended_from_the_counters(machine: Machines) -> None:
    one, two = machine("one", Limit("a", total=100)), machine("two", Limit("a", total=100))
    hold = await must(one, Cost(0, 10, 30))
    assert await hold.extend_later(Cost(0, 10, 30), Cost(0, 10, 30)) is None
    await must(two, Cost(0, 1, 40))
    refused = await hold.extend_later(Cost(0, 20, 60), Cost(0, 10, 30))
    assert refused is not None
    assert refused.measure == "total"
    hold.settle(Cost(0, 20, 60))
    assert isinstance(await admit(two, Cost(money=1)), Refused)


async def test_a_machine_that_is_gone_leaves_nothing_behind(machine: Machines) -> None:
    limit = Limit("a", total=100)
    one, two = machine("one", limit, ttl=1_000_000), machine("two", limit, ttl=1_000_000)
    await must(one, Cost(money=80))
    assert isinstance(await admit(two, Cost(money=50)), Refused)
    one.client.close()  # it never comes back

    async def free() -> bool:
        return isinstance(await admit(two, Cost(money=50)), Hold)

    await until(free)


async def test_a_dead_worker_holds_nothing_and_its_machine_goes_on(machine: Machines) -> None:
    limit = Limit("a", total=100, concurrent=1)
    dead, other = machine("one", limit), machine("one", limit, worker=1)
    await must(dead, Cost(money=100))
    assert isinstance(await admit(other, Cost(money=1)), Refused)
    assert other.table.release(0)
    await must(other, Cost(money=100))


# The counters are gone


async def test_closed_without_the_counters(machine: Machines, valkey: Valkey) -> None:
    limiter = machine("one", Limit("a", total=1000, concurrent=100))
    await must(limiter, Cost(money=100))
    valkey.stop()
    refused = await admit(limiter, Cost(money=500))
    assert isinstance(refused, Refused)
    error = refused.error("m")
    assert (error.status, error.retry_after) == (503, 1)
    valkey.start()

    async def back() -> bool:
        return isinstance(await admit(limiter, Cost(money=500)), Hold)

    await until(back)


async def test_what_was_leased_goes_on_without_them(machine: Machines, valkey: Valkey) -> None:
    limiter = machine("one", Limit("a", total=100_000))
    await must(limiter, Cost(money=10))
    valkey.stop()
    await must(limiter, Cost(money=10))


async def test_open_without_the_counters_is_a_part_for_each_machine(machine: Machines, valkey: Valkey) -> None:
    limit = Limit("a", concurrent=8, total=1000)
    one, two = machine("one", limit, is_open=True), machine("two", limit, is_open=True)
    for limiter in (one, two, one):
        (await must(limiter, Cost(money=1))).settle(Cost(money=1))
        await limiter.return_all()
    assert one.holders == 2
    valkey.stop()
    holds = [await admit(one, Cost(money=10)) for _ in range(8)]
    admitted = [hold for hold in holds if isinstance(hold, Hold)]
    assert len(admitted) == 4
    for hold in admitted:
        hold.settle(Cost(money=10))
    valkey.start()

    async def told() -> bool:
        """What was spent meanwhile is in the counters."""
        await one.return_all()
        return next(iter(one._known.values()))[2][7] >= 40

    await until(told)


async def test_a_flush_does_not_forget_a_budget(machine: Machines) -> None:
    limiter = machine("one", Limit("a", total=100))
    (await must(limiter, Cost(money=90))).settle(Cost(money=90))
    await limiter.return_all()
    assert await limiter.client.call("FLUSHALL") == "OK"
    assert isinstance(await admit(limiter, Cost(money=11)), Refused)
    await must(limiter, Cost(money=10))


async def test_after_a_flush_what_is_held_is_reserved_anew(machine: Machines) -> None:
    limit = Limit("a", total=100)
    one, two = machine("one", limit, ttl=2_000_000), machine("two", limit)
    hold = await must(one, Cost(money=60))
    (row,) = one._leased.values()
    await one.client.call("FLUSHALL")
    before = row.look(one.table.memory).until

    async def renewed() -> bool:
        await one.look_after()
        return row.look(one.table.memory).until > before

    await until(renewed)
    assert isinstance(await admit(two, Cost(money=41)), Refused)
    await must(two, Cost(money=40))
    hold.settle(Cost(money=60))


async def test_a_script_flush_is_no_outage(machine: Machines) -> None:
    limiter = machine("one", Limit("a", total=100))
    await must(limiter, Cost(money=10))
    await limiter.client.call("SCRIPT", "FLUSH")
    await must(limiter, Cost(money=90))


async def test_stopped_counters_are_an_outage_and_their_late_answer_is_not_believed(
    machine: Machines, valkey: Valkey
) -> None:
    limit = Limit("a", total=500)
    one, two = machine("one", limit), machine("two", limit)
    await must(one, Cost(money=75))
    valkey.signal(signal.SIGSTOP)
    refused = await admit(one, Cost(money=150))
    assert isinstance(refused, Refused)
    assert refused.measure == "outage"
    valkey.signal(signal.SIGCONT)  # and now it answers what nobody waits for
    granted = 1

    async def over() -> bool:
        nonlocal granted
        for limiter in (one, two):
            result = await admit(limiter, Cost(money=75))
            granted += isinstance(result, Hold)
            if isinstance(result, Refused) and result.measure == "total" and granted >= 6:
                return True
        return False

    await until(over)
    assert granted == 6


async def test_what_is_being_given_back_is_not_used_any_more(machine: Machines, valkey: Valkey) -> None:
    """Also while nobody knows whether it has arrived."""
    limiter = machine("one", Limit("a", total=100_000))
    (await must(limiter, Cost(money=10))).settle(Cost(money=10))
    valkey.signal(signal.SIGSTOP)
    giving = asyncio.ensure_future(limiter.return_all())
    await asyncio.sleep(0)
    refused = limiter.admit(ALICE, "m", Cost(money=10))
    assert isinstance(refused, Refused)
    assert refused.measure == "lease"
    valkey.signal(signal.SIGCONT)
    await giving


async def test_an_exchange_that_comes_late_changes_nothing(machine: Machines) -> None:
    limiter = machine("one", Limit("a", total=100))
    hold = await must(limiter, Cost(money=10))
    (row,) = limiter._leased.values()
    begun = limiter._begin(row, "need", (0, 0, 0, 0, 0, 50, 50, 50))
    assert begun is not None
    late = begun[0]._replace(number=1)  # sent before the first one, held up on the way
    reply = await limiter.client.run_script(central.DIGEST, central.SCRIPT, late.key, *late.arguments())
    assert central.read_answer(reply).status == central.STALE
    assert await limiter._end(row, begun[0].number, b"")
    hold.settle(Cost(money=10))
    await must(machine("two", Limit("a", total=100)), Cost(money=90))


async def test_a_wrong_password_is_an_outage_that_tells_nothing(tmp_path: Path) -> None:
    server = Valkey(tmp_path, "--requirepass", "right")
    server.start()
    try:
        create(str(tmp_path / "table"), 1, rows=64, leased=True)
        told: list[str] = []
        limits = (Limit("a", total=100),)
        url = f"unix://:hunter2@{server.path}"
        limiter = LeasedLimiter(LimitTable(str(tmp_path / "table")), 0, limits, parse_url(url), report=told.append)
        assert isinstance(await admit(limiter, Cost(money=1)), Refused)
        assert told == ["the counters of limits do not answer: ReplyError"]
        limiter = LeasedLimiter(
            LimitTable(str(tmp_path / "table")), 0, limits, parse_url(url.replace("hunter2", "right"))
        )
        await must(limiter, Cost(money=1))
        await limiter.close()
    finally:
        server.stop()


async def test_what_a_machine_spent_before_it_was_killed_is_told_after_its_restart(
    machine: Machines, tmp_path: Path
) -> None:
    limit = Limit("a", total=100)
    one, two = machine("one", limit, ttl=1_000_000), machine("two", limit, ttl=1_000_000)
    (await must(one, Cost(money=60))).settle(Cost(money=60), 1)  # nobody was told
    await must(one, Cost(money=40))  # and this turn was cut
    assert create(str(tmp_path / "one"), 4, rows=64, leased=True) is False
    one = machine("one", limit, ttl=1_000_000)
    await must(one, Cost(money=40))

    async def told() -> bool:
        return isinstance(await admit(two, Cost(money=1)), Refused)

    await until(told)


def spend_all(path: str, url: str, seed: int, told: int) -> None:
    """A machine: turns at random until the budget refuses one."""
    dice = random.Random(seed)

    async def turn(limiter: LeasedLimiter) -> bool:
        cost = dice.randrange(1, 50)
        hold = await admit(limiter, Cost(money=cost))
        if isinstance(hold, Refused):
            assert hold.measure == "total", hold
            return False
        await asyncio.sleep(dice.random() * 0.005)
        actual = dice.randrange(cost + 1)
        hold.settle(Cost(money=actual))
        os.write(told, struct.pack("=q", actual))
        return True

    async def work() -> None:
        limiter = LeasedLimiter(LimitTable(path), 0, (Limit("a", total=20_000),), parse_url(url))

        async def turns() -> None:
            while await turn(limiter):
                pass

        keeper = asyncio.ensure_future(limiter.run())
        await asyncio.gather(*(turns() for _ in range(5)))
        keeper.cancel()
        await limiter.close()

    uvloop.run(work())  # as workers do


def test_four_machines_spend_a_budget_to_the_end_and_not_beyond(tmp_path: Path, valkey: Valkey) -> None:
    read, write = os.pipe()
    pids = []
    for number in range(4):
        path = str(tmp_path / f"machine{number}")
        create(path, 1, rows=64, leased=True)
        pids.append(fork(lambda path=path, number=number: spend_all(path, valkey.url, number, write)))  # type: ignore[misc]
    os.close(write)
    spent = b"".join(iter(lambda: os.read(read, 65536), b""))
    os.close(read)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    total = sum(amount for (amount,) in struct.iter_unpack("=q", spent))
    assert 20_000 - 50 < total <= 20_000
