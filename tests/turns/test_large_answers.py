"""An upstream's answer that is too deep or too large is a 502 that says so."""

from __future__ import annotations

import json

import pytest

from antiphon.upstreams.scripted import raw
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start

KINDS = [(b"[", b"]"), (b'{"a":', b"}")]
LARGEST = 64 * 1024 * 1024


def answered(body: bytes, kind: bytes = b"application/json") -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


def deep(document: object, opened: bytes, closed: bytes, depth: int) -> bytes:
    return json.dumps(document).encode().replace(b'"DEEP"', opened * depth + b"1" + closed * depth)


@pytest.mark.parametrize(("opened", "closed"), KINDS)
@pytest.mark.parametrize("depth", [250, 800, 3_000, 200_000])
async def test_an_answer_that_is_too_deep(start: Start, opened: bytes, closed: bytes, depth: int) -> None:
    whole = answered(deep(completion(x_extra="DEEP"), opened, closed, depth))
    frames = [b"data: " + deep(each, opened, closed, depth) + b"\n\n" for each in (chunk(x_extra="DEEP"), *hello())]
    streamed = answered(b"".join(frames), b"text/event-stream")
    for script in (whole, streamed):
        for stream in (False, True):
            running, _ = await start(raw(script))
            answer = await running.post(stream=stream)
            assert answer.status == 502
            assert answer.json["error"]["code"] == "upstream_malformed"
            assert answer.json["error"]["message"] == "The upstream's answer is nested too deeply."


async def test_an_answer_that_is_too_large(start: Start) -> None:
    running, _ = await start(raw(answered(json.dumps(completion("a" * LARGEST)).encode())))
    answer = await running.post()
    assert answer.status == 502
    assert answer.json["error"]["code"] == "upstream_malformed"
    assert answer.json["error"]["message"] == "The upstream's answer is too large."
