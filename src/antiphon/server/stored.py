"""Stored completions, as OpenAI's API has them: list, one, its messages, new metadata, delete. A key sees its own
[stored-own]."""

from __future__ import annotations

from typing import Final

import msgspec

from antiphon.chat.bounds import JsonBounds
from antiphon.chat.checks import RequestFault
from antiphon.chat.fields import check_metadata
from antiphon.chat.request import decode, refusal
from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.flow.stored import (
    CHAT,
    CompletionQuery,
    CompletionStore,
    StoredCompletion,
    write_list,
    write_stored,
)
from antiphon.server.page_query import LONGEST, no_cursor, read_limit, read_order, read_query
from antiphon.server.paths import PathMatch

MOST_FILTERS: Final = 16
encode = msgspec.json.Encoder().encode


class StoredAnswers:
    def __init__(self, store: CompletionStore, bounds: JsonBounds) -> None:
        self._store = store
        self._bounds = bounds

    async def answer(self, place: PathMatch, method: bytes, query: bytes, body: bytes, owner: str) -> bytes:
        """The body of the answer. Raises RequestError, OverloadError."""
        if not place.model:
            return await self._list(query, owner)
        if place.action == "messages":
            return await self._messages(place.model, query, owner)
        if method == b"DELETE":
            if not await self._store.delete(CHAT, owner, place.model):
                raise _missing(place.model)
            return encode({"object": "chat.completion.deleted", "id": place.model, "deleted": True})
        if method == b"POST":
            found = await self._store.label(CHAT, owner, place.model, _read_metadata(body, self._bounds))
        else:
            found = await self._store.get(CHAT, owner, place.model)
        if found is None:
            raise _missing(place.model)
        return write_stored(found)

    async def _list(self, query: bytes, owner: str) -> bytes:
        asked = read_query(query)
        metadata = tuple(
            (name[len("metadata[") : -1], value)
            for name, value in asked.items()
            if name.startswith("metadata[") and name.endswith("]")
        )
        if len(metadata) > MOST_FILTERS:
            raise RequestError(f"Invalid 'metadata': at most {MOST_FILTERS} pairs.", param="metadata")
        filters = CompletionQuery(
            owner,
            asked.get("model") or None,
            metadata,
            descending=read_order(asked),
            limit=read_limit(asked),
        )
        page = await self._store.list(filters, asked.get("after") or None)
        if page is None:
            raise no_cursor(asked["after"])
        return write_list(
            [write_stored(row) for row in page.rows], [row.id for row in page.rows], has_more=page.has_more
        )

    async def _messages(self, id: str, query: bytes, owner: str) -> bytes:
        asked = read_query(query)
        limit, descending = read_limit(asked), read_order(asked)
        found = await self._store.get(CHAT, owner, id)
        if found is None:
            raise _missing(id)
        messages = _split(found)
        numbers = list(range(len(messages)))
        if descending:
            numbers.reverse()
        after = asked.get("after")
        if after:
            start, _, number = after.rpartition("-")
            place = int(number) if start == id and number.isascii() and number.isdigit() and len(number) < 9 else -1
            if place not in numbers:
                raise no_cursor(after)
            numbers = numbers[numbers.index(place) + 1 :]
        shown = numbers[:limit]
        ids = [f"{id}-{number}" for number in shown]
        return write_list([messages[number] for number in shown], ids, has_more=len(numbers) > limit)


def _split(row: StoredCompletion) -> list[bytes]:
    """The messages as they are, unread."""
    return [bytes(message) for message in msgspec.json.decode(row.request, type=list[msgspec.Raw])]


def _read_metadata(body: bytes, bounds: JsonBounds) -> dict[str, str]:
    document: Document = decode(body, bounds)
    if "metadata" not in document:
        raise RequestError(
            "Missing required parameter: 'metadata'.", param="metadata", code="missing_required_parameter"
        )
    metadata = document["metadata"]
    if metadata is None:
        return {}
    try:
        check_metadata(metadata, True)
    except RequestFault as fault:
        fault.under("metadata")
        raise refusal(fault) from None
    return dict(metadata)


def _missing(id: str) -> RequestError:
    words = f"No chat completion found with id '{id[:LONGEST]}'."
    return RequestError(words, status=404, param="completion_id", code="not_found")
