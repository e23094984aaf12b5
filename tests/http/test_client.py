"""Whole answers: every way a body may end, what the sink is told, what the request looks like on the wire."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.http.client import Origin, Pool, Timeouts, WholeSink
from tests.http.client_kit import OK, Peer, Recorder, answering, on_uvloop, post, upstream, within

ANSWERS = {
    "content-length": (OK, 200, b"hi"),
    "chunked": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n3\r\n yo\r\n0\r\n\r\n",
        200,
        b"hi yo",
    ),
    "trailers": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-t: 1\r\n\r\n", 200, b"hi"),
    "empty": (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, b""),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "304 with a length": (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n", 304, b""),
    "redirect": (b"HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n", 302, b""),
    "error": (b"HTTP/1.1 503 No\r\nretry-after: 1\r\ncontent-length: 1\r\n\r\nx", 503, b"x"),
    "interim": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: a\r\n\r\n" + OK, 200, b"hi"),
    "bare LF": (b"HTTP/1.1 200 OK\ncontent-length: 2\n\nhi", 200, b"hi"),
    "no reason": (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi", 200, b"hi"),
    "padded chunk size": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2  \r\nhi\r\n0\r\n\r\n", 200, b"hi"),
}
TO_EOF = {
    "HTTP/1.1": b"HTTP/1.1 200 OK\r\n\r\nall of it",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nserver: old\r\n\r\nall of it",
    "connection: close": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall of it",
}


@pytest.mark.parametrize("name", ANSWERS)
@on_uvloop
async def test_an_answer_ends_where_its_head_says(name: str) -> None:
    data, status, body = ANSWERS[name]
    async with upstream(answering(data)) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        assert await sink.ended() == body
        assert sink.status == status
        assert sink.events in (["head", "data", "end"], ["head", "end"])
        await pool.close()


@pytest.mark.parametrize("name", TO_EOF)
@on_uvloop
async def test_an_answer_without_a_length_ends_with_its_connection(name: str) -> None:
    async with upstream(answering(TO_EOF[name], close=True)) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        assert await sink.ended() == b"all of it"
        assert pool.idle == 0
        await pool.close()


@on_uvloop
async def test_head_has_no_body() -> None:
    async with upstream(answering(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        pool.send(b"HEAD", b"/", b"", b"", sink)
        assert await sink.ended() == b""
        assert sink.headers[b"content-length"] == b"5"
        await pool.close()


@on_uvloop
async def test_header_names_are_lower_case_and_repeated_ones_joined() -> None:
    data = b"HTTP/1.1 200 OK\r\nX-One: a\r\nx-ONE: b\r\nEmpty:\r\nContent-Length: 0\r\n\r\n"
    async with upstream(answering(data)) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        await sink.ended()
        assert sink.headers == {b"x-one": b"a, b", b"empty": b"", b"content-length": b"0"}
        await pool.close()


@on_uvloop
async def test_the_request_on_the_wire() -> None:
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        while request := await peer.request():
            seen.append(request)
            peer.send(OK)

    async with upstream(script) as (origin, _):
        pool = Pool(origin)
        for method, body in ((b"POST", b"abc"), (b"POST", b""), (b"GET", b"")):
            sink = Recorder()
            pool.send(method, b"/v1/x?y=1", b"x-a: 1\r\nx-b: 2\r\n", body, sink)
            await sink.ended()
        await pool.close()
    common = (
        b" /v1/x?y=1 HTTP/1.1\r\nhost: 127.0.0.1:%d\r\naccept-encoding: identity\r\nx-a: 1\r\nx-b: 2\r\n" % origin.port
    )
    assert seen == [
        b"POST" + common + b"content-length: 3\r\n\r\nabc",
        b"POST" + common + b"content-length: 0\r\n\r\n",
        b"GET" + common + b"\r\n",
    ]


@on_uvloop
async def test_a_large_body_goes_out_whole() -> None:
    body = bytes(range(256)) * 4096 * 8
    seen: list[int] = []

    async def script(peer: Peer) -> None:
        seen.append((await peer.request()).endswith(b"\r\n\r\n" + body))
        peer.send(OK)
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink, body)
        await sink.ended()
        assert seen == [True]
        await pool.close()


@on_uvloop
async def test_the_pieces_of_one_read_come_in_one_call() -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % c for c in b"abcdefgh")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    async with upstream(answering(head + chunks + b"0\r\n\r\n")) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        assert await sink.ended() == b"abcdefgh"
        assert sink.events == ["head", "data", "end"]
        await pool.close()


ENCODED = {
    "gzip": (b"gzip", gzip.compress(b"hello " * 50)),
    "x-gzip": (b"X-GZip", gzip.compress(b"hello " * 50)),
    "two members": (b"gzip", gzip.compress(b"hello " * 20) + gzip.compress(b"hello " * 30)),
    "padding after the end": (b"gzip", gzip.compress(b"hello " * 50) + b"\0\0\0"),
    "zlib": (b"deflate", zlib.compress(b"hello " * 50)),
    "bare deflate": (b"deflate", zlib.compress(b"hello " * 50, wbits=-15)),
    "identity": (b"identity", b"hello " * 50),
}


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("step", [1, 1_000_000])
@on_uvloop
async def test_an_encoding_nobody_asked_for_is_undone(name: str, step: int) -> None:
    encoding, data = ENCODED[name]
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(data[i : i + step]), data[i : i + step]) for i in range(0, len(data), step)
    )

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-encoding: %b\r\ntransfer-encoding: chunked\r\n\r\n" % encoding)
        for start in range(0, len(chunks), 97):
            peer.send(chunks[start : start + 97])
            await peer.writer.drain()
        peer.send(b"0\r\n\r\n")
        await peer.gone()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        assert await sink.ended() == b"hello " * 50
        assert (b"content-encoding" in sink.headers) is (name == "identity")
        await pool.close()


@on_uvloop
async def test_an_encoded_stream_is_heard_as_it_comes() -> None:
    machine = zlib.compressobj(wbits=31)
    first = machine.compress(b"data: 1\n\n") + machine.flush(zlib.Z_SYNC_FLUSH)
    heard = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\n" + first)
        await within(heard.wait())
        peer.send(machine.compress(b"data: 2\n\n") + machine.flush())
        await peer.writer.drain()
        peer.close()

    async with upstream(script) as (origin, _):
        pool, sink = Pool(origin), Recorder()
        post(pool, sink)
        await within(sink.data.wait())
        assert sink.body == b"data: 1\n\n"
        heard.set()
        assert await sink.ended() == b"data: 1\n\ndata: 2\n\n"
        await pool.close()


@on_uvloop
async def test_event_streams_have_no_total_limit_and_others_do() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\ncontent-length: 300000\r\n\r\n"
    async with upstream(answering(head + b"x" * 300_000)) as (origin, _):
        pool, sink = Pool(origin, max_body=1000), Recorder()
        post(pool, sink)
        assert len(await sink.ended()) == 300_000
        await pool.close()


@on_uvloop
async def test_over_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(0, reader, writer)
        while request := await peer.request():
            seen.append(request)
            peer.send(OK)
        peer.close()

    server = await asyncio.start_unix_server(serve, path)
    pool, sink = Pool(Origin("localhost", 80, unix=path), Timeouts()), Recorder()
    post(pool, sink)
    assert await sink.ended() == b"hi"
    assert b"\r\nhost: localhost\r\n" in seen[0]
    await pool.close()
    server.close()
    await server.wait_closed()


class WholeRecorder(Recorder, WholeSink):
    """A sink that takes usual JSON answers whole; then it may send again."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self._then = then

    def on_whole(self, body: bytes) -> None:
        self.events.append("whole")
        self.pieces.append(body)
        self._then()
        self.done.set()


