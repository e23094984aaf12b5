"""Which connection a call gets, when one is used again, and what happens to those that are not."""

from __future__ import annotations

import asyncio
import logging

import pytest

from antiphon.http.client import Call, Failure, Origin, Pool
from antiphon.http.client_connection import ClientConnection
from tests.http.client_kit import OK, Peer, Recorder, answering, on_uvloop, post, upstream, within

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

KEPT = {
    "content-length": OK,
    "chunked": CHUNKED + b"2\r\nhi\r\n0\r\n\r\n",
    "trailers": CHUNKED + b"2\r\nhi\r\n0\r\na: b\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "error": b"HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nno",
    "empty": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "keep-alive said": b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi",
}
NOT_KEPT = {
    "connection: close": b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
    "HTTP/1.0 keep-alive": b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi",
    "another answer after it": OK + OK,
    "half an answer after it": OK + b"HTT",
    "rubbish after it": OK + b"\0\0",
    "a body after 204": b"HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nhi",
}


async def until(condition: asyncio.Event) -> None:
    await within(condition.wait(), 1.5)


@pytest.mark.parametrize("name", KEPT)
@on_uvloop
async def test_used_again_after_a_whole_answer(name: str) -> None:
    async with upstream(answering(KEPT[name], OK)) as (origin, state):
        pool = Pool(origin)
        calls = []
        for _ in range(3):
            sink = Recorder()
            calls.append(post(pool, sink))
            await sink.ended()
            assert pool.idle == 1
        assert sink.body == b"hi"
        assert state.connections == 1
        assert [call.reused for call in calls] == [False, True, True]
        await pool.close()


@pytest.mark.parametrize("name", NOT_KEPT)
@on_uvloop
async def test_not_used_again(name: str) -> None:
    async with upstream(answering(NOT_KEPT[name], OK)) as (origin, state):
        pool = Pool(origin)
        first, second = Recorder(), Recorder()
        post(pool, first)
        assert await first.ended() == (b"" if first.status == 204 else b"hi")
        await until(state.gone)
        assert pool.idle == 0
        post(pool, second)
        await second.ended()
        assert state.connections == 2
        await pool.close()


@on_uvloop
async def test_the_last_one_back_goes_first() -> None:
    served: list[int] = []
    gates = [asyncio.Event(), asyncio.Event()]

    async def script(peer: Peer) -> None:
        while await peer.request():
            served.append(peer.number)
            await within(gates[peer.number].wait())
            peer.send(OK)

    async with upstream(script) as (origin, _):
        pool = Pool(origin)
        sinks = [Recorder(), Recorder()]
        for sink in sinks:
            post(pool, sink)
        gates[1].set()
        await within(asyncio.wait([asyncio.create_task(s.done.wait()) for s in sinks], return_when="FIRST_COMPLETED"))
        gates[0].set()
        for sink in sinks:
            await sink.ended()
        again = Recorder()
        post(pool, again)
        await again.ended()
        assert served[-1] == 0
        assert pool.idle == 2
        await pool.close()


@pytest.mark.parametrize("stray", [b"HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n", b"\r", b""])
@on_uvloop
async def test_an_idle_connection_that_hears_anything_is_dropped(stray: bytes) -> None:
    answered = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(OK)
        if peer.number == 0:
            await within(answered.wait())
            if stray:
                peer.send(stray)
            else:
                peer.writer.write_eof()
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool, sink, again = Pool(origin), Recorder(), Recorder()
        post(pool, sink)
        await sink.ended()
        assert pool.idle == 1
        answered.set()
        await until(state.gone)  # closed by us: the script itself never closes
        assert pool.idle == 0
        call = post(pool, again)
        await again.ended()
        assert not call.reused
        assert state.connections == 2
        await pool.close()


@on_uvloop
async def test_a_fresh_connection_that_dies_is_not_replaced() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.close()

    async with upstream(script) as (origin, state):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        assert await sink.failed() is Failure.RESET
        assert state.connections == 1
        await pool.close()


@on_uvloop
async def test_no_more_than_max_idle_are_kept() -> None:
    async with upstream(answering(OK)) as (origin, state):
        pool = Pool(origin, max_idle=2)
        sinks = [Recorder() for _ in range(5)]
        for sink in sinks:
            post(pool, sink)
        for sink in sinks:
            await sink.ended()
        assert state.connections == 5
        assert pool.idle == 2
        await pool.close()


@on_uvloop
async def test_an_idle_connection_grows_too_old() -> None:
    async with upstream(answering(OK)) as (origin, state):
        pool, sink = Pool(origin, idle_ttl=0.1), Recorder()
        post(pool, sink)
        await sink.ended()
        assert pool.idle == 1
        await until(state.gone)
        assert pool.idle == 0
        await pool.close()


# Lingering


