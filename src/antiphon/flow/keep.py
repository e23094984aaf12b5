"""An answer that its client asked to keep, at the end of its turn. It is handed over as bytes: nobody reads it here."""

from __future__ import annotations

import msgspec

from antiphon.flow.gateway import Gateway
from antiphon.flow.stored import AnsweredTurn, asks_to_store
from antiphon.flow.turn import AnyTurn


def keep_answer(turn: AnyTurn, gateway: Gateway) -> None:
    """`turn` was answered well, and its client has recorded the answer."""
    record, store = turn.client.record, gateway.completions
    if record is None or store is None or not asks_to_store(turn.request):
        return
    answer = record.whole()
    if answer is None:
        gateway.ledger.error(f"{turn.id} was not stored: its answer is too large", None, turn.id)
        return
    store.keep(
        AnsweredTurn(
            key=turn.payer or "",
            request_id=turn.id,
            time=int(gateway.wall() * 1_000_000),
            is_stream=record.is_stream,
            request=record.request,
            answer=answer,
            usage=msgspec.json.encode(turn.usage) if record.is_stream and turn.usage is not None else b"",
        )
    )
