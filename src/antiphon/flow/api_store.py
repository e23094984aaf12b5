"""Kept answers of other APIs: fetched where a request goes on from them, and kept before the client has its answer.

A client that has its answer may go on from it at once. So it is kept first; where that fails, the answer says so
[response-kept].
"""

from __future__ import annotations

import asyncio
from typing import Final

from antiphon.apis.api import ApiCall, ApiStored, ApiStream, StoringApi, StoringRequest
from antiphon.errors import OverloadError, RequestError
from antiphon.flow.endpoints.endpoint import read_document
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Incoming
from antiphon.flow.stored import CompletionStore, StoredCompletion
from antiphon.flow.turn import AnyTurn

MOST_FETCHED: Final = 512  # answers that one request goes on from
MOST_BYTES: Final = 64 * 1024 * 1024  # of them together
KEEP_LIMIT: Final = 2.0  # seconds for which an answer waits until it is kept
TOO_MANY: Final = "The conversation that this request goes on from is too long. Send the items themselves."


def goes_on(incoming: Incoming, call: ApiCall) -> bool:
    """May the request refer to kept answers?"""
    return isinstance(call.api, StoringApi) and call.api.may_refer(incoming.body)


async def fetch_stored(turn: AnyTurn, incoming: Incoming, gateway: Gateway, store: CompletionStore) -> None:
    """Raises RequestError, OverloadError."""
    call = incoming.api
    if call is None or not isinstance(call.api, StoringApi):
        return
    api, found, room = call.api, dict[str, ApiStored](), MOST_BYTES
    wanted = api.refers_to(read_document(incoming, gateway.bounds))
    seen = set(wanted)
    while wanted:
        row = await store.get(api.kind, turn.payer or "", wanted.pop())
        if row is None:
            continue
        kept = found[row.id] = ApiStored(row.kind, row.id, row.model, row.metadata, row.request, row.answer)
        room -= len(kept.request) + len(kept.answer)
        new = [each for each in api.follows(kept) if each not in seen]
        wanted += new
        seen.update(new)
        if len(seen) > MOST_FETCHED or room < 0:
            raise RequestError(TOO_MANY)
    incoming.api = call._replace(stored=found)


async def keep_api_answer(turn: AnyTurn, gateway: Gateway) -> bool:
    """False: it could not be kept."""
    asked, store = turn.api_request, gateway.completions
    if store is None or not isinstance(asked, StoringRequest):
        return True
    kept = asked.to_store()
    if kept is None:
        return True
    row = StoredCompletion(
        id=kept.id,
        key=turn.payer or "",
        time=int(gateway.wall() * 1_000_000),
        model=kept.model,
        kind=kept.kind,
        metadata=kept.metadata,
        request=kept.request,
        answer=kept.answer,
    )
    try:
        async with asyncio.timeout(KEEP_LIMIT):
            await store.put(row)
    except (OverloadError, TimeoutError) as error:
        gateway.ledger.error("an answer could not be stored", error, turn.id)
        asked.was_not_stored()
        return False
    return True


async def end_api_stream(turn: AnyTurn, gateway: Gateway, stream: ApiStream) -> bytes:
    """The last bytes of a stream, once its answer is kept."""
    last = stream.end()
    return last if await keep_api_answer(turn, gateway) else stream.end()
