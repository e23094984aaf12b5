"""Text that passes unread: however a stream is cut into reads, the client gets the same bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.request import parse
from antiphon.chat.stream import ChatStream
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.flow.stream import Stream
from antiphon.protocols.facts import ModelFacts
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.client import Access, Destination
from antiphon.upstreams.foreign import ForeignAnswer, ForeignUpstream, Speech
from antiphon.upstreams.foreign_protocols import PROTOCOLS
from antiphon.upstreams.memory import CallMemory
from antiphon.upstreams.scripted import sse
from tests.protocols import anthropic_recordings as anthropic
from tests.protocols import bedrock_streams
from tests.protocols import cohere_streams as cohere
from tests.protocols import gemini_recordings as gemini
from tests.support.foreign import finishes, said
from tests.upstreams.conftest import Begin

KINDS = {"bedrock": b"application/vnd.amazon.eventstream"}


class Client:
    """Keeps the frames."""

    def __init__(self) -> None:
        self.frames = b""
        self.writes = 0

    def write(self, frames: bytes) -> None:
        self.frames += frames
        self.writes += 1

    direct = write


class Call:
    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def linger(self) -> None: ...

    def cancel(self) -> None: ...


async def play(protocol: str, reads: list[bytes], dialect: str = "openai") -> tuple[bytes, str | None, int]:
    """-> (what the client gets, the failure's code, how many texts the decoder never saw)"""
    loop = asyncio.get_running_loop()
    request = parse({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}, strict=False)
    spelled = DIALECTS[dialect]
    stamp = AnswerDefaults("m", 1_700_000_000, spelled.keeps_id, lambda: "chatcmpl-0", lambda: "call_0")
    options = WriteOptions(strict=False, judged=False, target="up/m", maritaca_object="x", entropy=None)
    client: Any = Client()
    stream = Stream(
        ChatStream(request, stamp), spelled.writer(request, options), client, loop.create_future(), _nothing
    )
    stream.calls.append(Call())
    pool: Any = None
    row = CATALOG[protocol]
    access = Access("up", row, row.lacks, pool, b"", b"", False, (), (), tuple, lambda line: None, None)
    speech = Speech(PROTOCOLS[row.speaks]().protocol, lambda model: ModelFacts(), CallMemory(), lambda: "call_1")
    answer = ForeignAnswer(ForeignUpstream(access, speech), speech, Destination(b"/", b"", "m"), True, stream, 0)
    answer.on_head(200, {b"content-type": KINDS.get(protocol, b"text/event-stream")})
    unread = 0
    for read in reads:
        answer.on_data(read)
        unread = max(unread, len(answer._unread))
    answer.on_end()
    failure = stream.finished.result()
    return client.frames, failure.code if isinstance(failure, UpstreamError) else None, unread


def _nothing() -> None:
    """The first chunk leaves."""


def events(data: bytes, end: bytes = b"\n\n") -> list[bytes]:
    return [event + end for event in data.split(end)[:-1]]


def frames(data: bytes) -> list[bytes]:
    """AWS's frames: the length stands first."""
    found = []
    while data:
        size = int.from_bytes(data[:4])
        found.append(data[:size])
        data = data[size:]
    return found


STREAMS: dict[str, tuple[str, bytes]] = {
    **{f"anthropic {name}": ("anthropic", anthropic.wire(each)) for name, each in anthropic.STREAMS.items()},
    **{f"cohere {name}": ("cohere", each) for name, each in cohere.RECORDINGS.items()},
    **{f"gemini {name}": ("gemini", gemini.frames(each, b"\n")) for name, each in gemini.RECORDINGS.items()},
    **{f"bedrock {name}": ("bedrock", each) for name, each in bedrock_streams.RECORDINGS.items()},
}


@pytest.mark.parametrize("dialect", ["openai", "maritaca"])
@pytest.mark.parametrize("name", STREAMS)
async def test_reads_make_no_difference(name: str, dialect: str) -> None:
    protocol, data = STREAMS[name]
    whole = await play(protocol, [data], dialect)
    by_event = frames(data) if protocol == "bedrock" else events(data)
    assert (await play(protocol, by_event, dialect))[:2] == whole[:2]
    for size in (1, 7, 64):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert (await play(protocol, pieces, dialect))[:2] == whole[:2]


def cited(*words: str) -> bytes:
    text = anthropic.text(0, *words)
    note = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "citations_delta", "citation": anthropic.SEARCHED},
    }
    more = anthropic.text(1, "And ", "more", ".")
    return anthropic.wire([anthropic.start(), *text[:-1], note, text[-1], *more, *anthropic.end("end_turn")])


async def test_what_passed_unread_counts_for_what_is_told_of_it() -> None:
    """Citations tell where the text is that they support."""
    data = cited("Zürich ", "is ", 'a "city"', " \\ \n", "😀", " in ", "Switzerland")
    whole, by_event = await play("anthropic", [data]), await play("anthropic", events(data))
    assert by_event[:2] == whole[:2]
    assert by_event[2] >= 3
    payloads = [json.loads(frame[6:]) for frame in whole[0].decode().split("\n\n") if frame.startswith("data: {")]
    [note] = [
        note for chunk in payloads for choice in chunk["choices"] for note in choice["delta"].get("annotations", ())
    ]
    assert note["url_citation"]["end_index"] == len('Zürich is a "city" \\ \n😀 in Switzerland')


@pytest.mark.parametrize(
    "text",
    [
        r'a","type":"x',
        r"half \ud83d",
        r'","index":1,"delta":{"text":"',
        "\x01",
        r"\x",
        "",
    ],
)
async def test_what_is_no_text_takes_the_whole_way(text: str) -> None:
    """Bytes between the known ones that are not the inside of one JSON string, or nothing."""
    good = anthropic.wire([anthropic.start(), *anthropic.text(0, "one", "two", "three"), *anthropic.end("end_turn")])
    data = good.replace(b"three", text.encode())
    assert (await play("anthropic", events(data)))[:2] == (await play("anthropic", [data]))[:2]


async def test_an_answer_without_end_does_not_grow_what_is_kept() -> None:
    words = [f"w{number} " for number in range(5000)]
    data = anthropic.wire([anthropic.start(), *anthropic.text(0, *words), *anthropic.end("end_turn")])
    frames, failure, unread = await play("anthropic", events(data))
    assert failure is None
    assert frames.count(b"data: ") == 5000 + 2
    assert 1000 < unread < 2000


async def test_two_choices_of_one_id_are_not_confused(begin: Begin) -> None:
    """A fan-out: both upstreams' answers have the same id, and deltas of the same shape."""
    words = {0: [f"a{number} " for number in range(20)], 1: [f"b{number} " for number in range(20)]}
    scripts = [
        sse(
            *events(anthropic.wire([anthropic.start(), *anthropic.text(0, *each), *anthropic.end("end_turn")])),
            done=False,
        )
        for each in words.values()
    ]
    running, _ = await begin("anthropic", *scripts)
    answer = await running.post(stream=True, n=2)
    texts = {
        index: "".join(
            choice["delta"].get("content") or ""
            for chunk in answer.chunks
            for choice in chunk["choices"]
            if choice["index"] == index
        )
        for index in (0, 1)
    }
    assert sorted(texts.values()) == ["".join(each) for each in words.values()]
    assert finishes(answer) == ["stop", "stop"]
    assert said(answer)
