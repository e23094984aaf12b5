"""Whatever bytes an upstream sends, in whatever pieces: one end or one failure, in time, and the pool goes on."""

from __future__ import annotations

import asyncio
import gzip

import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.http.client import Failure, Pool, Timeouts
from tests.http.client_kit import OK, Peer, Recorder, answering, post, upstream

HEADS = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n",
    b"HTTP/1.1 101 Switching\r\n",
    b"ICE/1.0 200 OK\r\n",
]
PARTS = [
    b"content-length: 5\r\n",
    b"content-length: 0\r\n",
    b"transfer-encoding: chunked\r\n",
    b"connection: close\r\n",
    b"connection: keep-alive\r\n",
    b"upgrade: x\r\n",
    b"content-encoding: gzip\r\n",
    b"content-type: text/event-stream\r\n",
    b"x: " + b"y" * 3000 + b"\r\n",
    b"\r\n",
    b"\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"0\r\na: b\r\n\r\n",
    b"hello",
    b"ffffffffffffffff\r\n",
    gzip.compress(b"hello"),
    OK,
]
PIECES = st.lists(st.one_of(st.sampled_from(HEADS + PARTS), st.binary(max_size=12)), max_size=8)
# (the pieces, each a write of its own; does the upstream close afterwards?)
ANSWERS = st.lists(st.tuples(PIECES, st.booleans()), min_size=1, max_size=24)
TIMEOUTS = Timeouts(connect=5.0, first_byte=0.1, idle=0.1, total=2.0)


async def answer_all(answers: list[tuple[list[bytes], bool]]) -> None:
    """All at once over one pool: each connection takes the next answer."""
    waiting = list(answers)
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))

    async def script(peer: Peer) -> None:
        while waiting and await peer.request():
            pieces, close = waiting.pop()
            for piece in pieces:
                peer.send(piece)
                await asyncio.sleep(0)
            await peer.writer.drain()
            if close:
                return
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool = Pool(origin, TIMEOUTS, max_header_bytes=4000, max_body=1000)
        sinks = [Recorder() for _ in answers]
        for sink in sinks:
            post(pool, sink)
        await asyncio.wait_for(asyncio.gather(*(sink.done.wait() for sink in sinks)), 2.0)
        for sink in sinks:
            assert sink.events[-1] in ("end", "fail")
            assert len({"end", "fail"} & set(sink.events)) == 1
            assert sink.events.count("head") <= 1
            assert sink.events.count("end") + sink.events.count("fail") == 1
            assert sink.error is None or isinstance(sink.error.failure, Failure)
        assert pool.active == 0
        await pool.close()
    assert not faults


@given(ANSWERS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_arbitrary_answers(answers: list[tuple[list[bytes], bool]]) -> None:
    uvloop.run(answer_all(answers))


@given(st.binary(min_size=1, max_size=40), st.integers(0, len(OK)), st.integers(0, 10))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_answer(noise: bytes, at: int, lost: int) -> None:
    uvloop.run(answer_all([([OK[:at] + noise + OK[at + lost :]], True)]))


def test_the_pool_goes_on() -> None:
    """After every kind of rubbish on the same pool, a good answer is a good answer."""

    async def run() -> None:
        rubbish = [b"\0", b"HTTP/1.1 200 OK\r\n\r\n", OK + b"x", OK[:-1], OK + OK, b"HTTP/1.1 999\r\n\r\n"]
        for data in rubbish:
            turn = 0

            async def script(peer: Peer, data: bytes = data) -> None:
                nonlocal turn
                while await peer.request():
                    turn += 1
                    peer.send(data if turn == 1 else OK)
                    if turn == 1:
                        await peer.writer.drain()
                        return

            async with upstream(script) as (origin, _):
                pool, first, second = Pool(origin, TIMEOUTS), Recorder(), Recorder()
                post(pool, first)
                await asyncio.wait_for(first.done.wait(), 2.0)
                post(pool, second)
                assert await second.ended() == b"hi"
                await pool.close()

    uvloop.run(run())


def test_the_scripts_of_this_file_can_answer() -> None:
    """The fuzz would pass if nothing ever came through; this shows that something does."""

    async def run() -> None:
        async with upstream(answering(OK)) as (origin, _):
            pool, sink = Pool(origin, TIMEOUTS), Recorder()
            post(pool, sink)
            assert await sink.ended() == b"hi"
            await pool.close()

    uvloop.run(run())
