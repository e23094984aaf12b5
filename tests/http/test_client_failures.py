"""Every way an answer can go wrong is told once, by its name, without secrets; every wait has an end."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time

import pytest

from antiphon.http.client import Call, Failure, Origin, Pool, Timeouts, ssl_context
from tests.http.client_kit import (
    CA,
    OK,
    SHORT,
    Peer,
    Recorder,
    answering,
    on_uvloop,
    post,
    server_context,
    upstream,
    within,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
GZIP = HEAD + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
BOMB = gzip.compress(b"\0" * 4_000_000)

CUT = {
    "nothing": b"",
    "half a status line": b"HTTP/1.1 2",
    "half a head": HEAD + b"content-le",
    "inside content-length": HEAD + b"content-length: 5\r\n\r\nhal",
    "inside a chunk": CHUNKED + b"5\r\nhal",
    "between chunks": CHUNKED + b"3\r\nhal\r\n",
    "before the last line": CHUNKED + b"3\r\nhal\r\n0\r\n",
    "after an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n",
}
WRONG = {
    "not HTTP": b"SSH-2.0-OpenSSH_9\r\n",
    "TLS alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "HTTP/2": b"HTTP/2 200\r\n\r\n",
    "bad status": b"HTTP/1.1 abc\r\n\r\n",
    "bad header": HEAD + b"a b: c\r\n\r\n",
    "folded header": HEAD + b"a: b\r\n c\r\n\r\n",
    "bad chunk": CHUNKED + b"zz\r\n",
    "chunk too long": CHUNKED + b"ffffffffffffffffff\r\n",
    "bad length": HEAD + b"content-length: 1x\r\n\r\n",
    "two lengths": HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
    "length and chunks": HEAD + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    "upgrade": b"HTTP/1.1 101 Sw\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    "gzip as transfer-encoding": HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n",
    "brotli": HEAD + b"content-encoding: br\r\ncontent-length: 3\r\n\r\nabc",
    "two encodings": HEAD + b"content-encoding: gzip, gzip\r\ncontent-length: 3\r\n\r\nabc",
    "broken gzip": GZIP + b"5\r\n\x1f\x8bxyz\r\n0\r\n\r\n",
    "cut gzip": GZIP + b"a\r\n" + gzip.compress(b"x" * 90)[:10] + b"\r\n0\r\n\r\n",
    "one byte of gzip": GZIP + b"1\r\n\x1f\r\n0\r\n\r\n",
    "endless interim": b"HTTP/1.1 102 P\r\n\r\n" * 40,
}
LARGE = {
    "a header": HEAD + b"x: " + b"y" * 5000 + b"\r\n\r\n",
    "a header without an end": HEAD + b"x: " + b"y" * 900_000,
    "a reason without an end": b"HTTP/1.1 200 " + b"y" * 900_000,
    "many headers": HEAD + b"a: b\r\n" * 100 + b"\r\n",
    "content-length": HEAD + b"content-length: 99999999\r\n\r\n",
    "chunks": CHUNKED + b"fff0\r\n" + b"x" * 0xFFF0,
    "to EOF": HEAD + b"\r\n" + b"x" * 65_000,
    "a bomb": HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB,
    "a bomb in a stream": HEAD
    + b"content-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB)
    + BOMB,
    "a chunk extension": CHUNKED + b"1;" + b"x" * 900_000,
    "a trailer": CHUNKED + b"0\r\nx: " + b"y" * 900_000,
}


async def fail_with(data: bytes, *, close: bool) -> Recorder:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(data)
        if close:
            await peer.writer.drain()
            return peer.close()
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool = Pool(origin, max_body=10_000, max_header_bytes=4000, max_header_count=50)
        sink = Recorder()
        post(pool, sink)
        await sink.failed()
        await within(state.gone.wait(), 1.0)
        assert (pool.idle, pool.active) == (0, 0)
        await pool.close()
    return sink


@pytest.mark.parametrize("name", CUT)
@on_uvloop
async def test_a_cut_answer_is_a_reset(name: str) -> None:
    sink = await fail_with(CUT[name], close=True)
    assert sink.error is not None
    assert sink.error.failure is Failure.RESET
    assert sink.events.count("fail") == 1
    if b"hal" in CUT[name]:
        assert sink.body == b"hal"


@pytest.mark.parametrize("name", WRONG)
@on_uvloop
async def test_what_is_not_http_is_a_protocol_failure(name: str) -> None:
    sink = await fail_with(WRONG[name], close=False)
    assert sink.error is not None
    assert sink.error.failure is Failure.PROTOCOL
    assert sink.events.count("fail") == 1


@pytest.mark.parametrize("name", LARGE)
@on_uvloop
async def test_what_is_over_a_limit_is_too_large(name: str) -> None:
    sink = await fail_with(LARGE[name], close=False)
    assert sink.error is not None
    assert sink.error.failure is Failure.TOO_LARGE


@on_uvloop
async def test_what_came_before_a_bad_chunk_is_heard() -> None:
    sink = await fail_with(CHUNKED + b"2\r\nhi\r\nzz\r\n", close=False)
    assert sink.events == ["head", "data", "fail"]
    assert sink.body == b"hi"


@pytest.mark.parametrize("data", [b"", HEAD + b"\r\nto the end"])
@on_uvloop
async def test_a_reset_is_no_end(data: bytes) -> None:
    """Also where the body would have ended with the connection: RST is not FIN."""
    heard = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(data)
        if data:
            await within(heard.wait())
        peer.reset()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        if data:
            await within(sink.data.wait())
            heard.set()
        assert await sink.failed() is Failure.RESET
        await pool.close()


@on_uvloop
async def test_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        origin = Origin("127.0.0.1", probe.getsockname()[1])
    pool, sink = Pool(origin), Recorder()
    post(pool, sink)
    assert sink.events == []  # never from within send()
    assert await sink.failed() is Failure.CONNECT
    assert pool.active == 0
    await pool.close()


@pytest.mark.parametrize("origin", [Origin("a" * 70 + ".test", 80), Origin("x", 80, unix="/nowhere/at/all")])
@on_uvloop
async def test_no_such_place(origin: Origin) -> None:
    pool, sink = Pool(origin), Recorder()
    post(pool, sink)
    assert await sink.failed() is Failure.CONNECT
    await pool.close()


# Time


async def timed_out(script_data: bytes, timeouts: Timeouts, *, tls: bool = False, drip: bool = False) -> Failure:
    async def script(peer: Peer) -> None:
        if not tls:
            await peer.request()
        peer.send(script_data)
        if not drip:
            return await peer.gone()
        gone = asyncio.create_task(peer.gone())
        while not gone.done():
            peer.send(b"1\r\nx\r\n")
            await asyncio.wait([gone], timeout=0.05)

    async with upstream(script) as (origin, state):
        origin = Origin(origin.host, origin.port, tls=tls)
        pool, sink = Pool(origin, timeouts, ssl_context=ssl_context(CA)), Recorder()
        began = time.monotonic()
        post(pool, sink)
        failure = await sink.failed()
        assert 0.29 < time.monotonic() - began < 1.5
        await within(state.gone.wait(), 1.0)
        await pool.close()
    return failure


@on_uvloop
async def test_connecting_has_an_end() -> None:
    """TLS belongs to connecting: this upstream accepts, and never says hello."""
    assert await timed_out(b"", SHORT, tls=True) is Failure.CONNECT_TIMEOUT


@on_uvloop
async def test_the_first_byte_has_an_end() -> None:
    assert await timed_out(b"", SHORT) is Failure.FIRST_BYTE_TIMEOUT


@on_uvloop
async def test_an_interim_answer_is_no_first_byte() -> None:
    waits = Timeouts(first_byte=0.3, idle=30.0)
    assert await timed_out(b"HTTP/1.1 100 Continue\r\n\r\n", waits) is Failure.FIRST_BYTE_TIMEOUT


@pytest.mark.parametrize("data", [b"H", HEAD, CHUNKED, CHUNKED + b"2\r\nhi\r\n"])
@on_uvloop
async def test_silence_has_an_end(data: bytes) -> None:
    assert await timed_out(data, Timeouts(first_byte=30.0, idle=0.3)) is Failure.IDLE_TIMEOUT


@on_uvloop
async def test_all_has_an_end() -> None:
    assert await timed_out(CHUNKED, Timeouts(idle=0.3, total=0.7), drip=True) is Failure.TOTAL_TIMEOUT


@on_uvloop
async def test_a_paused_call_is_not_idle() -> None:
    """The idle clock stands still while the caller has paused, and starts again from resume()."""
    async with upstream(answering(CHUNKED + b"2\r\nhi\r\n")) as (origin, _):
        pool, sink, other = Pool(origin, Timeouts(idle=0.3)), Recorder(), Recorder()
        call = post(pool, sink)
        await within(sink.data.wait())
        call.pause()
        post(pool, other)  # a second call, not paused, shows that the time has passed
        assert await other.failed() is Failure.IDLE_TIMEOUT
        assert sink.events == ["head", "data"]
        call.resume()
        assert await sink.failed() is Failure.IDLE_TIMEOUT
        await pool.close()


# Cancelling


class Canceller(Recorder):
    """Cancels its own call from within one of its callbacks."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.call: Call | None = None
        self.cancelled = asyncio.Event()

    def _maybe(self, where: str) -> None:
        if where == self.where and self.call is not None:
            self.call.cancel()
            self.cancelled.set()

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        super().on_head(status, headers)
        self._maybe("head")

    def on_data(self, data: bytes) -> None:
        super().on_data(data)
        self._maybe("data")

    def on_end(self) -> None:
        super().on_end()
        self._maybe("end")


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 2", CHUNKED, CHUNKED + b"2\r\nhi\r\n"])
@pytest.mark.parametrize("tls", [False, True])
@on_uvloop
async def test_cancel_closes_the_socket(data: bytes, tls: bool) -> None:
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(data)
        await peer.writer.drain()
        asked.set()
        await peer.gone()

    async with upstream(script, server_context() if tls else None) as (origin, state):
        pool, sink = Pool(origin, ssl_context=ssl_context(CA)), Recorder()
        call = post(pool, sink)
        await within(asked.wait())
        if b"hi" in data:
            await within(sink.data.wait())
        call.cancel()
        before = list(sink.events)
        await within(state.gone.wait(), 1.0)
        call.cancel()
        call.pause()
        call.resume()
        call.linger()
        assert sink.events == before
        assert "end" not in before
        assert pool.active == pool.idle == 0
        await pool.close()


