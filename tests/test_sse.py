from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.sse import DONE, KEEPALIVE, Decoder, Named, SseError, frame


def decode(*reads: bytes) -> list[bytes]:
    decoder = Decoder()
    return [event for read in reads for event in decoder.feed(read)] + decoder.close()


def test_frames() -> None:
    assert frame(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert decode(frame(b'{"a":1}') + frame(b"{}") + KEEPALIVE + DONE) == [b'{"a":1}', b"{}", b"[DONE]"]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # WHATWG HTML §9.2.6, its own examples
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n", None),
        (b"data:test\n\ndata: test\n\n", [b"test", b"test"]),
        # ours: blank data is a heartbeat
        (b"data\n\ndata\ndata\n\ndata:", []),
        (b"data: \n\n:\n\n", []),
        # every line end, alone and mixed
        (b'data: {"a":1}\r\rdata: {"b":2}\r\n\r\ndata: {"c":3}\n\n', [b'{"a":1}', b'{"b":2}', b'{"c":3}']),
        (b'data: {"a":1}\n\r\ndata: {"b":2}\r\n\rdata: {"c":3}\r\n\n', [b'{"a":1}', b'{"b":2}', b'{"c":3}']),
        (b'data: {"a":1}\n\n\n\n\ndata: {"b":2}\n\n', [b'{"a":1}', b'{"b":2}']),
        # what other codecs take for line ends stays inside
        ("data: a\u2028b\u0085c\x0bd\x0ce\n\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce".encode()]),
        # fields that are not ours
        (b"id: 1\nretry: 10\nfoo: bar\ndata: {}\n\n", [b"{}"]),
        (b"event: ping\n\ndata: {}\n\n", [b"{}"]),
        (b"data : no field\n\n", []),
        # BOM only at the start
        (b"\xef\xbb\xbfdata: {}\n\n\xef\xbb\xbfdata: {}\n\n", [b"{}"]),
        # the last blank line forgotten, or the last line end
        (b"data: {}\n\ndata: [DONE]\n", [b"{}", b"[DONE]"]),
        (b"data: {}\n\ndata: [DONE]", [b"{}", b"[DONE]"]),
        (b"data: {}\r\n\r\ndata: [DONE]\r", [b"{}", b"[DONE]"]),
        (b"", []),
        (b"\xef\xbb\xbf", []),
    ],
)
def test_events(stream: bytes, events: list[bytes] | None) -> None:
    expected = [b"first event", b"second event", b" third event"] if events is None else events
    assert decode(stream) == expected
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], b"", stream[cut:]) == expected, cut
    assert decode(*(stream[at : at + 1] for at in range(len(stream)))) == expected


def test_a_named_event_keeps_its_name() -> None:
    [error, plain, message] = decode(
        b'event: error\ndata: {"x":1}\n\ndata: {"y":2}\n\nevent: message\ndata: {"z":3}\n\n'
    )
    assert isinstance(error, Named)
    assert (error, error.name) == (b'{"x":1}', b"error")
    assert type(plain) is bytes
    assert type(message) is bytes


def test_an_events_name_does_not_outlive_it() -> None:
    [event] = decode(b'event: ping\n\ndata: {"y":2}\n\n')
    assert type(event) is bytes


def test_events_are_given_as_soon_as_they_are_whole() -> None:
    decoder = Decoder()
    assert decoder.feed(b'data: {"a":1}\n') == []
    assert decoder.feed(b"\n") == [b'{"a":1}']
    assert decoder.feed(b'data: {"b":2}\r\n\r') == [b'{"b":2}']
    assert decoder.feed(b'\ndata: {"c":3}\n\n') == [b'{"c":3}']
    assert decoder.close() == []


@pytest.mark.parametrize("piece", [b"x" * 40, b"data: " + b"x" * 34 + b"\n", b"data: y\n"])
def test_an_event_over_the_limit_is_refused(piece: bytes) -> None:
    decoder = Decoder(limit=100)
    with pytest.raises(SseError):
        [decoder.feed(piece) for _ in range(60)]


def test_a_long_line_in_one_read_is_refused_and_many_short_ones_are_not() -> None:
    with pytest.raises(SseError):
        Decoder(limit=100).feed(b"data: {" + b"x" * 200 + b"}\n\n")
    assert len(Decoder(limit=100).feed(b"data: {}\n\n" * 100)) == 100
    decoder = Decoder(limit=100)
    for _ in range(100):  # nothing is left over from event to event
        assert decoder.feed(b"data: a\ndata: b\n\ndata: {") == [b"a\nb"]
        assert decoder.feed(b"}\n\n") == [b"{}"]


@given(
    st.lists(st.sampled_from([b"data", b":", b" ", b"\n", b"\r", b"\r\n", b"{}", b"event: e", b"\xef\xbb\xbf"])),
    st.data(),
)
def test_cuts_never_matter(pieces: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reads = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decode(*reads) == decode(stream)


@given(st.binary())
def test_no_bytes_break_it(stream: bytes) -> None:
    assert all(event.strip() for event in decode(stream))
