"""Decoding of one event, and characters that were cut in two."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.chat.event import decode, is_done
from antiphon.chat.stream import ChatStream
from antiphon.errors import UpstreamError
from antiphon.sse import Named
from tests.chat.checker import check
from tests.chat.machine import machine

Document = dict[str, Any]


# Decoding


def test_decode() -> None:
    assert decode(b'{"a":[1,"\xc3\xa9",123456789012345678901234567890]}') == {
        "a": [1, "é", 123456789012345678901234567890]
    }
    assert decode(b'[{"error":{"message":"m"}}]') == {"error": {"message": "m"}}
    assert decode(b'{"a":' * 100 + b"1" + b"}" * 100)
    assert decode(b'{"a":[' + b"[],{}," * 500 + b"1]}")
    assert decode(Named(b'{"type":"ping"}', b"ping")) == {}
    assert decode(Named(b'{"a":1}', b"chunk")) == {"a": 1}
    with pytest.raises(UpstreamError) as caught:
        decode(Named(b'{"message":"m","code":429}', b"error"))
    assert caught.value.status == 429


def test_a_byte_order_mark_is_skipped() -> None:
    mark = b"\xef\xbb\xbf"
    assert decode(mark + b'{"a":1}') == {"a": 1}
    assert decode(mark + b'{"a":"\\ud83d"}') == {"a": "\ud83d"}  # the lenient reading too
    assert decode(Named(mark + b'{"type":"ping"}', b"ping")) == {}
    for payload in (mark, mark + b"{", mark + mark + b"{}", b"{}" + mark):
        with pytest.raises(UpstreamError) as caught:
            decode(payload)
        assert caught.value.code == "upstream_malformed"


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b"",
        b"null",
        b"5",
        b'"x"',
        b"[]",
        b"[1]",
        b"[{},{}]",
        b'{"a":NaN}',
        b"hello",
        b'{"a":1}}',
    ],
)
def test_decode_refuses(payload: bytes) -> None:
    with pytest.raises(UpstreamError) as caught:
        decode(payload)
    assert (caught.value.code, caught.value.message) == ("upstream_malformed", "The upstream sent a malformed answer.")


@pytest.mark.parametrize("payload", [b"[" * 100_000, b'{"a":' * 50_000, b'{"a":' * 300 + b"1" + b"}" * 300])
def test_decode_says_what_is_too_deep(payload: bytes) -> None:
    for start in (b"", b"\xef\xbb\xbf"):
        with pytest.raises(UpstreamError, match="nested too deeply") as caught:
            decode(start + payload)
        assert caught.value.code == "upstream_malformed"


def test_an_event_cut_by_the_end_is_truncated() -> None:
    with pytest.raises(UpstreamError) as caught:
        decode(b'{"choices":[{"del', last=True)
    assert caught.value.code == "upstream_truncated"


def test_is_done() -> None:
    assert is_done(b"[DONE]")
    assert is_done(b"[DONE] ")
    assert not is_done(b'{"a":"[DONE]"}')


def feed_payloads(stream: ChatStream, *payloads: bytes) -> list[Document]:
    return [piece for payload in payloads for piece in stream.feed(decode(payload))]


def payload(content: bytes, key: bytes = b"content", finish: bytes = b"null") -> bytes:
    return b'{"choices":[{"index":0,"delta":{"%b":"%b"},"finish_reason":%b}]}' % (key, content, finish)


@pytest.mark.parametrize("key", [b"content", b"refusal", b"reasoning_content"])
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"a\\ud83d", b"\\ude00b"], "a😀b"),
        ([b"\\ud83d", b"\\udc80"], "💀"),
        ([b"a\\ud83d", b"", b"\\ude00b"], "a😀b"),
        ([b"a\\ud83d", b"b"], "a\ufffdb"),
        ([b"a\\ude00", b"b"], "a\ufffdb"),
        ([b"\\ud83d\\ud83d", b"\\ude00"], "\ufffd😀"),
        ([b"a\\ud83d"], "a\ufffd"),
        ([b"\xc3", b"\xa9"], "é"),
        ([b"x\xf0\x9f", b"\x98", b"\x80y"], "x😀y"),
        ([b"x\xf0\x9f", b"y"], "x\ufffdy"),
        ([b"\xff\xfe", b"y"], "\ufffd\ufffdy"),
        ([b"plain \xe4\xbd\xa0", b"\xe5\xa5\xbd"], "plain 你好"),
    ],
)
def test_characters_cut_in_two(pieces: list[bytes], text: str, key: bytes) -> None:
    stream = machine()
    out = feed_payloads(stream, *(payload(piece, key) for piece in pieces), payload(b"", finish=b'"stop"'))
    [answer] = check(out + stream.done())
    told = {b"content": answer.content, b"refusal": answer.refusal, b"reasoning_content": answer.reasoning}[key]
    assert told == text


def test_lone_surrogates_elsewhere_become_replacement_characters() -> None:
    stream = machine()
    choice = rb'{"index":0,"delta":{"content":"a","foo":{"content":"\ud800"}},"finish_reason":"\udfff"}'
    body = rb'{"x\ud800":"\ud800","choices":[' + choice + b"]}"
    out = feed_payloads(stream, rb'{"choices":[],"waits":"\ud800"}', body)
    assert out[0]["waits"] == "\ufffd"
    assert out[0]["x\ufffd"] == "\ufffd"
    assert out[1]["choices"][0]["delta"]["foo"] == {"content": "\ufffd"}
    assert out[2]["choices"][0]["native_finish_reason"] == "\ufffd"
    check(out + stream.done())
