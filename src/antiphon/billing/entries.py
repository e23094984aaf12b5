"""A turn as an entry of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from antiphon.accounts.entry import LONGEST_TEXT, MOST_TAGS, LedgerEntry
from antiphon.billing.prices import Priced, Used
from antiphon.chat.request import ChatRequest
from antiphon.flow.turn import UNREAD, AnyTurn

TAG: Final = b"x-antiphon-tag"
MODEL_SHOWN: Final = 200  # characters of a client's own word for a model
NO_TAGS: Final[tuple[str, ...]] = ()


def entry_of(
    turn: AnyTurn, status: int, now: float, wall: float, used: Used, source: str | None, priced: Priced
) -> LedgerEntry:
    """`source`: whether tokens were reported or estimated; None: there are none."""
    request, route, attempts, account = turn.request, turn.route, turn.attempts, turn.account
    entry = LedgerEntry(
        time=int(wall * 1_000_000),
        request_id=turn.id,
        key=turn.payer,
        endpoint=turn.endpoint,
        dialect=turn.dialect.name,
        status=status,
        attempts=len(attempts),
        input_tokens=used.input,
        output_tokens=used.output,
        usage=source,
        price=priced.amount,
        price_version=priced.version,
        duration=int((now - turn.began) * 1_000_000),
        finish=turn.finish,
    )
    if used.cached or used.written or used.reasoning:
        entry.cached_tokens, entry.cache_write_tokens, entry.reasoning_tokens = (
            used.cached,
            used.written,
            used.reasoning,
        )
    if account is not None:
        entry.team = account.team
    if request is not UNREAD:
        entry.model_asked = request.model[:MODEL_SHOWN] or None
        entry.stream = request.stream
        entry.tags = tags_of(request, turn.headers)
    if route is not None:
        entry.route = route.model
    if attempts:
        last = attempts[-1]
        entry.model, entry.upstream, entry.protocol = last.model, last.target.upstream, last.protocol
    _note_course(entry, turn)
    return entry


def _note_course(entry: LedgerEntry, turn: AnyTurn) -> None:
    """What happened on the way."""
    if turn.first:
        entry.first_chunk = int((turn.first - turn.began) * 1_000_000)
    if turn.error is not None:
        entry.error = turn.error.code or turn.error.type
    entry.blocked = turn.blocked
    if turn.error is not None or len(turn.attempts) > 1 or turn.changes or turn.wants_receipt or _is_noteworthy(turn):
        entry.detail = turn.receipt()


def _is_noteworthy(turn: AnyTurn) -> bool:
    """Safety has found something, or could not judge."""
    if turn.prompt_results is None:
        return False
    found = (turn.prompt_results, *turn.answer_results.values())
    return turn.blocked is not None or any(_says_more(name, one) for results in found for name, one in results.items())


def _says_more(name: str, finding: object) -> bool:
    if name == "error" or not isinstance(finding, dict):
        return True
    return bool(finding.get("filtered") or finding.get("detected")) or finding.get("severity", "safe") != "safe"


def tags_of(request: Any, headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """Words by which its sender tells turns apart: `metadata` as name=value, and the header, with commas."""
    plain = request.plain if type(request) is ChatRequest else None
    metadata = request.light.get("metadata") if plain is None else plain.fields.metadata
    told = headers.get(TAG)
    if not metadata and told is None:
        return NO_TAGS
    tags = []
    if isinstance(metadata, dict):
        tags = [f"{name}={value}"[:LONGEST_TEXT] for name, value in metadata.items() if isinstance(value, str)]
    if told is not None:
        words = (word.strip() for word in told.decode("utf-8", "replace").split(","))
        tags += [word[:LONGEST_TEXT] for word in words if word]
    return tuple(dict.fromkeys(tags))[:MOST_TAGS]
