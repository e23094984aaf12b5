"""A worker's end: one connection to the accounts process, made anew when that one has ended.

What is to be kept waits here until it is confirmed, up to a bound; it is sent again on a new connection. Who asks for
something waits a few seconds, then is told to try again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from antiphon.accounts.completions.wire import StoreQuestion, StoreReply, frame, read_frame, read_reply
from antiphon.errors import OverloadError
from antiphon.flow.stored import AnsweredTurn, CompletionQuery, StoredCompletion, StoredPage

PATIENCE: Final = 10.0  # seconds for a reply
AGAIN: Final = 0.2  # seconds between two tries to connect, and after the store was out
MOST_WAITING: Final = 64 * 1024 * 1024  # bytes
MOST_ASKED: Final = 1000  # questions that wait
LAST_WORDS: Final = 5.0  # seconds for what waits when the worker ends
OUT: Final = "Stored completions cannot be reached now. Please try again."


class _Asked:
    """A question on its way. `future`: None where nobody waits."""

    __slots__ = ("data", "future")

    def __init__(self, data: bytes, future: asyncio.Future[StoreReply] | None) -> None:
        self.data = data
        self.future = future


class CompletionClient:
    """`log` gets sentences for the error log."""

    def __init__(self, path: str, log: Callable[[str], None]) -> None:
        self._path = path
        self._log = log
        self._waiting: deque[_Asked] = deque()
        self._size = 0
        self._lost = 0
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._changed.wait()
            with suppress(OSError, EOFError, ValueError, msgspec.MsgspecError):
                reader, writer = await asyncio.open_unix_connection(self._path)
                try:
                    await self._talk(reader, writer)
                finally:
                    writer.close()
            await asyncio.sleep(AGAIN)

    async def close(self) -> None:
        """Before `run` is cancelled: what waits may still leave."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                while self._waiting:  # noqa: ASYNC110 (it ends with the worker)
                    await asyncio.sleep(0.02)
        if self._waiting:
            self._log(f"{len(self._waiting)} stored completions were lost: the accounts process did not take them")

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One question at a time: its reply says whether it may be forgotten."""
        while True:
            while not self._waiting:
                self._changed.clear()
                await self._changed.wait()
            asked = self._waiting[0]
            if asked.future is not None and asked.future.done():  # nobody waits any more
                self._forget()
                continue
            writer.write(asked.data)
            await writer.drain()
            reply = read_reply(await read_frame(reader))
            if reply.is_out and asked.future is None:
                await asyncio.sleep(AGAIN)
                self._let_others_pass()
                continue
            self._forget()
            if asked.future is not None and not asked.future.done():
                asked.future.set_result(reply)

    def _let_others_pass(self) -> None:
        """The store is out: what is to be kept waits, who asked is told so."""
        for asked in self._waiting:
            if asked.future is not None and not asked.future.done():
                asked.future.set_result(StoreReply(is_out=True))

    def _forget(self) -> None:
        self._size -= len(self._waiting.popleft().data)

    # The port

    def keep(self, turn: AnsweredTurn) -> None:
        data = frame(StoreQuestion("keep", turn=turn))
        if self._size + len(data) > MOST_WAITING:
            self._lost += 1
            if self._lost == 1 or self._lost % 1000 == 0:
                self._log(f"stored completions wait for the accounts process; {self._lost} were lost so far")
            return
        self._add(_Asked(data, None))

    async def put(self, row: StoredCompletion) -> bool:
        return (await self._ask(StoreQuestion("put", row=row))).done

    async def get(self, kind: str, key: str, id: str) -> StoredCompletion | None:
        return (await self._ask(StoreQuestion("get", kind, key, id))).row

    async def list(self, query: CompletionQuery, after: str | None = None) -> StoredPage | None:
        return (await self._ask(StoreQuestion("list", query=query, after=after))).page

    async def label(self, kind: str, key: str, id: str, metadata: dict[str, str]) -> StoredCompletion | None:
        return (await self._ask(StoreQuestion("label", kind, key, id, metadata))).row

    async def delete(self, kind: str, key: str, id: str) -> bool:
        return (await self._ask(StoreQuestion("delete", kind, key, id))).done

    async def _ask(self, question: StoreQuestion) -> StoreReply:
        """Raises OverloadError."""
        if len(self._waiting) >= MOST_ASKED:
            raise OverloadError(OUT, retry_after=1)
        future: asyncio.Future[StoreReply] = asyncio.get_running_loop().create_future()
        self._add(_Asked(frame(question), future))
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await future
        except TimeoutError:
            raise OverloadError(OUT, retry_after=1) from None
        if reply.is_out:
            raise OverloadError(OUT, retry_after=1)
        return reply

    def _add(self, asked: _Asked) -> None:
        self._waiting.append(asked)
        self._size += len(asked.data)
        self._changed.set()
