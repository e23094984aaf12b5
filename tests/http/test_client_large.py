"""Large requests leave in pieces, as fast as the upstream reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from antiphon.http.client import Failure, Pieces, Pool, ssl_context
from tests.http.client_kit import CA, OK, Peer, Recorder, on_uvloop, server_context, upstream


class InPieces:
    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.size = sum(map(len, pieces))

    def __iter__(self) -> Iterator[bytes | memoryview]:
        yield from (memoryview(piece) for piece in self._pieces)


WHOLE = bytes(range(256)) * 20_000
BODIES: dict[str, bytes | Pieces] = {
    "one": WHOLE,
    "few": InPieces(WHOLE[:10], WHOLE[10:3_000_000], b"", WHOLE[3_000_000:]),
    "many": InPieces(*(WHOLE[start : start + 1000] for start in range(0, len(WHOLE), 1000))),
}


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("kind", BODIES)
@on_uvloop
async def test_all_of_it_arrives_and_the_connection_is_used_again(kind: str, tls: bool) -> None:
    received: list[bytes] = []

    async def script(peer: Peer) -> None:
        while request := await peer.request():
            received.append(request.partition(b"\r\n\r\n")[2])
            peer.send(OK)

    async with upstream(script, server_context() if tls else None) as (origin, state):
        pool = Pool(origin, ssl_context=ssl_context(CA) if tls else None)
        for body in (BODIES[kind], b"{}", BODIES[kind]):
            sink = Recorder()
            pool.send(b"POST", b"/", b"", body, sink)
            await sink.ended()
        assert received == [WHOLE, b"{}", WHOLE]
        assert state.connections == 1
        await pool.close()


@on_uvloop
async def test_a_connection_that_ends_inside_it_is_a_failure() -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.readexactly(100_000)
        peer.reset()

    async with upstream(script) as (origin, state):
        pool, sink = Pool(origin), Recorder()
        pool.send(b"POST", b"/", b"", BODIES["few"], sink)
        assert await sink.failed() is Failure.RESET
        assert state.connections == 1
        await pool.close()


@on_uvloop
async def test_it_can_be_cancelled_halfway() -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.readexactly(100_000)
        call.cancel()
        await peer.gone()

    async with upstream(script) as (origin, state):
        pool, sink = Pool(origin), Recorder()
        call = pool.send(b"POST", b"/", b"", BODIES["few"], sink)
        await state.gone.wait()
        assert sink.events == []
        assert pool.active == 0
        await pool.close()
