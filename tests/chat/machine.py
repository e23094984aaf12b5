"""Puts a request, a stamp and a stream machine together for tests; runs chunks or recorded bytes through it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.request import ChatRequest
from antiphon.chat.stream import ChatStream, decode, is_done
from antiphon.errors import UpstreamError
from antiphon.sse import Decoder

Document = dict[str, Any]
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
STREAMS = Path(__file__).parent.parent / "data" / "streams"


def request(**fields: Any) -> ChatRequest:
    defaults: Document = {
        "source": {},
        "model": "asked",
        "stream": True,
        "n": 1,
        "include_usage": False,
        "include_obfuscation": False,
        "logprobs": False,
        "named_tool": False,
        "legacy_functions": False,
    }
    if "document" in fields:
        fields["source"] = fields.pop("document")
    return ChatRequest(**{**defaults, **fields})


def stamp() -> AnswerDefaults:
    ids = itertools.count(1)
    return AnswerDefaults(
        model="target",
        now=1_755_555_555,
        keeps_id=lambda id: id.startswith("chatcmpl-"),
        new_id=lambda: "chatcmpl-made",
        new_call_id=lambda: f"call_made{next(ids)}",
    )


def machine(*, sources: int = 1, think: bool = False, **fields: Any) -> ChatStream:
    return ChatStream(request(**fields), stamp(), sources=sources, think=think)


def chunk(delta: Any = None, finish: Any = None, index: Any = 0, **more: Any) -> Document:
    """A chunk as OpenAI sends it; `choice` holds more keys of the choice, the rest go to the top level."""
    extras = more.pop("choice", {})
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_755_000_000,
        "model": "gpt-4o",
        "choices": [
            {
                "index": index,
                "delta": {} if delta is None else delta,
                "logprobs": None,
                "finish_reason": finish,
                **extras,
            }
        ],
        **more,
    }


def bare(**more: Any) -> Document:
    """A chunk without choices."""
    return {**chunk(), "choices": [], **more}


def run(chunks: Iterable[Document], stream: ChatStream | None = None, **fields: Any) -> list[Document]:
    """All that leaves, [DONE] included."""
    stream = stream or machine(**fields)
    out = [piece for document in chunks for piece in stream.feed(copy.deepcopy(document))]
    return out + stream.done()


def play(reads: Iterable[bytes], stream: ChatStream) -> tuple[list[Document], UpstreamError | None]:
    """Bytes as they come off a socket -> all that leaves, and the error it ended with."""
    decoder = Decoder()
    out: list[Document] = []
    try:
        for read in reads:
            for payload in decoder.feed(read):
                out += stream.done() if is_done(payload) else stream.feed(decode(payload))
        for payload in decoder.close():
            out += stream.done() if is_done(payload) else stream.feed(decode(payload, last=True))
        out += stream.end()
    except UpstreamError as error:
        return out, error
    return out, None


def recording(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


def deltas(chunks: list[Document]) -> list[Document]:
    return [piece["choices"][0]["delta"] for piece in chunks]


def fails(chunks: list[Document], **fields: Any) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        run(chunks, **fields)
    return caught.value


def hold(**fields: Any) -> ChatStream:
    """A stream in the middle of its text."""
    stream = machine(**fields)
    stream.feed(chunk({"role": "assistant", "content": "a"}))
    return stream


def token(text: str) -> Document:
    return {"token": text, "logprob": -1.0, "bytes": list(text.encode()), "top_logprobs": []}


def call(name: str = "f", arguments: Any = "{}", **more: Any) -> Document:
    return {
        "tool_calls": [
            {"index": 0, "id": "x", "type": "function", "function": {"name": name, "arguments": arguments}, **more}
        ]
    }
