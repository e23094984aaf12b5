"""Text deltas that take the short way are written in another API as those that take the whole way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.apis.api import ApiStream
from antiphon.apis.gemini.stream import GeminiApiStream
from antiphon.apis.maritalk.api import MaritalkStream
from antiphon.apis.messages.stream import MessageStream
from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.request import parse
from antiphon.chat.stream import ChatStream
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.flow.stream import Stream

Document = dict[str, Any]

MAKERS: dict[str, Callable[[], ApiStream]] = {
    "messages": lambda: MessageStream(None),
    "gemini": lambda: GeminiApiStream(is_array=False),
    "gemini-array": lambda: GeminiApiStream(is_array=True),
    "maritalk": MaritalkStream,
}
ASKED = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
deltas = st.one_of(
    words.map(lambda text: {"content": text}),
    words.map(lambda text: {"reasoning_content": text}),
    words.map(lambda text: {"refusal": text}),
    words.map(lambda text: {"content": text, "reasoning_content": text}),
    st.just({"tool_calls": [call]}),
    st.just({"thinking_blocks": [{"index": 0, "type": "thinking", "thinking": "t", "signature": "s"}]}),
)
runs = st.lists(st.tuples(deltas, st.integers(1, 4)), min_size=1, max_size=8)


class Sink:
    def __init__(self) -> None:
        self.sent = b""

    def write(self, frames: bytes) -> None:
        self.sent += frames

    @property
    def direct(self) -> Callable[[bytes], None]:
        return self.write


def event(delta: Document) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def said(api: ApiStream, reads: list[bytes], *, short: bool) -> bytes:
    loop = asyncio.new_event_loop()
    request = parse(dict(ASKED), strict=False)
    defaults = AnswerDefaults("m", 1, bool, lambda: "chatcmpl-1", lambda: "call_1")
    options = WriteOptions(strict=False, judged=False, target="t", maritaca_object="chat_completion", entropy=None)
    sink: Any = Sink()
    stream = Stream(
        ChatStream(request, defaults, sources=1, think=False),
        DIALECTS["openai"].writer(request, options),
        sink,
        loop.create_future(),
        lambda: None,
        api=api,
    )
    for read in reads:
        if not (short and stream.spliced(read)):
            stream.events([read[6:-2]], 0)
        if not short:
            stream._splice.forget()
    loop.close()
    return bytes(sink.sent)


@pytest.mark.parametrize("name", MAKERS)
@given(said_in=runs)
@settings(max_examples=60, deadline=None)
def test_the_same_bytes(name: str, said_in: list[tuple[Document, int]]) -> None:
    reads = [event({"role": "assistant", "content": ""})]
    reads += [event(delta) for delta, times in said_in for _ in range(times)]
    assert said(MAKERS[name](), reads, short=True) == said(MAKERS[name](), reads, short=False)


def test_the_short_way_is_taken() -> None:
    api = MessageStream(None)
    taken: list[int] = []
    take = api.take

    def counted(chunk: Document) -> bytes:
        taken.append(1)
        return take(chunk)

    api.take = counted  # type: ignore[method-assign]
    reads = [event({"role": "assistant", "content": ""}), *(event({"content": f"word {n}"}) for n in range(50))]
    assert said(api, reads, short=True).count(b"text_delta") == 50
    assert len(taken) < 5
