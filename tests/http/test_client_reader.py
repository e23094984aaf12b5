"""The reader of answers, without sockets: split anywhere it says the same, and it can be used again."""

from __future__ import annotations

import pytest

from antiphon.http.client_reader import AnswerReader

CHUNKED = b"HTTP/1.1 200 OK\r\nA: 1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nt: 1\r\n\r\n"
ANSWERS = {
    "chunked": (CHUNKED, 200, b"abcde"),
    "length": (b"HTTP/1.1 404 Not\r\na: 1\r\ncontent-length: 3\r\n\r\nabc", 404, b"abc"),
    "interim": (b"HTTP/1.1 103 E\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\na: 1\r\ncontent-length: 1\r\n\r\nx", 200, b"x"),
    "204": (b"HTTP/1.1 204 No\r\na: 1\r\ncontent-length: 9\r\n\r\n", 204, b""),
}


def feed(reader: AnswerReader, *pieces: bytes) -> bytes:
    assert reader.parser is not None
    for piece in pieces:
        reader.parser.feed_data(piece)
    body = b"".join(reader.pieces[: reader.end] if reader.complete else reader.pieces)
    reader.pieces.clear()
    return body


@pytest.mark.parametrize("name", ANSWERS)
def test_split_at_every_byte(name: str) -> None:
    data, status, body = ANSWERS[name]
    reader = AnswerReader(1000, 10)
    for cut in range(len(data) + 1):
        reader.reset(False)
        assert feed(reader, data[:cut], data[cut:]) == body
        assert (reader.status, reader.headers[b"a"], reader.complete, reader.keep) == (status, b"1", True, True)
        assert b"link" not in reader.headers
        assert b"t" not in reader.headers


@pytest.mark.parametrize("name", ANSWERS)
def test_byte_by_byte(name: str) -> None:
    data, status, body = ANSWERS[name]
    reader = AnswerReader(1000, 10)
    heard = b""
    for byte in range(len(data) - 1):
        assert not reader.complete, byte
        heard += feed(reader, data[byte : byte + 1])
    heard += feed(reader, data[-1:])
    assert (reader.status, reader.complete, heard) == (status, True, body)


def test_what_follows_an_answer_is_not_part_of_it() -> None:
    reader = AnswerReader(1000, 10)
    assert feed(reader, ANSWERS["length"][0] + CHUNKED) == b"abc"
    assert (reader.status, reader.keep) == (404, False)
    assert set(reader.headers) == {b"a", b"content-length"}


def test_an_answer_to_head_is_complete_with_its_head() -> None:
    reader = AnswerReader(1000, 10)
    reader.reset(True)
    assert feed(reader, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc") == b""
    assert (reader.complete, reader.keep) == (True, False)


@pytest.mark.parametrize(("size", "count"), [(8, 10), (1000, 1)])
def test_a_head_over_a_limit(size: int, count: int) -> None:
    reader = AnswerReader(size, count)
    feed(reader, ANSWERS["length"][0])
    assert reader.is_over(len(ANSWERS["length"][0]))
