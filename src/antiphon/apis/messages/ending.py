"""What whole answers and streams have in common: the reason of the end, its details, and the counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from antiphon.document import Document

_REASONS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
# Anthropic's own words, where an upstream has said one of them.
_NATIVE: Final = frozenset(
    {
        *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
        *("model_context_window_exceeded", "compaction"),
    }
)
_HARMS: Final = "general_harms"  # Anthropic's word for the harms that evaluators find
_TIERS: Final = {"default": "standard"}
_COUNTED: Final = frozenset(
    {
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_tokens_details", "completion_tokens_details"),
    }
)
_FILTERED: Final = "The answer was stopped by a content filter."


def write_end(choice: Document, *, called: bool, refusal: str, stops: object) -> Document:
    """`stop_reason` and what belongs to it. `choice`: the one with the finish reason. `stops`: those of the request."""
    reason = _read_reason(choice, called=called, refused=bool(refusal))
    sequence = choice.get("stop_sequence")
    if sequence is None and reason == "end_turn" and isinstance(stops, list):
        told = choice.get("stop_reason")  # vLLM and others say which one it was
        sequence = told if isinstance(told, str) and told in stops else None
    if isinstance(sequence, str):
        reason = "stop_sequence" if reason == "end_turn" else reason
    out: Document = {"stop_reason": reason, "stop_sequence": sequence if isinstance(sequence, str) else None}
    if reason == "refusal":
        out["stop_details"] = _read_details(choice, refusal)
    return out


def _read_reason(choice: Document, *, called: bool, refused: bool) -> str:
    finish = choice.get("finish_reason")
    native = choice.get("native_finish_reason")
    if called and finish in ("stop", "tool_calls", "function_call"):
        return "tool_use"  # a forced call ends with `stop` in Chat Completions
    if isinstance(native, str) and native in _NATIVE:
        return native
    if refused and finish == "stop":
        return "refusal"
    return _REASONS.get(str(finish), "end_turn")


def _read_details(choice: Document, refusal: str) -> Document:
    told = choice.get("stop_details")
    if isinstance(told, dict):
        return told
    results = choice.get("content_filter_results")
    found = [
        name
        for name, result in (results.items() if isinstance(results, dict) else ())
        if isinstance(result, dict) and result.get("filtered")
    ]
    words = f"{_FILTERED[:-1]}: {', '.join(found)}." if found else _FILTERED
    return {"type": "refusal", "category": _HARMS if found else None, "explanation": refusal or words}


def write_usage(usage: Document, tier: object = None) -> Document:
    """`input_tokens` has no cached tokens in it, `prompt_tokens` has. What else an upstream counts travels."""
    details = _details(usage, "prompt_tokens_details")
    thought = _count(_details(usage, "completion_tokens_details"), "reasoning_tokens")
    cached = _count(details, "cached_tokens")
    written = _count(details, "cache_creation_tokens") or _count(details, "cache_write_tokens")
    out: Document = {
        "input_tokens": max(0, _count(usage, "prompt_tokens") - cached - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": _count(usage, "completion_tokens"),
    }
    if thought:
        out["output_tokens_details"] = {"thinking_tokens": thought}
    if isinstance(tier, str):
        out["service_tier"] = _TIERS.get(tier, tier)
    out.update((key, value) for key, value in usage.items() if key not in _COUNTED and key not in out)
    return out


def _details(usage: Document, key: str) -> Document:
    details = usage.get(key)
    return details if isinstance(details, dict) else {}


def _count(counts: Document, key: str) -> int:
    value = counts.get(key)
    return value if type(value) is int and value > 0 else 0


def message_id(given: object) -> str:
    """In Anthropic's form."""
    known = str(given)
    return known if known.startswith("msg_") else "msg_" + known.removeprefix("chatcmpl-")
