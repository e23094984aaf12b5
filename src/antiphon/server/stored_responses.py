"""Stored responses, as OpenAI's API has them: one, the items of its input, delete, cancel. A key sees its own
[stored-own]."""

from __future__ import annotations

from typing import Final

import msgspec

from antiphon.apis.responses.stored import KIND, KeptInput
from antiphon.errors import RequestError
from antiphon.flow.stored import CompletionStore, StoredCompletion, write_list
from antiphon.server.page_query import LONGEST, no_cursor, read_limit, read_order, read_query
from antiphon.server.paths import PathMatch

NO_CANCEL: Final = "Cannot cancel a synchronous response: only those that are made in the background can be cancelled."
encode = msgspec.json.Encoder().encode


class StoredResponses:
    def __init__(self, store: CompletionStore | None) -> None:
        """None: nothing is stored here."""
        self._store = store

    async def answer(self, place: PathMatch, method: bytes, query: bytes, owner: str) -> bytes:
        """The body of the answer. Raises RequestError, OverloadError."""
        if self._store is None:
            raise _missing(place.model, ": this server does not store responses")
        if method == b"DELETE":
            if not await self._store.delete(KIND, owner, place.model):
                raise _missing(place.model)
            return encode({"id": place.model, "object": "response", "deleted": True})
        found = await self._store.get(KIND, owner, place.model)
        if found is None:
            raise _missing(place.model)
        if place.action == "cancel":
            raise RequestError(NO_CANCEL)
        if place.action == "input_items":
            return _list_input(found, query)
        if read_query(query).get("stream", "").lower() in ("true", "1"):
            text = "A stored response is not streamed again: that is only for those made in the background."
            raise RequestError(text, param="stream", code="unsupported_value")
        return found.answer


def _list_input(found: StoredCompletion, query: bytes) -> bytes:
    """The newest item first, unless asked otherwise."""
    asked = {"order": "desc", **read_query(query)}
    limit = read_limit(asked)
    items = msgspec.json.decode(found.request, type=KeptInput).input
    if read_order(asked):
        items.reverse()
    ids = [item["id"] for item in items]
    after = asked.get("after")
    if after:
        if after not in ids:
            raise no_cursor(after)
        start = ids.index(after) + 1
        items, ids = items[start:], ids[start:]
    return write_list([encode(item) for item in items[:limit]], ids[:limit], has_more=len(items) > limit)


def _missing(id: str, why: str = "") -> RequestError:
    text = f"Response with id '{id[:LONGEST]}' not found{why}."
    return RequestError(text, status=404, param="response_id", code="not_found")