@pytest.mark.parametrize("tls", [False, True])
@on_uvloop
async def test_cancel_while_connecting(tls: bool) -> None:
    hello = asyncio.Event()

    async def script(peer: Peer) -> None:
        if tls:
            assert await peer.reader.read(1)
            hello.set()
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool, sink = Pool(Origin(origin.host, origin.port, tls=tls)), Recorder()
        call = post(pool, sink)
        if tls:
            await within(hello.wait())
        call.cancel()
        if state.connections:
            await within(state.gone.wait(), 1.0)
        assert pool.active == 0
        await pool.close()
        assert sink.events == []


@pytest.mark.parametrize("where", ["head", "data", "end"])
@on_uvloop
async def test_cancel_from_within(where: str) -> None:
    async with upstream(answering(CHUNKED + b"2\r\nhi\r\n0\r\n\r\n")) as (origin, _):
        pool, sink = Pool(origin), Canceller(where)
        sink.call = post(pool, sink)
        await within(sink.cancelled.wait())
        assert sink.events == ["head", "data", "end"][: ["head", "data", "end"].index(where) + 1]
        again = Recorder()
        post(pool, again)
        assert await again.ended() == b"hi"
        await pool.close()


# Back-pressure


@pytest.mark.parametrize("tls", [False, True])
@on_uvloop
async def test_pause_bounds_what_is_read(tls: bool) -> None:
    """An upstream that sends as fast as it can is held by its own socket, not by our memory."""
    size, piece = 48 * 1024 * 1024, b"x" * 65536
    sent = 0
    stuck = asyncio.Event()

    async def script(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        peer.send(HEAD + b"content-length: %d\r\n\r\n" % size)
        while sent < size:
            peer.send(piece)
            sent += len(piece)
            try:
                await asyncio.wait_for(peer.writer.drain(), 0.3)
            except TimeoutError:
                stuck.set()
                await peer.writer.drain()
        await peer.gone()

    async with upstream(script, server_context() if tls else None) as (origin, _):
        pool, sink = Pool(origin, ssl_context=ssl_context(CA)), Recorder()
        call = post(pool, sink)
        await within(sink.head.wait())
        call.pause()
        call.pause()
        await within(stuck.wait())
        assert len(sink.body) < 2 * 1024 * 1024
        assert sent < size
        call.resume()
        assert len(await sink.ended()) == size
        assert max(map(len, sink.pieces)) <= 512 * 1024
        await pool.close()


@on_uvloop
async def test_paused_before_it_is_connected() -> None:
    async with upstream(answering(OK, OK)) as (origin, state):
        pool, sink, other = Pool(origin), Recorder(), Recorder()
        call = post(pool, sink)
        call.pause()
        post(pool, other)
        assert await other.ended() == b"hi"
        assert sink.events == []
        call.resume()
        assert await sink.ended() == b"hi"
        assert state.connections == 2
        await pool.close()
