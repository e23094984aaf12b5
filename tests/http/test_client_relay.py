"""Requests whose bodies are sent in pieces, and answers of any size."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.http.client import Concurrency, Failure, Pool, RelayCall, Timeouts
from tests.http.client_kit import OK, Peer, Recorder, answering, on_uvloop, post, upstream, within

PIECE = b"x" * 100_000


class Source:
    """Gives pieces while the connection takes them, the end after the last."""

    def __init__(self, *pieces: bytes, ends: bool = True) -> None:
        self.call: RelayCall | None = None
        self.pieces = list(pieces)
        self.ends = ends
        self.writable = asyncio.Event()

    def on_writable(self) -> None:
        self.writable.set()
        assert self.call is not None
        while self.pieces and not self.call.is_full:
            self.call.write(self.pieces.pop(0))
        if not self.pieces and self.ends and not self.call.is_full:
            self.call.end_body()


def send(pool: Pool, sink: Recorder, source: Source, length: int | None) -> RelayCall:
    source.call = call = pool.relay(b"POST", b"/up", b"x-a: b\r\n", source, sink, length)
    return call


@on_uvloop
async def test_a_body_of_known_length() -> None:
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        send(pool, sink, Source(b"ab", PIECE, b"c"), len(PIECE) + 3)
        assert await sink.ended() == b"hi"
        head, _, body = seen[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /up HTTP/1.1\r\n")
        assert b"\r\nx-a: b\r\n" in head
        assert b"transfer-encoding" not in head
        assert body == b"ab" + PIECE + b"c"
        assert pool.idle == 1
        await pool.close()


@on_uvloop
async def test_a_body_of_unknown_length_goes_in_chunks() -> None:
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.reader.readuntil(b"0\r\n\r\n"))
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        send(pool, sink, Source(b"ab", b"c" * 17), None)
        assert await sink.ended() == b"hi"
        head, _, body = seen[0].partition(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head
        assert b"content-length" not in head
        assert body == b"2\r\nab\r\n11\r\n" + b"c" * 17 + b"\r\n0\r\n\r\n"
        await pool.close()


@on_uvloop
async def test_it_takes_a_connection_of_its_own_and_leaves_it_to_others() -> None:
    async with upstream(answering(OK, OK)) as (origin, state):
        pool, first, second, third = Pool(origin), Recorder(), Recorder(), Recorder()
        post(pool, first)
        await first.ended()
        send(pool, second, Source(b"ab"), 2)
        await second.ended()
        assert (state.connections, pool.idle) == (2, 2)
        post(pool, third)
        await third.ended()
        assert state.connections == 2
        await pool.close()


@on_uvloop
async def test_an_answer_before_the_end_of_the_body_ends_the_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool, sink, source = Pool(origin), Recorder(), Source(b"ab", ends=False)
        call = send(pool, sink, source, 1000)
        assert await sink.ended() == b"hi"
        assert pool.idle == 0
        await within(state.gone.wait())
        call.write(b"late")  # nobody takes it, and nothing breaks
        call.end_body()
        await pool.close()


@on_uvloop
async def test_a_peer_that_does_not_read_fills_the_call() -> None:
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await go_on.wait()
        await peer.request()
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool, sink, source = Pool(origin), Recorder(), Source(*[PIECE] * 300)
        call = send(pool, sink, source, 300 * len(PIECE))
        await within(source.writable.wait())
        assert call.is_full
        assert len(source.pieces) > 100
        go_on.set()
        assert await sink.ended() == b"hi"
        assert not source.pieces
        await pool.close()


@on_uvloop
async def test_a_peer_that_never_reads_fails_the_call_in_time() -> None:
    async def script(peer: Peer) -> None:
        await asyncio.Event().wait()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin, Timeouts(first_byte=0.3)), Recorder()
        send(pool, sink, Source(*[PIECE] * 300), 300 * len(PIECE))
        assert await sink.failed() is Failure.FIRST_BYTE_TIMEOUT
        await pool.close()


@on_uvloop
async def test_a_body_that_makes_progress_may_take_longer_than_the_first_byte() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool, sink, source = Pool(origin, Timeouts(first_byte=1.0)), Recorder(), Source(ends=False)
        call = send(pool, sink, source, 8)
        await within(source.writable.wait())
        for _ in range(8):
            await asyncio.sleep(0.25)
            call.write(b"x")
        call.end_body()
        assert await sink.ended() == b"hi"
        await pool.close()


@on_uvloop
async def test_it_waits_for_its_turn() -> None:
    release = asyncio.Event()

    async def script(peer: Peer) -> None:
        while await peer.request():
            if peer.number == 0:
                await release.wait()
            peer.send(OK)

    async with upstream(script) as (origin, _):
        pool, first, second = Pool(origin, concurrency=Concurrency(1)), Recorder(), Recorder()
        post(pool, first)
        source = Source(b"ab")
        send(pool, second, source, 2)
        assert pool.waiting == 1
        assert not source.writable.is_set()
        release.set()
        await first.ended()
        assert await second.ended() == b"hi"
        await pool.close()


@pytest.mark.parametrize("framing", [b"content-length: %d\r\n\r\n" % (3 * len(PIECE)), b"connection: close\r\n\r\n"])
@on_uvloop
async def test_an_answer_may_be_larger_than_what_is_read_whole(framing: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\n" + framing + PIECE * 3)
        await peer.writer.drain()
        peer.close()

    async with upstream(script) as (origin, _):
        pool, sink, bounded = Pool(origin, max_body=len(PIECE)), Recorder(), Recorder()
        pool.relay(b"GET", b"/file", b"", b"", sink)
        assert await sink.ended() == PIECE * 3
        post(pool, bounded)
        assert await bounded.failed() is Failure.TOO_LARGE
        await pool.close()
