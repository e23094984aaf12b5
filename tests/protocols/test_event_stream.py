"""AWS event streams: any chunking, both checksums, and bounds."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import UpstreamError
from antiphon.protocols.event_stream import MOST_PAYLOAD, EventMessage, MessageReader, read_headers, read_kind
from tests.protocols.aws_frames import event, exception, message

STREAM = event("messageStart", {"role": "assistant"}) + exception("throttlingException", {"message": "é"})


def read(pieces: list[bytes]) -> tuple[list[EventMessage], MessageReader]:
    reader = MessageReader()
    out: list[EventMessage] = []
    for piece in pieces:
        reader.feed(piece, out)
    return out, reader


def test_messages_are_cut_out_whole() -> None:
    (first, second), reader = read([STREAM])
    assert read_kind(first.headers) == ("event", "messageStart")
    assert read_kind(second.headers) == ("exception", "throttlingException")
    assert first.payload.startswith(b'{"role": "assistant"')
    assert reader.is_between


def test_every_split_gives_the_same() -> None:
    whole, _ = read([STREAM])
    for cut in range(len(STREAM) + 1):
        assert read([STREAM[:cut], STREAM[cut:]])[0] == whole
    assert read([STREAM[place : place + 1] for place in range(len(STREAM))])[0] == whole


def test_a_message_that_is_not_whole_is_held() -> None:
    out, reader = read([STREAM[:-1]])
    assert len(out) == 1
    assert not reader.is_between


@pytest.mark.parametrize("place", range(len(STREAM)))
def test_a_changed_byte_is_found(place: int) -> None:
    changed = bytearray(STREAM)
    changed[place] ^= 0x20
    out: list[EventMessage] = []
    with pytest.raises(UpstreamError) as caught:
        MessageReader().feed(bytes(changed), out)
    assert caught.value.code == "upstream_malformed"
    assert len(out) == (0 if place < len(event("messageStart", {"role": "assistant"})) else 1)


@pytest.mark.parametrize(
    ("length", "headers"), [(MOST_PAYLOAD + 17, 0), (2**32 - 1, 0), (15, 0), (16, 1), (100_000, 70_000)]
)
def test_lengths_are_bounded_before_they_are_believed(length: int, headers: int) -> None:
    prelude = struct.pack(">II", length, headers)
    with pytest.raises(UpstreamError):
        read([prelude + struct.pack(">I", crc32(prelude)) + b"0000"])


def test_headers_of_every_type_are_passed_over() -> None:
    def header(name: bytes, kind: int, value: bytes) -> bytes:
        return bytes([len(name)]) + name + bytes([kind]) + value

    headers = b"".join(header(b"h%d" % kind, kind, b"\x00" * length) for kind, length in enumerate((0, 0, 1, 2, 4, 8)))
    headers += header(b"bytes", 6, b"\x00\x03abc") + header(b"time", 8, b"\x00" * 8) + header(b"uuid", 9, b"\x00" * 16)
    headers += header(b":event-type", 7, b"\x00\x04pong")
    assert read_headers(headers) == {":event-type": "pong"}


@pytest.mark.parametrize(
    "headers", [b"\x05ab", b"\x01a\x0a", b"\x01a\x07\x00\x09x", b"\x01\xff\x00", b"\x01a", b"\x01a\x07\x00"]
)
def test_headers_that_are_none_are_refused(headers: bytes) -> None:
    with pytest.raises(UpstreamError):
        read_headers(headers)


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_other_bytes_never_raise_anything_else(pieces: list[bytes]) -> None:
    try:
        read(pieces)
    except UpstreamError:
        return


@given(st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=300)), max_size=5), st.data())
def test_any_chunking_gives_the_same(messages: list[tuple[str, bytes]], data: st.DataObject) -> None:
    stream = b"".join(message({":event-type": name, ":message-type": "event"}, body) for name, body in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    out, reader = read(pieces)
    assert [read.payload for read in out] == [body for _, body in messages]
    assert reader.is_between