class WatchedPool(Pool):
    """Says when a connection comes back: nobody hears the end of an answer that lingers."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self.parked = asyncio.Event()

    def park(self, connection: ClientConnection) -> None:
        super().park(connection)
        self.parked.set()


class Lingerer(Recorder):
    call: Call

    def on_data(self, data: bytes) -> None:
        super().on_data(data)
        if b"[DONE]" in data:
            self.call.linger()


@pytest.mark.parametrize("together", [True, False])
@on_uvloop
async def test_linger_lets_the_answer_end_and_uses_the_connection_again(together: bool) -> None:
    heard = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(STREAM + b"6\r\n[DONE]\r\n" + (b"0\r\n\r\n" if together else b""))
        if not together:
            await within(heard.wait())
            peer.send(b"3\r\nend\r\n0\r\n\r\n")
        while await peer.request():
            peer.send(OK)

    async with upstream(script) as (origin, state):
        pool, sink, again = WatchedPool(origin), Lingerer(), Recorder()
        sink.call = post(pool, sink)
        await within(sink.data.wait())
        heard.set()
        await until(pool.parked)
        assert sink.events == ["head", "data"]
        post(pool, again)
        assert await again.ended() == b"hi"
        assert state.connections == 1
        await pool.close()


@pytest.mark.parametrize("drip", [True, False])
@on_uvloop
async def test_linger_does_not_wait_for_ever(drip: bool) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(STREAM + b"6\r\n[DONE]\r\n")
        gone = asyncio.create_task(peer.gone())
        while not gone.done():
            if drip:
                peer.send(b"1\r\nx\r\n")
            await asyncio.wait([gone], timeout=0.05)

    async with upstream(script) as (origin, state):
        pool, sink = Pool(origin), Lingerer()
        sink.call = post(pool, sink)
        await within(state.gone.wait(), 1.5)
        assert sink.events == ["head", "data"]
        assert pool.active == pool.idle == 0
        await pool.close()


@on_uvloop
async def test_linger_before_any_answer_is_a_cancel() -> None:
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool, sink = Pool(origin), Recorder()
        call = post(pool, sink)
        await within(asked.wait())
        call.linger()
        await within(state.gone.wait(), 0.5)
        assert sink.events == []
        await pool.close()


@on_uvloop
async def test_a_paused_call_that_ends_leaves_a_reading_connection() -> None:
    class Pauser(Recorder):
        call: Call

        def on_data(self, data: bytes) -> None:
            super().on_data(data)
            self.call.pause()

    async with upstream(answering(OK)) as (origin, state):
        pool, sink, again = Pool(origin), Pauser(), Recorder()
        sink.call = post(pool, sink)
        await sink.ended()
        post(pool, again)
        assert await again.ended() == b"hi"
        assert state.connections == 1
        await pool.close()


# Sinks


@pytest.mark.parametrize("where", ["on_head", "on_data", "on_end", "on_fail"])
@on_uvloop
async def test_a_sink_that_raises_harms_only_its_own_call(where: str) -> None:
    logged: list[tuple[str, BaseException]] = []
    raised = asyncio.Event()

    def log(message: str, error: BaseException) -> None:
        logged.append((message, error))
        raised.set()

    class Raiser(Recorder):
        pass

    def boom(*_: object) -> None:
        raise ZeroDivisionError(where)

    first = b"nonsense" if where == "on_fail" else OK

    async def script(peer: Peer) -> None:
        data = first if peer.number == 0 else OK
        while await peer.request():
            peer.send(data)
            data = OK

    async with upstream(script) as (origin, _):
        pool, sink, again = Pool(origin, log=log), Raiser(), Recorder()
        setattr(sink, where, boom)
        post(pool, sink)
        await within(raised.wait())
        assert [type(error) for _, error in logged] == [ZeroDivisionError]
        assert pool.active == 0
        post(pool, again)
        assert await again.ended() == b"hi"
        assert not {"end", "fail"} & set(sink.events)
        await pool.close()


@on_uvloop
async def test_without_a_log_the_loop_hears_of_it(caplog: pytest.LogCaptureFixture) -> None:
    class Raiser(Recorder):
        def on_end(self) -> None:
            self.done.set()
            raise ZeroDivisionError

    async with upstream(answering(OK)) as (origin, _):
        pool, sink = Pool(origin), Raiser()
        with caplog.at_level(logging.ERROR):
            post(pool, sink)
            await within(sink.done.wait())
        assert "a callback of a call raised" in caplog.text
        await pool.close()


@on_uvloop
async def test_a_sink_may_send_again_from_its_end() -> None:
    last = Recorder()

    class Chain(Recorder):
        def on_end(self) -> None:
            assert post(pool, last).reused

    async with upstream(answering(OK)) as (origin, state):
        pool = Pool(origin)
        post(pool, Chain())
        assert await last.ended() == b"hi"
        assert state.connections == 1
        await pool.close()


# Closing


@on_uvloop
async def test_close_ends_calls_and_sockets() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool, idle, busy, connecting, late = Pool(origin), Recorder(), Recorder(), Recorder(), Recorder()
        post(pool, idle)
        await idle.ended()
        parked = pool.idle
        assert post(pool, busy).reused
        post(pool, connecting)
        await within(pool.close())
        assert parked == 1
        assert busy.events == ["fail"]
        assert connecting.events == ["fail"]
        assert await connecting.failed() is Failure.RESET
        await within(state.gone.wait(), 1.0)
        post(pool, late)
        assert late.events == []
        assert await late.failed() is Failure.CONNECT
        assert pool.active == pool.idle == 0
        assert "closed" in repr(pool)
        await pool.close()


@on_uvloop
async def test_a_pool_never_used_closes() -> None:
    async with upstream(answering(OK)) as (origin, _):
        pool = Pool(origin)
        assert "0 active, 0 idle" in repr(pool)
        await pool.close()
