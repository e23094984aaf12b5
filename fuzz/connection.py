"""One client connection of the fuzzers: writes pieces, reads answers with the strict reader, knows how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from fuzz.strict_response import ResponseReader


class ClientConnection(asyncio.Protocol):
    def __init__(self, reader: ResponseReader, enough: Callable[[ResponseReader], bool]) -> None:
        self.reader = reader
        self.ended = ""  # "closed" or "reset", by the gateway
        self._enough = enough
        self._transport: asyncio.Transport
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.reader.feed(data)
        if self.reader.fault or self._enough(self.reader):
            self._finish()

    def eof_received(self) -> bool:
        self.ended = self.ended or "closed"
        self.reader.end()
        self._finish()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = self.ended or ("reset" if exc is not None else "closed")
        self._writable.set()
        self._finish()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def talk(self, pieces: list[bytes], within: float) -> bool:
        """Sends and waits until there is enough, or the connection has ended. False: neither came in time."""
        try:
            async with asyncio.timeout(within):
                for place, piece in enumerate(pieces):
                    if place:
                        await asyncio.sleep(0)
                    if self.ended:
                        break
                    self._transport.write(piece)
                    await self._writable.wait()
                if not self._enough(self.reader):
                    await self._done
            return True
        except TimeoutError:
            return False
        finally:
            self._transport.abort()

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def exchange(
    port: int, pieces: list[bytes], methods: list[bytes], enough: Callable[[ResponseReader], bool], within: float
) -> tuple[ClientConnection, bool]:
    loop = asyncio.get_running_loop()
    connection = ClientConnection(ResponseReader(methods), enough)
    await loop.create_connection(lambda: connection, "127.0.0.1", port)
    answered = await connection.talk(pieces, within)
    await asyncio.sleep(0)  # the loop closes the socket
    return connection, answered
