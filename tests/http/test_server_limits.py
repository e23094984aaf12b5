"""Refusals, limits and times, over real sockets: one answer in the client's dialect, then the connection ends."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from antiphon.http.server import Limits
from tests.http.server_kit import DEADLINE, Client, Running, chunked, echo, get, later, post, running

SMALL = Limits(
    max_body=1000,
    max_header_bytes=2000,
    max_header_count=10,
    max_target=100,
    header_timeout=0.3,
    body_timeout=0.3,
    keepalive=0.3,
)


def refused(client: Client, status: int) -> bytes:
    """Exactly one answer, with this status, then the end; gives the answer's body."""
    answer = client.answer()
    assert answer.status == status
    assert answer.body.startswith(b"fault %d" % status)
    assert answer.headers[b"connection"] == b"close"
    assert answer.headers[b"content-type"] == b"text/plain"
    assert client.ended()
    return answer.body


def head(*lines: bytes) -> bytes:
    return b"\r\n".join([*lines, b"", b""])


HOST = b"Host: a"
POST = b"POST /x HTTP/1.1"
REFUSALS: dict[str, tuple[int, bytes]] = {
    "no http": (400, b"hello\r\n\r\n"),
    "tls on a plain port": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "nul": (400, b"\x00" * 10),
    "http/2 preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "http/0.9 line": (400, b"GET /\r\n"),
    "http/0.9": (400, b"GET /\r\n\r\n"),
    "http/0.9 named": (400, head(b"GET / HTTP/0.9")),
    "http/2.0": (505, head(b"GET / HTTP/2.0", HOST)),
    "http/1.2": (400, head(b"GET / HTTP/1.2", HOST)),
    "unknown method": (501, head(b"BREW / HTTP/1.1", HOST)),
    "lower-case method": (501, head(b"get / HTTP/1.1", HOST)),
    "rtsp": (400, head(b"GET / RTSP/1.0", HOST)),
    "rtsp 1.1": (400, head(b"POST / RTSP/1.1", HOST, b"Content-Length: 5") + b"hello"),
    "rtsp for all": (400, head(b"OPTIONS * RTSP/1.0", HOST)),
    "rtsp before http": (400, head(b"GET / RTSP/1.0", HOST) + head(b"GET / HTTP/1.1", HOST)),
    "rtsp with http in its target": (400, head(b"GET /?HTTP/1.1 RTSP/1.0", HOST)),
    "rtsp with http in a header": (400, head(b"GET / RTSP/1.0", HOST, b"X: GET / HTTP/1.0")),
    "ice": (400, head(b"SOURCE / ICE/1.0", HOST)),
    "two spaces": (400, head(b"GET  / HTTP/1.1", HOST)),
    "no host": (400, head(b"GET / HTTP/1.1")),
    "two hosts": (400, head(b"GET / HTTP/1.1", HOST, b"hOsT: b")),
    "two equal hosts": (400, head(b"GET / HTTP/1.1", HOST, HOST)),
    "host list": (400, head(b"GET / HTTP/1.1", b"Host: a, b")),
    "host with a path": (400, head(b"GET / HTTP/1.1", b"Host: a/b")),
    "host with a user": (400, head(b"GET / HTTP/1.1", b"Host: me@a")),
    "relative target": (400, head(b"GET x HTTP/1.1", HOST)),
    "target above ascii": (400, head(b"GET /\xff HTTP/1.1", HOST)),
    "length and coding": (400, head(POST, HOST, b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "coding and length": (400, head(POST, HOST, b"Transfer-Encoding: chunked", b"Content-Length: 5") + b"0\r\n\r\n"),
    "two lengths": (400, head(POST, HOST, b"Content-Length: 5", b"Content-Length: 6") + b"hello"),
    "two equal lengths": (400, head(POST, HOST, b"Content-Length: 5", b"Content-Length: 5") + b"hello"),
    "length list": (400, head(POST, HOST, b"Content-Length: 5, 5") + b"hello"),
    "signed length": (400, head(POST, HOST, b"Content-Length: +5") + b"hello"),
    "negative length": (400, head(POST, HOST, b"Content-Length: -5") + b"hello"),
    "hexadecimal length": (400, head(POST, HOST, b"Content-Length: 0x5") + b"hello"),
    "empty length": (400, head(POST, HOST, b"Content-Length:") + b"hello"),
    "endless length": (400, head(POST, HOST, b"Content-Length: " + b"9" * 40) + b"hello"),
    "coding before chunked": (501, head(POST, HOST, b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n"),
    "chunked not last": (400, head(POST, HOST, b"Transfer-Encoding: chunked, gzip") + b"0\r\n\r\n"),
    "unknown coding": (501, head(POST, HOST, b"Transfer-Encoding: xchunked") + b"0\r\n\r\n"),
    "identity coding": (501, head(POST, HOST, b"Transfer-Encoding: identity") + b"0\r\n\r\n"),
    "chunked twice": (
        400,
        head(POST, HOST, b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    ),
    "vertical tab before coding": (400, head(POST, HOST, b"Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n"),
    "coding in http/1.0": (400, head(b"POST / HTTP/1.0", HOST, b"Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "bare lf": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "bare lf in headers": (400, b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"),
    "bare cr in headers": (400, b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
    "obs-fold": (400, head(b"GET / HTTP/1.1", HOST, b"X: a", b" b")),
    "space before the first header": (400, head(b"GET / HTTP/1.1", b" X: a", HOST)),
    "space before colon": (400, head(POST, HOST, b"Content-Length : 5") + b"hello"),
    "header without colon": (400, head(b"GET / HTTP/1.1", HOST, b"nothing")),
    "header without name": (400, head(b"GET / HTTP/1.1", HOST, b": x")),
    "nul in a header": (400, head(b"GET / HTTP/1.1", HOST, b"X: a\x00b")),
    "bad chunk size": (400, head(POST, HOST, b"Transfer-Encoding: chunked") + b"zz\r\nabc\r\n0\r\n\r\n"),
    "negative chunk size": (400, head(POST, HOST, b"Transfer-Encoding: chunked") + b"-1\r\nabc\r\n0\r\n\r\n"),
    "endless chunk size": (400, head(POST, HOST, b"Transfer-Encoding: chunked") + b"f" * 20 + b"\r\n"),
    "chunk size with lf": (400, head(POST, HOST, b"Transfer-Encoding: chunked") + b"3\nabc\r\n0\r\n\r\n"),
    "chunk longer than its size": (400, head(POST, HOST, b"Transfer-Encoding: chunked") + b"3\r\nabcde\r\n0\r\n\r\n"),
    "lf in a chunk extension": (400, head(POST, HOST, b"Transfer-Encoding: chunked") + b"3;a\nb\r\nabc\r\n0\r\n\r\n"),
    "other expectation": (417, head(POST, HOST, b"Expect: gold", b"Content-Length: 5")),
    "other encoding": (415, head(POST, HOST, b"Content-Encoding: br", b"Content-Length: 5") + b"hello"),
    "two encodings": (415, head(POST, HOST, b"Content-Encoding: gzip, gzip", b"Content-Length: 5") + b"hello"),
    "not gzip": (400, post(b"hello world", b"Content-Encoding: gzip")),
    "cut gzip": (400, post(gzip.compress(b"hello" * 9)[:-9], b"Content-Encoding: gzip")),
    "gzip and more": (400, post(gzip.compress(b"hello") + b"more", b"Content-Encoding: gzip")),
    "zlib and more": (400, post(zlib.compress(b"hello") + b"more", b"Content-Encoding: deflate")),
    "long target": (414, get(b"/" + b"x" * 100)),
    "endless target": (414, b"GET /" + b"x" * 5000),
    "many headers": (431, get(b"/", *(b"X-%d: 1" % number for number in range(10)))),
    "one header many times": (431, get(b"/", *(b"X: 1",) * 10)),
    "large headers": (431, get(b"/", b"X: " + b"x" * 2000)),
    "endless headers": (431, b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 20000),
    "endless header name": (431, b"GET / HTTP/1.1\r\n" + b"x" * 20000),
    "endless trailers": (431, get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + b"0\r\nX: " + b"x" * 20000),
    "endless chunk extension": (431, get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + b"3;" + b"x" * 20000),
    "large body": (413, post(b"x" * 1001)),
    "announced large body": (413, get(b"/", b"Content-Length: 1001", method=b"POST")),
    "announced large body, continue": (
        413,
        get(b"/", b"Content-Length: 1001", b"Expect: 100-continue", method=b"POST"),
    ),
    "large chunks": (413, get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + chunked(*(b"x" * 100,) * 11)),
    "gzip bomb": (413, post(gzip.compress(bytes(500_000)), b"Content-Encoding: gzip")),
    "deflate bomb": (413, post(zlib.compress(bytes(500_000)), b"Content-Encoding: deflate")),
}


@pytest.fixture(scope="module")
def small() -> Iterator[Running]:
    with running(echo, SMALL) as run:
        yield run


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(small: Running, name: str) -> None:
    status, data = REFUSALS[name]
    with small.client() as client:
        client.send(data)
        refused(client, status)
    with small.client() as client:
        client.send(get(b"/fine"))
        assert client.answer().body == b"GET /fine "


@pytest.mark.parametrize(
    "data",
    [
        post(b"x" * 1000),
        get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + chunked(*(b"x" * 100,) * 10),
        post(gzip.compress(b"x" * 1000), b"Content-Encoding: gzip"),
        get(b"/" + b"x" * 99),
        get(b"/", *(b"X-%d: 1" % number for number in range(9))),
        get(b"/", b"X: " + b"x" * 1900),
        b"\r\n\r\n" + get(),
        head(b"GET / HTTP/1.1", b"Host:"),
        head(b"GET / HTTP/1.1", b"Host: [::1]:8080"),
        head(b"GET / HTTP/1.0"),
        get(b"/", b"Content-Encoding: br"),
        get(b"/", b"Transfer-Encoding: Chunked", method=b"POST") + chunked(b"x"),
    ],
)
def test_what_just_fits_is_answered(small: Running, data: bytes) -> None:
    with small.client() as client:
        client.send(data)
        assert client.answer().status == 200


def test_a_fault_knows_the_path_as_far_as_it_was_read(small: Running) -> None:
    with small.client() as client:
        client.send(get(b"/skytells/v1/x?y=1", b"X: " + b"x" * 3000))
        assert b"431 /skytells/v1/x " in refused(client, 431)


def test_many_small_chunks_are_no_fault(small: Running) -> None:
    with small.client() as client:
        client.send(get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + chunked(*(b"x",) * 900))
        assert client.answer().body == b"POST / " + b"x" * 900


def test_a_refused_client_that_keeps_sending_can_read_the_answer() -> None:
    """The answer comes before the body is there, and no reset destroys it while the client sends on."""
    with running(limits=Limits(max_body=1000)) as run, run.client() as client:
        client.send(get(b"/", b"Content-Length: 30000000", method=b"POST"))
        client.send(b"x" * 8_000_000)
        refused(client, 413)


def test_a_bomb_is_refused_before_it_is_complete() -> None:
    packed = gzip.compress(bytes(100_000_000), 9)
    with running(limits=Limits(max_body=1_000_000)) as run, run.client() as client:
        client.send(get(b"/", b"Content-Encoding: gzip", b"Content-Length: %d" % len(packed), method=b"POST"))
        client.send(packed[:20000])
        refused(client, 413)


def test_head_gets_a_fault_without_body(small: Running) -> None:
    with small.client() as client:
        client.send(get(b"/", b"X: " + b"x" * 3000, method=b"HEAD"))
        assert client.answer(head=True).status == 431
        assert client.ended()


def test_gzip_members_are_bounded() -> None:
    member = gzip.compress(b"x")
    with running() as run, run.client() as client:
        client.send(post(member * 64, b"Content-Encoding: gzip"))
        assert client.answer().body == b"POST / " + b"x" * 64
        client.send(post(member * 65, b"Content-Encoding: gzip"))
        refused(client, 400)


# Times


def test_slow_headers_are_refused_though_they_make_progress() -> None:
    with running(limits=SMALL) as run, run.client() as client:
        pace = threading.Event()
        client.send(b"GET / HTTP/1.1\r\n")

        def trickle() -> None:
            try:
                while not pace.wait(0.05):
                    client.send(b"x: y\r\n")
            except OSError:
                pass

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        answer = client.answer()
        pace.set()
        thread.join(DEADLINE)
        assert answer.status in (408, 431)


def test_headers_that_stop_are_refused(small: Running) -> None:
    with small.client() as client:
        client.send(b"GE")
        refused(client, 408)


@pytest.mark.parametrize("lines", [b"", b"\r\n"])
def test_a_silent_client_is_closed_silently(small: Running, lines: bytes) -> None:
    with small.client() as client:
        client.send(lines)
        assert client.ended()


@pytest.mark.parametrize("framing", [b"Content-Length: 10", b"Transfer-Encoding: chunked"])
def test_a_body_that_stops_is_refused(small: Running, framing: bytes) -> None:
    with small.client() as client:
        client.send(get(b"/stopped", framing, method=b"POST"))
        assert b"408 /stopped " in refused(client, 408)


def test_a_body_that_makes_progress_is_waited_for() -> None:
    with running(limits=replace(SMALL, min_body_rate=10)) as run, run.client() as client:
        client.send(get(b"/", b"Content-Length: 20", method=b"POST"))
        pace = threading.Event()
        for _ in range(20):
            pace.wait(0.05)
            client.send(b"x")
        assert client.answer().body == b"POST / " + b"x" * 20


def test_an_idle_connection_is_closed_silently(small: Running) -> None:
    with small.client() as client:
        client.send(get())
        client.answer()
        assert client.ended()


def test_no_time_runs_while_the_handler_works() -> None:
    with running(later, SMALL) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        assert not threading.Event().wait(0.8)
        run.echo(exchange)
        assert client.answer().status == 200


# Connections


def test_too_many_connections() -> None:
    with running(later, limits=Limits(max_connections=2)) as run:
        clients = [run.connect() for _ in range(2)]
        for client in clients:
            client.send(get())
            run.next_exchange()
        extra = run.connect()
        extra.send(get(b"/extra"))
        answer = extra.answer()
        assert answer.status == 503
        assert answer.headers[b"retry-after"] == b"1"
        assert answer.body.startswith(b"fault 503 /extra ")
        assert extra.ended()
        extra.close()
        clients[0].close()
        run.wait_for(lambda: run.server.connections == 1)
        with run.client() as client:
            client.send(get())
            run.echo(run.next_exchange())
            assert client.answer().status == 200
        clients[1].close()


def test_a_flood_of_connections_is_closed_at_once() -> None:
    with running(limits=Limits(max_connections=1)) as run:
        clients = [run.connect() for _ in range(80)]
        run.wait_for(lambda: run.server.connections <= 65)
        for client in clients:
            client.close()
        run.wait_for(lambda: run.server.connections == 0)
