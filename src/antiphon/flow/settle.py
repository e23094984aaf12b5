"""How many tokens a turn took: reported by the upstream, or counted and marked."""

from __future__ import annotations

from antiphon.document import Document
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Change
from antiphon.flow.turn import AnyTurn


def reported(turn: AnyTurn, usage: Document | None) -> bool:
    """Takes over what the upstream reported, if that says both sides (an explicit zero is a report: R3)."""
    if usage is None or not isinstance(usage.get("prompt_tokens"), int):
        return False
    if not isinstance(usage.get("completion_tokens"), int):
        return False
    total = usage.get("total_tokens")
    if total is not None and total != usage["prompt_tokens"] + usage["completion_tokens"]:
        reason = f"the upstream reported {total}, which is not prompt + completion"
        turn.changes += (Change("usage.total_tokens", "rewritten", reason),)
    turn.usage, turn.usage_source = usage, "reported"
    return True


async def count(turn: AnyTurn, gateway: Gateway, usage: Document | None, texts: list[str]) -> None:
    """Counts what the upstream did not report. What it did report stays beside it."""
    model = turn.attempts[-1].model if turn.attempts else turn.request.model
    counted = await gateway.counter.count(model, turn.request.light, texts, turn.request.outline)
    filled = dict(usage or {})
    if not isinstance(filled.get("prompt_tokens"), int):
        filled["prompt_tokens"] = counted.prompt
    if not isinstance(filled.get("completion_tokens"), int):
        filled["completion_tokens"] = counted.completion
    filled["total_tokens"] = filled["prompt_tokens"] + filled["completion_tokens"]
    turn.usage, turn.usage_source, turn.tokenizer = filled, "estimated", counted.tokenizer
