"""The accounts process's end: answers the questions of workers out of the store, each connection in its order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace

import msgspec

from antiphon.accounts.completions.answers import NotWhole, read_turn
from antiphon.accounts.completions.wire import PAGE_BYTES, StoreQuestion, StoreReply, frame, read_frame, read_question
from antiphon.accounts.stores.contract import Completions, StoreDown, StoreError
from antiphon.flow.stored import CompletionQuery, StoredCompletion, StoredPage

Log = Callable[[str], None]


class CompletionServer:
    def __init__(self, completions: Completions, log: Log) -> None:
        self._completions = completions
        self._log = log
        self._connections: set[asyncio.Task[None]] = set()

    async def run(self, path: str) -> None:
        """Listens on a unix socket until it is cancelled. An earlier process may have left its socket."""
        draft = f"{path}.new"
        server = await asyncio.start_unix_server(self._serve, draft)
        try:
            os.rename(draft, path)
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while True:
                question = read_question(await read_frame(reader))
                writer.write(frame(await self._answer(question)))
                await writer.drain()
        except (EOFError, OSError, ValueError, msgspec.MsgspecError):
            pass  # the worker is gone
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, asked: StoreQuestion) -> StoreReply:
        try:
            return await self._ask_store(asked)
        except StoreDown:
            return StoreReply(is_out=True)
        except StoreError as error:
            self._log(f"the store refused a stored completion: {error}")
            return StoreReply(is_out=asked.verb != "keep")

    async def _ask_store(self, asked: StoreQuestion) -> StoreReply:
        store = self._completions
        if asked.verb == "keep" and asked.turn is not None:
            try:
                row = await asyncio.to_thread(read_turn, asked.turn)
            except NotWhole as error:
                self._log(f"{asked.turn.request_id} was not stored: {error}")
                return StoreReply()
            return StoreReply(done=await store.keep(row))
        if asked.verb == "put" and asked.row is not None:
            return StoreReply(done=await store.keep(asked.row))
        if asked.verb == "list" and asked.query is not None:
            return StoreReply(page=await self._list(asked.query, asked.after))
        if asked.verb == "label":
            found = await self._find(asked)
            if found is None or not await store.label(asked.key, asked.id, asked.metadata):
                return StoreReply()
            return StoreReply(row=msgspec.structs.replace(found, metadata=asked.metadata))
        found = await self._find(asked)
        if asked.verb == "delete":
            return StoreReply(done=found is not None and await store.remove(asked.key, asked.id))
        return StoreReply(row=found)

    async def _find(self, asked: StoreQuestion) -> StoredCompletion | None:
        found = await self._completions.find(asked.key, asked.id)
        return found if found is not None and found.kind == asked.kind else None

    async def _list(self, query: CompletionQuery, after: str | None) -> StoredPage | None:
        """One more than was asked for tells whether others follow."""
        if after is not None:
            last = await self._completions.find(query.key, after)
            if last is None or last.kind != query.kind:
                return None
            query = replace(query, after=(last.time, last.id))
        listed = await self._completions.list(replace(query, limit=query.limit + 1))
        rows: list[StoredCompletion] = []
        size = 0
        for row in listed[: query.limit]:
            found = await self._completions.find(query.key, row.id)
            if found is None:  # removed meanwhile
                continue
            size += len(found.answer)
            if rows and size > PAGE_BYTES:
                return StoredPage(tuple(rows), has_more=True)
            rows.append(msgspec.structs.replace(found, request=b""))
        return StoredPage(tuple(rows), has_more=len(listed) > query.limit)
