"""What is kept of an answered turn, and what is not: cut answers, errors in streams, receipts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.accounts.completions.answers import NotWhole, read_turn
from antiphon.flow.stored import AnsweredTurn, write_stored
from antiphon.sse import DONE, KEEPALIVE, frame
from tests.support.shapes import chunk, completion, hello

ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "metadata": {"a": "b"}}


def turn(answer: bytes, *, stream: bool = True, request: object = ASK, usage: bytes = b"") -> AnsweredTurn:
    return AnsweredTurn("key", "req_1", 7, stream, json.dumps(request).encode(), answer, usage)


def frames(*documents: Any, end: bytes = DONE) -> bytes:
    return b"".join(frame(json.dumps(document).encode()) for document in documents) + end


def test_a_stream_with_comments_and_a_receipt() -> None:
    receipt = {**chunk(), "choices": [], "antiphon": {"route": "m"}}
    sent = KEEPALIVE + frames(*hello()[:-1], receipt)
    row = read_turn(turn(sent, usage=b'{"total_tokens":3}'))
    answer = json.loads(write_stored(row))
    assert answer["choices"][0]["message"]["content"] == "Hello"
    assert answer["usage"] == {"total_tokens": 3}
    assert answer["metadata"] == {"a": "b"}
    assert "antiphon" not in answer
    assert json.loads(row.request)[0]["id"] == "chatcmpl-up1-0"


NOT_KEPT = [
    frames(*hello(), end=b""),
    frames(*hello()[:2], {"error": {"message": "cut"}}),
    b"",
    b"data: {\n\n" + DONE,
    frames(7),
]


@pytest.mark.parametrize("sent", NOT_KEPT)
def test_streams_that_are_no_whole_answer(sent: bytes) -> None:
    with pytest.raises(NotWhole):
        read_turn(turn(sent))


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"id": 7}', b"\xff"])
def test_whole_answers_that_are_none(body: bytes) -> None:
    with pytest.raises(NotWhole):
        read_turn(turn(body, stream=False))


def test_unknown_fields_stay_and_metadata_is_the_requests() -> None:
    sent = json.dumps(completion(metadata={"other": "x"}, x_vendor={"deep": [1]})).encode()
    answer = json.loads(write_stored(read_turn(turn(sent, stream=False))))
    assert answer["x_vendor"] == {"deep": [1]}
    assert answer["metadata"] == {"a": "b"}
    assert answer["temperature"] is None
