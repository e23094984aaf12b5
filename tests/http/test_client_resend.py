"""When a request is sent once more: only where its connection had ended before the request reached the upstream.

The upstream's side is a plain socket that the test itself moves, so it knows what has happened before what: a close
between two rounds of the loop is pending in the kernel, and the client has not been told of it yet.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from antiphon.http.client import Failure, Origin, Pool, ssl_context
from antiphon.http.pool import TICK
from tests.http.client_kit import CA, OK, Recorder, on_uvloop, post, server_context, within

LARGE = b"x" * 8_000_000  # more than the buffers of both kernels hold
RESET = struct.pack("ii", 1, 0)


class Upstream:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.accepted: list[socket.socket] = []

    async def accept(self) -> socket.socket:
        peer, _ = await within(asyncio.get_running_loop().sock_accept(self._listener))
        peer.setblocking(False)
        self.accepted.append(peer)
        return peer

    def nobody_else_connected(self) -> bool:
        try:
            self._listener.accept()
        except BlockingIOError:
            return True
        return False


async def read(peer: socket.socket, most: int = 65536) -> bytes:
    return await within(asyncio.get_running_loop().sock_recv(peer, most))


async def answer(peer: socket.socket) -> None:
    await within(asyncio.get_running_loop().sock_sendall(peer, OK))


def reset(peer: socket.socket) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    peer.close()


def kill(peer: socket.socket) -> None:
    """As the kernel does for a process that dies."""
    peer.close()


def half_close(peer: socket.socket) -> None:
    """As nginx does it: nothing is written any more, what still comes is read and thrown away."""
    peer.shutdown(socket.SHUT_WR)


@asynccontextmanager
async def used_once(
    family: int = socket.AF_INET, path: str = ""
) -> AsyncIterator[tuple[Pool, Upstream, socket.socket]]:
    """A pool with one idle connection, and the upstream's side of it."""
    listener = socket.socket(family)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen()
    listener.setblocking(False)
    origin = Origin("localhost", 80, unix=path) if path else Origin("127.0.0.1", listener.getsockname()[1])
    pool, state, first = Pool(origin), Upstream(listener), Recorder()
    try:
        post(pool, first)
        peer = await state.accept()
        await read(peer)
        await answer(peer)
        await first.ended()
        assert pool.idle == 1
        yield pool, state, peer
    finally:
        await pool.close()
        for accepted in state.accepted:
            accepted.close()
        listener.close()


async def expect_resend(state: Upstream, sink: Recorder, ending: bytes) -> None:
    """The request comes whole on another connection, once, and the sink sees nothing but its answer."""
    peer = await state.accept()
    received = b""
    while not received.endswith(ending) or len(received) <= len(ending):
        piece = await read(peer)
        assert piece
        received += piece
    assert received.count(b"POST /v1/x") == 1
    await answer(peer)
    assert await sink.ended() == b"hi"
    assert sink.events == ["head", "data", "end"]
    assert state.nobody_else_connected()


async def expect_failure(state: Upstream, sink: Recorder) -> None:
    assert await sink.failed() is Failure.RESET
    assert sink.events == ["fail"]
    await asyncio.sleep(0)
    assert state.nobody_else_connected()


# Ended before the request reached it: nobody notices


