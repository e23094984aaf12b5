"""Bodies that are handed on while they arrive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.http.request import Refusal, Request
from antiphon.http.server import Exchange, Limits
from antiphon.http.server_budget import BodyBudget
from antiphon.http.server_reader import RequestReader
from tests.http.server_kit import chunked, get, post, running

CHUNKED = b"Transfer-Encoding: chunked"
MOST = 1_000_000


def admit(request: Request) -> bool:
    """/up may be handed on, /shut is not wanted, though it might be."""
    if request.path in (b"/up", b"/shut"):
        request.max_upload = MOST
    return request.path != b"/shut"


class Collected:
    """Whatever a reader delivers, with what its uploads brought."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.requests: list[Request] = []
        self.budget = BodyBudget()
        self.reader = RequestReader(limits or Limits(), self.requests.append, lambda: None, admit, self.budget)

    @property
    def bodies(self) -> list[bytes]:
        return [bytes(one.upload.data) if one.upload is not None else one.body for one in self.requests]


BODY = st.binary(max_size=60)


@settings(max_examples=300)
@given(st.lists(st.tuples(BODY, st.booleans(), st.sampled_from([b"/up", b"/other"])), max_size=4), st.data())
def test_cut_anywhere_the_same_requests_come_out(asked: list[tuple[bytes, bool, bytes]], data: Any) -> None:
    stream = b""
    for body, in_chunks, path in asked:
        if in_chunks:
            stream += get(path, CHUNKED, method=b"POST") + chunked(*[body[i : i + 7] for i in range(0, len(body), 7)])
        else:
            stream += post(body, path=path)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    seen = Collected()
    for start, end in zip((0, *cuts), (*cuts, len(stream)), strict=True):
        if start < end:
            seen.reader.take(stream[start:end])
    assert seen.bodies == [body for body, _, _ in asked]
    assert all(one.upload is None or one.upload.complete for one in seen.requests)
    assert all(one.keep_alive for one in seen.requests)
    assert seen.reader.fed == 0


def test_it_is_delivered_when_its_body_begins() -> None:
    seen = Collected()
    body = post(b"x" * 1000, path=b"/up")
    seen.reader.take(body[:-500])
    [request] = seen.requests
    upload = request.upload
    assert (upload.size, upload.length, upload.complete, request.keep_alive) == (500, 1000, False, False)
    assert seen.budget.held == 500
    upload.drop(500)
    assert seen.budget.held == 0
    seen.reader.take(body[-500:])
    assert (upload.size, upload.complete, request.keep_alive) == (1000, True, True)
    upload.close()
    assert seen.budget.held == 0


@pytest.mark.parametrize("in_chunks", [True, False])
def test_its_size_is_bounded(in_chunks: bool) -> None:
    seen = Collected(Limits(max_body=1000))
    size = MOST + 1
    framing = CHUNKED if in_chunks else b"Content-Length: %d" % size
    data = get(b"/up", framing, method=b"POST") + (b"%x\r\n" % size if in_chunks else b"")

    def send() -> None:
        seen.reader.take(data + b"x")
        for _ in range(200):
            seen.reader.take(b"x" * 10_000)

    with pytest.raises(Refusal) as caught:
        send()
    assert caught.value.status == 413


def test_what_may_be_larger_is_asked_about_before_its_length_is() -> None:
    seen = Collected(Limits(max_body=1000))
    seen.reader.take(get(b"/shut", b"Content-Length: 5000", method=b"POST"))
    assert [one.path for one in seen.requests] == [b"/shut"]
    other = Collected(Limits(max_body=1000))
    with pytest.raises(Refusal) as caught:
        other.reader.take(get(b"/other", b"Content-Length: 5000", method=b"POST"))
    assert caught.value.status == 413


def test_an_answer_before_the_end_ends_the_connection() -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.respond(418, b"", b"no")

    with running(refuse, Limits(), wants_body=admit) as server, server.client() as client:
        client.send(get(b"/up", b"Content-Length: 5000", method=b"POST") + b"x" * 100)
        answer = client.answer()
        assert (answer.status, answer.headers[b"connection"]) == (418, b"close")
        client.send(b"x" * 4900 + get())
        assert client.ended()
        assert server.on_loop(lambda: server.server.bodies.held) == 0


def test_an_answer_of_known_length_keeps_the_connection() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start(200, b"", 5)
        exchange.write(b"he")
        exchange.write(b"llo")
        exchange.finish()

    with running(answer, Limits()) as server, server.client() as client:
        for _ in range(2):
            client.send(get())
            seen = client.answer()
            assert (seen.headers[b"content-length"], seen.body, seen.complete) == (b"5", b"hello", True)
        client.send(get(method=b"HEAD"))
        assert client.answer(head=True).headers[b"content-length"] == b"5"
        client.send(get(b"/", b"Connection: keep-alive", version=b"1.0"))
        assert client.answer().body == b"hello"
        client.send(get())
        assert client.answer().body == b"hello"


def test_an_answer_of_known_length_that_is_cut_is_seen_to_be() -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start(200, b"", 500)
        exchange.write(b"hello")
        exchange.abort()

    with running(answer, Limits()) as server, server.client() as client:
        client.send(get())
        seen = client.answer()
        assert (seen.body, seen.complete) == (b"hello", False)
