"""Answers that clients asked to keep: recorded while they leave, and handed over as bytes. Nobody reads them here."""

from __future__ import annotations

import msgspec

from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Incoming
from antiphon.flow.stored import AnsweredTurn, asks_to_store
from antiphon.flow.turn import AnyTurn


def record_answer(turn: AnyTurn, incoming: Incoming) -> None:
    """At the beginning of a turn of Chat Completions."""
    if asks_to_store(turn.request):
        turn.client.start_record(incoming.body)


def keep_answer(turn: AnyTurn, gateway: Gateway) -> None:
    """`turn` was answered well."""
    record, store = turn.client.record, gateway.completions
    if record is None or store is None:
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