@pytest.mark.parametrize("body", [b"{}", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("end", [kill, half_close])
@on_uvloop
async def test_a_close_that_is_pending_stays_unseen(end: Callable[[socket.socket], None], body: bytes) -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        end(peer)
        post(pool, sink, body)
        await expect_resend(state, sink, body[-2:])


@on_uvloop
async def test_a_close_just_before_the_request_is_written_stays_unseen() -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        assert post(pool, sink).reused
        kill(peer)  # the loop writes at the end of its round
        await expect_resend(state, sink, b"{}")


@pytest.mark.parametrize("end", [kill, reset])
@on_uvloop
async def test_a_connection_that_has_ended_is_not_used_again(
    end: Callable[[socket.socket], None],
) -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        end(peer)
        call = post(pool, sink)
        assert not call.reused
        await expect_resend(state, sink, b"{}")


@on_uvloop
async def test_the_other_idle_connections_of_a_restarted_upstream_are_passed_over() -> None:
    async with used_once() as (pool, state, one):
        sinks = [Recorder(), Recorder()]
        for sink in sinks:
            post(pool, sink)
        other = await state.accept()
        for peer in (one, other):
            await read(peer)
            await answer(peer)
        for sink in sinks:
            await sink.ended()
        kill(one)
        kill(other)
        again = Recorder()
        post(pool, again)
        await expect_resend(state, again, b"{}")


@on_uvloop
async def test_a_unix_socket_that_has_ended_stays_unseen(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("s") / "u")
    async with used_once(socket.AF_UNIX, path) as (pool, state, peer):
        kill(peer)
        sink = Recorder()
        post(pool, sink)
        await expect_resend(state, sink, b"{}")


@on_uvloop
async def test_it_is_sent_once_more_only_once() -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        kill(peer)
        post(pool, sink)
        again = await state.accept()
        assert await read(again)
        kill(again)
        await expect_failure(state, sink)


# The request had reached it: never a second time


@pytest.mark.parametrize("wait", [0.0, 0.9])
@pytest.mark.parametrize("end", [kill, reset, half_close])
@on_uvloop
async def test_a_request_that_was_read_is_not_sent_again(end: Callable[[socket.socket], None], wait: float) -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        call = post(pool, sink)
        assert call.reused
        assert (await read(peer)).endswith(b"{}")
        await asyncio.sleep(wait)  # how long the upstream works on it
        end(peer)
        await expect_failure(state, sink)


@pytest.mark.parametrize("end", [kill, reset])
@pytest.mark.parametrize("body", [b"{}", LARGE], ids=["small", "large"])
@on_uvloop
async def test_a_request_that_was_read_in_part_is_not_sent_again(
    end: Callable[[socket.socket], None], body: bytes
) -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        post(pool, sink, body)
        assert await read(peer, 20)
        end(peer)
        await expect_failure(state, sink)


@on_uvloop
async def test_a_request_that_arrived_and_was_not_read_is_not_sent_again() -> None:
    """The kernel has it, so the process may have seen it: that cannot be told from here."""
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        post(pool, sink)
        async with asyncio.timeout(5):
            while not await has_arrived(peer):
                pass
        kill(peer)
        await expect_failure(state, sink)


async def has_arrived(peer: socket.socket) -> bool:
    await asyncio.sleep(0.001)
    try:
        return bool(peer.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


@on_uvloop
async def test_a_request_to_a_unix_socket_that_was_read_is_not_sent_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = str(tmp_path_factory.mktemp("s") / "u")
    async with used_once(socket.AF_UNIX, path) as (pool, state, peer):
        sink = Recorder()
        post(pool, sink)
        assert await read(peer)
        kill(peer)
        await expect_failure(state, sink)


@on_uvloop
async def test_after_a_byte_of_the_answer_nothing_is_sent_again() -> None:
    async with used_once() as (pool, state, peer):
        sink = Recorder()
        post(pool, sink)
        await read(peer)
        peer.send(b"H")
        kill(peer)
        await expect_failure(state, sink)


# TLS


@asynccontextmanager
async def tls_used_once() -> AsyncIterator[tuple[Pool, socket.socket, ssl.SSLSocket]]:
    """The same with TLS: a pool, the listener, and the upstream's side of its idle connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        origin = Origin("127.0.0.1", listener.getsockname()[1], tls=True)
        pool, first = Pool(origin, ssl_context=ssl_context(CA)), Recorder()
        post(pool, first)
        peer = await within(asyncio.to_thread(tls_answer, listener))
        try:
            await first.ended()
            yield pool, listener, peer
        finally:
            await pool.close()
            peer.close()


def tls_answer(listener: socket.socket) -> ssl.SSLSocket:
    """Answers the next connection's request."""
    listener.settimeout(5)
    accepted, _ = listener.accept()
    accepted.settimeout(5)
    peer = server_context().wrap_socket(accepted, server_side=True)
    assert peer.recv(65536)
    peer.sendall(OK)
    return peer


def close_notify(peer: ssl.SSLSocket) -> None:
    """As most servers close: they say so, and do not wait for the client's word."""
    peer.setblocking(False)
    with suppress(ssl.SSLWantReadError):
        peer.unwrap()
    peer.close()


@pytest.mark.parametrize(("end", "idle"), [(close_notify, 0.0), (close_notify, 2 * TICK), (kill, 2 * TICK)])
@on_uvloop
async def test_a_tls_connection_that_was_closed_stays_unseen(end: Callable[[ssl.SSLSocket], None], idle: float) -> None:
    async with tls_used_once() as (pool, listener, peer):
        sink = Recorder()
        await asyncio.sleep(idle)
        end(peer)
        post(pool, sink)
        again = await within(asyncio.to_thread(tls_answer, listener))
        assert await sink.ended() == b"hi"
        assert sink.events == ["head", "data", "end"]
        again.close()


@pytest.mark.parametrize("end", [close_notify, kill, reset])
@on_uvloop
async def test_a_request_that_was_read_from_tls_is_not_sent_again(end: Callable[[ssl.SSLSocket], None]) -> None:
    async with tls_used_once() as (pool, listener, peer):
        sink = Recorder()
        post(pool, sink)
        assert await within(asyncio.to_thread(peer.recv, 65536))
        end(peer)
        assert await sink.failed() is Failure.RESET
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
