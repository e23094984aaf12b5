"""The reader alone, without sockets: however the bytes are cut, the same requests and the same refusals come out."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.http.request import Refusal, Request, split_target
from antiphon.http.server_limits import Limits
from antiphon.http.server_reader import RequestReader
from tests.http.server_kit import chunked, get, post

LIMITS = Limits(max_body=10_000, max_header_bytes=4000)


def read(pieces: list[bytes], limits: Limits = LIMITS) -> tuple[list[Request], int]:
    """The requests, and the status of the refusal that ended them (0: none)."""
    requests: list[Request] = []
    reader = RequestReader(limits, requests.append, lambda: None)
    for piece in pieces:
        try:
            reader.feed(piece)
        except Refusal as refusal:
            return requests, refusal.status
        if reader.ended:
            break
    return requests, 0


def facts(request: Request) -> tuple[object, ...]:
    return (request.method, request.path, request.query, request.headers, request.body, request.keep_alive)


packed = gzip.compress(b"packed " * 50, mtime=0)
STREAMS = {
    "plain": get(b"/a?b=c", b"Accept: */*", b"X-Empty:", b"X-Space: a b \t") + post(b'{"a": 1}') + get(b"/last"),
    "chunked": get(b"/", b"Transfer-Encoding: chunked", method=b"POST")
    + b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nX-Trailer: 1\r\n\r\n"
    + get(b"/after"),
    "packed": post(packed, b"Content-Encoding: gzip")
    + get(b"/", b"Content-Encoding: gzip", b"Transfer-Encoding: chunked", method=b"POST")
    + chunked(packed[:3], packed[3:40], packed[40:]),
    "upgrade": post(b"body", b"Connection: upgrade", b"Upgrade: h2c"),
    "upgrade chunked": get(b"/", b"Connection: upgrade", b"Upgrade: h2c", b"Transfer-Encoding: chunked", method=b"POST")
    + chunked(b"bo", b"dy"),
    "empty lines": b"\r\n" + get() + b"\r\n\r\n" + post(b"x") + b"\r\n",
    "fault after good": post(b"good") + get(b"/", b"Host: two") + get(b"/never"),
    "bad chunk": get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + b"3\r\nabcd\r\n0\r\n\r\n",
    "last, then more": get(b"/", b"Connection: close") + get(b"/never"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_cut_at_every_byte(name: str) -> None:
    data = STREAMS[name]
    whole, status = read([data])
    assert whole or status
    for at in range(1, len(data)):
        requests, refused = read([data[:at], data[at:]])
        assert [facts(one) for one in requests] == [facts(one) for one in whole]
        assert refused == status
    requests, refused = read([data[at : at + 1] for at in range(len(data))])
    assert [facts(one) for one in requests] == [facts(one) for one in whole]
    assert refused == status


def test_what_the_streams_mean() -> None:
    bodies = {name: [one.body for one in read([data])[0]] for name, data in STREAMS.items()}
    assert bodies == {
        "plain": [b"", b'{"a": 1}', b""],
        "chunked": [b"hello!", b""],
        "packed": [b"packed " * 50] * 2,
        "upgrade": [b"body"],
        "upgrade chunked": [b"body"],
        "empty lines": [b"", b"x"],
        "fault after good": [b"good"],
        "bad chunk": [],
        "last, then more": [b""],
    }


RTSP = b"GET /a RTSP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("before", [get(b"/a"), post(b"{}", path=b"/a"), b"\r\n", STREAMS["chunked"], b""])
def test_only_http_is_read_however_it_is_cut(before: bytes) -> None:
    data = before + RTSP
    for at in range(1, len(data)):
        assert read([data[:at], data[at:]])[1] == 400
    assert read([data])[1] == 400
    assert read([data[at : at + 1] for at in range(len(data))])[1] == 400
    assert read([data.replace(b"RTSP", b"HTTP")])[1] == 0


def test_a_host_is_checked_on_every_request() -> None:
    bare = b"GET / HTTP/1.1\r\n\r\n"
    assert read([get() + bare])[1] == 400
    assert read([b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + bare])[1] == 400
    assert read([get() + b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"])[1] == 400


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ((b"Transfer-Encoding: chunked",), b"zz\r\n", 400),
        ((b"Transfer-Encoding: chunked", b"Content-Encoding: gzip"), chunked(b"no gzip"), 400),
        ((b"Content-Encoding: gzip", b"Content-Length: 7"), b"no gzip", 400),
        ((b"Content-Encoding: gzip", b"Content-Length: %d" % (len(packed) - 3)), packed[:-3], 400),
        ((b"Transfer-Encoding: chunked",), chunked(b"x" * 10_001), 413),
    ],
)
def test_a_faulty_body_is_refused_alike_with_and_without_an_upgrade(
    headers: tuple[bytes, ...], body: bytes, status: int
) -> None:
    for upgrade in ((), (b"Connection: upgrade", b"Upgrade: h2c")):
        data = get(b"/", *upgrade, *headers, method=b"POST") + body
        assert read([data])[1] == status
        assert read([data[:-1], data[-1:]])[1] == status


def test_memory_views_are_read_as_bytes_are() -> None:
    data = post(b"hello")
    requests: list[Request] = []
    reader = RequestReader(LIMITS, requests.append, lambda: None)
    reader.feed(memoryview(data)[:70])
    reader.feed(memoryview(data)[70:])
    assert [type(one.body) for one in requests] == [bytes]


def test_the_rest_of_a_body_is_known() -> None:
    reader = RequestReader(LIMITS, lambda request: None, lambda: None)
    assert reader.rest() == 0
    reader.feed(post(b"x" * 100)[:-40])
    assert reader.rest() == 40


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/a/b?c=d?e", b"/a/b", b"c=d?e"),
        (b"/a://b", b"/a://b", b""),
        (b"https://host:1/a?b", b"/a", b"b"),
        (b"http://host?b", b"/", b"b"),
        (b"*", b"*", b""),
    ],
)
def test_targets(target: bytes, path: bytes, query: bytes) -> None:
    assert split_target(target) == (path, query)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(min_size=0, max_size=300), max_size=4), st.data())
def test_any_bodies_in_any_pieces(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(
        post(body)
        if at % 2
        else get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + chunked(*filter(None, [body]))
        for at, body in enumerate(bodies)
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    requests, status = read([piece for piece in pieces if piece])
    assert (status, [one.body for one in requests]) == (0, bodies)


def test_another_protocol_between_two_requests_is_refused() -> None:
    http = RTSP.replace(b"RTSP", b"HTTP")
    assert read([http + RTSP + http])[1] == 400
    assert read([http + http + http])[1] == 0