JSON = b"content-type: application/json; charset=utf-8\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\n%bcontent-length: 2\r\n\r\n{}" % JSON
STEPWISE = {
    "another status": WHOLE.replace(b"200 OK", b"201 Created"),
    "an error": WHOLE.replace(b"200 OK", b"400 Bad Request"),
    "another type": WHOLE.replace(b"application/json", b"text/event-stream"),
    "no type": WHOLE.replace(JSON, b""),
    "chunked": WHOLE.replace(b"content-length: 2\r\n\r\n{}", b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    "the last": WHOLE.replace(JSON, JSON + b"connection: close\r\n"),
    "encoded": WHOLE.replace(JSON, JSON + b"content-encoding: identity\r\n"),
    "interim": b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE.replace(b"200 OK", b"203 Other"),
}


@on_uvloop
async def test_a_usual_json_answer_is_told_whole_after_its_connection_is_free() -> None:
    async with upstream(answering(WHOLE)) as (origin, peers):
        pool, second = Pool(origin), WholeRecorder()
        first = WholeRecorder(lambda: post(pool, second))
        post(pool, first)
        assert (await first.ended(), first.events) == (b"{}", ["whole"])
        assert (await second.ended(), second.events) == (b"{}", ["whole"])
        assert (peers.connections, pool.idle, pool.active) == (1, 1, 0)
        await pool.close()


@pytest.mark.parametrize("name", STEPWISE)
@on_uvloop
async def test_any_other_answer_is_told_step_by_step(name: str) -> None:
    async with upstream(answering(STEPWISE[name])) as (origin, _):
        pool, sink = Pool(origin), WholeRecorder()
        post(pool, sink)
        assert await sink.ended() == b"{}"
        assert sink.events == ["head", "data", "end"]
        await pool.close()
