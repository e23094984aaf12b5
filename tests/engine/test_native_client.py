"""What counts as progress of the native engine, against a server that answers questions and never finishes its work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from antiphon.engine.native_client import EngineLost, NativeClient

EVENT = b'data: {"content": "a", "stop": false}\n\n'
EVENTS_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def half_dead(path: Path) -> AsyncIterator[NativeClient]:
    """/tokenize is answered; /completion says one word and then nothing more."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                if b"/tokenize" in head:
                    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{"tokens":[1]}')
                else:
                    writer.write(EVENTS_HEAD + b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, path)
    client = NativeClient(str(path), "key")
    try:
        yield client
    finally:
        await client.close()
        server.close()


async def test_answers_to_questions_are_no_progress_of_the_work(tmp_path: Path) -> None:
    async with half_dead(tmp_path / "s") as client:
        assert client.silence() == 0.0
        words = client.generate({"prompt": [1]})
        await anext(words)
        heard = asyncio.get_running_loop().time()
        more = asyncio.ensure_future(anext(words))
        for _ in range(5):
            await asyncio.sleep(0.05)
            assert await client.ask("/tokenize", {"content": "x"}) == {"tokens": [1]}
        assert client.silence() >= asyncio.get_running_loop().time() - heard - 0.05
        assert client.silence() >= 0.2
        client.reset_clock()
        assert client.silence() < 0.2
        more.cancel()
        await asyncio.gather(more, return_exceptions=True)
        await words.aclose()
        assert client.silence() == 0.0  # nobody waits


async def test_an_engine_that_is_not_there_was_not_reached(tmp_path: Path) -> None:
    client = NativeClient(str(tmp_path / "nobody"), "key")
    with pytest.raises(EngineLost) as lost:
        await client.ask("/tokenize", {"content": "x"})
    assert lost.value.unreached
    await client.close()
