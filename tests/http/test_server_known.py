"""Heads sent again: whatever the shortcut does, the same requests come out as from a parser that has seen nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.http.head_cache import LARGEST, know
from antiphon.http.request import Refusal, Request
from antiphon.http.server_limits import Limits
from antiphon.http.server_reader import MISSES, RequestReader
from tests.http.server_kit import chunked, get, post

LIMITS = Limits(max_body=2000, max_header_bytes=4000)
LINE = b"POST /v1/x?a=b HTTP/1.1\r\n"
HEAD = LINE + b"Host: a\r\nContent-Length: %d\r\nX-Key: Value\r\n\r\n"


def facts(request: Request) -> tuple[object, ...]:
    return (request.method, request.path, request.query, request.headers, request.body, request.keep_alive)


def taken(reads: list[bytes], limits: Limits = LIMITS) -> tuple[list[tuple[object, ...]], int]:
    """The requests by way of take(), and the status of the refusal that ended them (0: none)."""
    requests: list[Request] = []
    reader = RequestReader(limits, requests.append, lambda: None)
    status = 0
    for data in reads:
        try:
            reader.take(data)
        except Refusal as refusal:
            status = refusal.status
        if reader.ended or status:
            break
    return [facts(one) for one in requests], status


def parsed(reads: list[bytes], limits: Limits = LIMITS) -> tuple[list[tuple[object, ...]], int]:
    requests: list[Request] = []
    reader = RequestReader(limits, requests.append, lambda: None)
    try:
        for data in reads:
            reader.feed(data)
            if reader.ended:
                break
    except Refusal as refusal:
        return [facts(one) for one in requests], refusal.status
    return [facts(one) for one in requests], 0


def whole(body: bytes) -> bytes:
    return HEAD % len(body) + body


def request_of(data: bytes) -> Request:
    requests: list[Request] = []
    RequestReader(Limits(), requests.append, lambda: None).feed(data)
    return requests[0]


AFTER = {
    "the same": [whole(b"x" * 12)],
    "another length": [whole(b"y" * 99)],
    "no body": [whole(b"")],
    "more digits": [whole(b"y" * 100), whole(b"z" * 101)],
    "cut in the body": [whole(b"y" * 50)[:-7], whole(b"y" * 50)[-7:], whole(b"z" * 12)],
    "cut in the head": [whole(b"y" * 50)[:30], whole(b"y" * 50)[30:], whole(b"z" * 12)],
    "cut after one byte": [b"P", whole(b"y" * 50)[1:], whole(b"z" * 12)],
    "two at once": [whole(b"y" * 50) + whole(b"z" * 51), whole(b"z" * 12)],
    "one and the start of the next": [whole(b"y" * 50) + b"PO", whole(b"z" * 51)[2:], whole(b"z" * 12)],
    "an empty line first": [b"\r\n" + whole(b"y" * 50), b"\r\n", whole(b"z" * 12)],
    "other spelling of the length": [whole(b"").replace(b": 0", b": 012") + b"x" * 12, whole(b"z" * 12)],
    "a sign": [whole(b"").replace(b": 0", b": +12") + b"x" * 12],
    "a length that is short": [HEAD % 12 + b"x" * 13],
    # One digit more than was learnt, and one byte less than it says: must wait for that byte.
    "fewer digits": [whole(b"y" * 9), whole(b"z" * 0), whole(b"z" * 1000), whole(b"z" * 5)],
    "a length with two digits more": [HEAD % 1000 + b"x" * 998, b"xx", whole(b"z" * 12)],
    "a length with one digit more": [HEAD % 100 + b"x" * 99, b"x", whole(b"z" * 12)],
    "too large": [whole(b"x" * 2001)],
    "another key": [whole(b"x" * 12).replace(b"Value", b"Other"), whole(b"z" * 12)],
    "another path": [whole(b"x" * 12).replace(b"/v1/x", b"/v1/y"), whole(b"z" * 12)],
    "the last": [whole(b"x" * 12).replace(b"X-Key: Value", b"Connection: close"), whole(b"z" * 12)],
    "chunked": [get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + chunked(b"a", b"b"), whole(b"z" * 12)],
}


@pytest.mark.parametrize("name", AFTER)
def test_after_a_head_is_known_everything_is_read_as_before(name: str) -> None:
    reads = [whole(b"x" * 11), whole(b"x" * 10), *AFTER[name]]
    assert taken(reads) == parsed(reads)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 1100), min_size=1, max_size=12), st.data())
def test_any_lengths_in_any_reads(sizes: list[int], data: st.DataObject) -> None:
    stream = b"".join(whole(b"b" * size) for size in sizes)
    ends = [sum(len(whole(b"b" * size)) for size in sizes[: at + 1]) for at in range(len(sizes))]
    odd = data.draw(st.lists(st.integers(0, len(stream)), max_size=3))
    cuts = sorted({0, *data.draw(st.sets(st.sampled_from(ends))), *odd, len(stream)})
    reads = [stream[a:b] for a, b in pairwise(cuts)]
    assert taken(reads) == parsed(reads)
    assert len(taken(reads)[0]) == len(sizes)


def test_a_request_may_change_its_headers_without_changing_the_next_ones() -> None:
    requests: list[Request] = []
    reader = RequestReader(LIMITS, requests.append, lambda: None)
    for size in (10, 20, 30, 40):
        reader.take(whole(b"x" * size))
        requests[-1].headers[b"x-key"] = b"changed"
    reader.take(whole(b"x" * 50))
    assert requests[-1].headers == {b"host": b"a", b"content-length": b"50", b"x-key": b"Value"}


def test_a_known_head_is_recognised_whatever_the_number_of_digits() -> None:
    requests: list[Request] = []
    reader = RequestReader(LIMITS, requests.append, lambda: None)
    reader.take(whole(b"x" * 10))
    reader.take(whole(b"x" * 10))
    known = reader._known
    sizes = [9, 99, 100, 1000, 10]
    for size in sizes:
        reader.take(whole(b"x" * size))
    assert reader._known is known is not None  # what is parsed is learnt anew
    assert [len(one.body) for one in requests] == [10, 10, *sizes]


def test_heads_that_differ_every_time_are_not_learnt_for_ever() -> None:
    requests: list[Request] = []
    reader = RequestReader(LIMITS, requests.append, lambda: None)
    for turn in range(MISSES + 2):
        reader.take(whole(b"x").replace(b"Value", b"%05d" % turn))
    assert [one.headers[b"x-key"] for one in requests] == [b"%05d" % turn for turn in range(MISSES + 2)]
    assert reader._known is None
    reader.take(whole(b"x"))
    reader.take(whole(b"x"))
    assert reader._known is None
    assert len(requests) == MISSES + 4


def test_what_is_learnt() -> None:
    known = know(whole(b"x" * 12), request_of(whole(b"x" * 12)))
    assert known is not None
    assert (known.before, known.after) == (LINE + b"Host: a\r\nContent-Length: ", b"\r\nX-Key: Value\r\n\r\n")
    assert known.size == len(HEAD % 12)
    assert "Value" not in repr(known)


@pytest.mark.parametrize(
    "data",
    [
        get(),
        whole(b"x" * 12) + b"P",
        whole(b"x" * 12) + whole(b"x" * 12),
        post(b"x", b"Connection: close"),
        post(b"x", b"Expect: 100-continue"),
        post(b"x", b"X-Long: " + b"x" * LARGEST),
        get(b"/", b"Transfer-Encoding: chunked", method=b"POST") + chunked(b"a"),
        b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
    ],
)
def test_what_is_not_learnt(data: bytes) -> None:
    assert know(data, request_of(data)) is None
