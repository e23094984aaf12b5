"""A limit on the calls that run at a time: the others wait in order, not for ever; each end of a call frees a place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from antiphon.http.client import Concurrency, Failure, Pool, Timeouts
from tests.http.client_kit import OK, SHORT, Peer, Recorder, on_uvloop, post, upstream, within

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n4\r\ndata\r\n"


class Held:
    """An upstream that answers a request when told to, and counts how many it has at a time."""

    def __init__(self, begin: bytes = b"") -> None:
        self._begin = begin
        self.seen: list[bytes] = []
        self.running = self.most = 0
        self.arrived = asyncio.Condition()
        self.go = asyncio.Semaphore(0)

    async def __call__(self, peer: Peer) -> None:
        while request := await peer.request():
            self.seen.append(request.rpartition(b"\r\n")[2])
            self.running += 1
            self.most = max(self.most, self.running)
            async with self.arrived:
                self.arrived.notify_all()
            peer.send(self._begin)
            try:
                await self.go.acquire() if not self._begin else await peer.gone()
            finally:
                self.running -= 1
            peer.send(OK)

    async def until(self, count: int) -> None:
        async with self.arrived:
            await within(self.arrived.wait_for(lambda: len(self.seen) >= count))


@asynccontextmanager
async def limited(
    held: Held, concurrency: Concurrency, timeouts: Timeouts | None = None
) -> AsyncIterator[tuple[Pool, Held]]:
    async with upstream(held) as (origin, _):
        pool = Pool(origin, timeouts, concurrency=concurrency)
        try:
            yield pool, held
        finally:
            await pool.close()


def ask(pool: Pool, count: int) -> list[Recorder]:
    sinks = [Recorder() for _ in range(count)]
    for number, sink in enumerate(sinks):
        post(pool, sink, b"%d" % number)
    return sinks


@on_uvloop
async def test_no_more_run_than_may_and_all_are_answered_in_order() -> None:
    async with limited(Held(), Concurrency(2)) as (pool, held):
        sinks = ask(pool, 9)
        await held.until(2)
        assert (pool.active, pool.waiting) == (9, 7)
        for _ in sinks:
            held.go.release()
        for sink in sinks:
            assert await sink.ended() == b"hi"
        assert held.most == 2
        assert sorted(held.seen[:2]) == [b"0", b"1"]
        assert (pool.active, pool.waiting, pool.idle) == (0, 0, 2)


@on_uvloop
async def test_the_first_that_came_is_the_first_to_start() -> None:
    async with limited(Held(), Concurrency(1)) as (pool, held):
        sinks = ask(pool, 5)
        for sink in sinks:
            held.go.release()
            await sink.ended()
        assert held.seen == [b"%d" % number for number in range(5)]


@on_uvloop
async def test_one_more_than_may_wait_fails_at_once_but_not_within_send() -> None:
    async with limited(Held(), Concurrency(1, waiting=2)) as (pool, held):
        sinks = ask(pool, 5)
        assert not any(sink.events for sink in sinks)
        for sink in sinks[3:]:
            assert await sink.failed() is Failure.BUSY
        for _ in sinks:
            held.go.release()
        for sink in sinks[:3]:
            await sink.ended()
        assert (pool.active, pool.waiting, held.most) == (0, 0, 1)


@on_uvloop
async def test_nobody_waits_for_ever() -> None:
    async with limited(Held(), Concurrency(1, timeout=0.2)) as (pool, held):
        first, second = ask(pool, 2)
        assert await second.failed() is Failure.QUEUE_TIMEOUT
        held.go.release()
        await first.ended()
        assert held.seen == [b"0"]


@pytest.mark.parametrize("count", [1, 3])
@on_uvloop
async def test_whoever_goes_away_while_it_waits_frees_no_place_of_others(count: int) -> None:
    async with limited(Held(), Concurrency(1)) as (pool, held):
        [first] = ask(pool, 1)
        calls = [post(pool, Recorder(), b"gone") for _ in range(count)]
        last = Recorder()
        post(pool, last, b"last")
        await held.until(1)
        for call in calls:
            call.cancel()
            call.cancel()
        await asyncio.sleep(0.02)
        assert held.seen == [b"0"]
        held.go.release()
        held.go.release()
        await first.ended()
        await last.ended()
        assert (held.seen, held.most, pool.active) == ([b"0", b"last"], 1, 0)


@pytest.mark.parametrize("end", ["cancel", "linger"])
@on_uvloop
async def test_a_running_stream_that_nobody_reads_any_more_frees_its_place(end: str) -> None:
    async with limited(Held(STREAM), Concurrency(1)) as (pool, held):
        sinks = [Recorder(), Recorder(), Recorder()]
        calls = [post(pool, sink, b"%d" % number) for number, sink in enumerate(sinks)]
        for number, (call, sink) in enumerate(zip(calls, sinks, strict=True)):
            await within(sink.data.wait())
            assert held.seen[-1] == b"%d" % number
            getattr(call, end)()
            call.cancel() if number == 0 else None
        assert held.seen == [b"0", b"1", b"2"]


@on_uvloop
async def test_every_way_to_fail_frees_the_place_once() -> None:
    """Cut, malformed, silent, and a sink that raises; each twice the limit."""
    kinds = [b"cut", b"rubbish", b"silence", b"raise"]
    running = most = 0

    async def script(peer: Peer) -> None:
        nonlocal running, most
        while request := await peer.request():
            running += 1
            most = max(most, running)
            kind = request.rpartition(b"\r\n")[2]
            if kind == b"silence":
                await peer.gone()
            elif kind == b"rubbish":
                peer.send(b"\0\0\0")
                await peer.gone()
            elif kind != b"cut":
                peer.send(OK)
            running -= 1
            if kind == b"cut":
                return

    class Raising(Recorder):
        def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
            self.done.set()
            raise ValueError

    async with upstream(script) as (origin, _):
        pool = Pool(origin, SHORT, concurrency=Concurrency(2), log=lambda what, error: None)
        sinks = [Raising() if kind == b"raise" else Recorder() for kind in kinds * 4]
        for kind, sink in zip(kinds * 4, sinks, strict=True):
            post(pool, sink, kind)
        for sink in sinks:
            await within(sink.done.wait(), 10)
        last = Recorder()
        post(pool, last, b"fine")
        await last.ended()
        assert (pool.active, pool.waiting) == (0, 0)
        assert most == 2
        await pool.close()


@on_uvloop
async def test_a_pool_that_closes_fails_those_that_wait() -> None:
    async with limited(Held(), Concurrency(1)) as (pool, held):
        sinks = ask(pool, 3)
        await held.until(1)
        await pool.close()
        assert [await sink.failed() for sink in sinks] == [Failure.RESET] * 3
        assert (pool.active, pool.waiting) == (0, 0)
