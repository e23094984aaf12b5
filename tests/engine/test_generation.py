"""Events of llama.cpp in, words and their tokens out. The events are as the real engine sends them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from antiphon.engine.generation import GeneratedText, generate
from antiphon.engine.logprobs import UNTOLD, shared

Document = dict[str, Any]
PIECES = {1: " to", 2: " make", 3: "", 4: " it"}


class Recorded:
    """An engine that says what it was recorded to say."""

    def __init__(self, *events: Document) -> None:
        self._events = events

    async def generate(self, order: Document) -> AsyncGenerator[Document, None]:
        for event in self._events:
            yield event

    async def ask(self, path: str, question: Document) -> Document:
        assert path == "/detokenize"
        return {"content": "".join(PIECES.get(token, "\ufffd") for token in question["tokens"])}


def said(count: int, text: str, token: int, piece: bytes | None = None) -> Document:
    """`piece`: the token's own, where it is among the likeliest."""
    likely = [] if piece is None else [{"id": token, "token": "?", "bytes": list(piece), "logprob": -1.0}]
    entry = {"id": token, "token": text, "bytes": list(text.encode()), "logprob": -1.0, "top_logprobs": likely}
    return {
        "content": text,
        "tokens": [token],
        "stop": False,
        "tokens_predicted": count,
        "completion_probabilities": [entry],
    }


def ended(count: int, how: str) -> Document:
    return {"content": "", "tokens": [], "stop": True, "stop_type": how, "tokens_predicted": count}


async def heard(*events: Document, stop: Sequence[str] = (), logprobs: int | None = 1) -> tuple[str, list[Document]]:
    text, entries = "", []
    async for item in generate(Recorded(*events), [9], 50, {"stop": list(stop)}, top_logprobs=logprobs):
        if isinstance(item, GeneratedText):
            text += item.text
            entries += item.logprobs
    if logprobs is not None:
        assert b"".join(bytes(entry["bytes"]) for entry in entries) == text.encode()
    return text, entries


async def test_the_end_is_no_entry() -> None:
    _, entries = await heard(said(1, " to", 1, b" to"), said(2, "", 3, b""), ended(2, "eos"))
    assert [entry["token"] for entry in entries] == [" to"]


async def test_a_character_of_several_tokens_has_an_entry_for_each() -> None:
    text, entries = await heard(said(3, "😀", 218, b"\x80"), said(5, "日", 115), ended(5, "limit"))
    assert text == "😀日"
    assert [entry["token"] for entry in entries] == ["\\xf0\\x9f", "\\x98", "\\x80", "\\xe6\\x97", "\\xa5"]
    assert [entry["logprob"] for entry in entries] == [UNTOLD, UNTOLD, -1.0, UNTOLD, -1.0]
    assert entries[2]["top_logprobs"] == [{"token": "\\x80", "logprob": -1.0, "bytes": [0x80]}]


@pytest.mark.parametrize("piece", [b" to", None], ids=["among the likeliest", "asked for"])
async def test_text_that_was_held_back_belongs_to_its_own_token(piece: bytes | None) -> None:
    _, entries = await heard(said(1, "", 1, piece), said(2, " to make", 2), ended(2, "limit"), stop=["to it"])
    assert [entry["token"] for entry in entries] == [" to", " make"]


async def test_text_that_was_held_back_at_the_end_is_not_the_end_tokens() -> None:
    _, entries = await heard(said(1, "", 1), said(2, " to", 3), ended(2, "eos"), stop=["to it"])
    assert [entry["token"] for entry in entries] == [" to"]


async def test_a_stop_word_inside_tokens_cuts_the_last_and_drops_the_rest() -> None:
    _, entries = await heard(said(1, "", 1), said(2, " t", 2), ended(2, "word"), stop=["o make"])
    assert [entry["token"] for entry in entries] == [" t"]


@pytest.mark.parametrize("logprobs", [1, None])
async def test_what_was_held_back_is_said_where_the_limit_comes_next(logprobs: int | None) -> None:
    """llama.cpp itself forgets it."""
    events = said(1, " make", 2), said(2, "", 1), ended(2, "limit")
    text, _ = await heard(*events, stop=["to it"], logprobs=logprobs)
    assert text == " make to"
    text, _ = await heard(said(1, " make", 2), said(2, "", 1), ended(2, "word"), stop=["to"], logprobs=logprobs)
    assert text == " make"


@pytest.mark.parametrize(
    ("text", "pieces", "shares"),
    [
        (b"abc", [None], [b"abc"]),
        (b"abcdef", [b"ab", None, b"ef"], [b"ab", b"cd", b"ef"]),
        (b"abcdef", [None, None, b"ef"], [b"abc", b"d", b"ef"]),
        (b"abcdef", [None, b"cd", None], [b"ab", b"cd", b"ef"]),
        (b"abc", [b"ab", b"cdef", b"g"], [b"ab", b"c", b""]),
        (b"abcdef", [b"ab", b"cd"], [b"ab", b"cdef"]),
        (b"", [None, None], [b"", b""]),
        (b"a", [None, None, None], [b"a", b"", b""]),
        (b"ab", [None, b"zz", None], [b"ab", b"", b""]),
    ],
)
def test_a_text_is_shared_among_its_tokens_and_nothing_is_lost(
    text: bytes, pieces: list[bytes | None], shares: list[bytes]
) -> None:
    assert shared(text, pieces) == shares
