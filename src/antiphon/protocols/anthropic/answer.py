"""What whole answers and streams have in common: the end, the counts, citations, and blocks that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from antiphon.document import Document

REFUSED: Final = "The model declined to answer."
FINISHES: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",  # `native_finish_reason` says so; the content, sent back, goes on
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_TIERS: Final = {"standard": "default"}
_COUNTS: Final = frozenset(
    {
        *("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        *("output_tokens_details", "service_tier"),
    }
)


def finish_of(reason: object) -> str | None:
    """A word that no row knows travels: the stream machine reads it."""
    return FINISHES.get(reason, reason) if isinstance(reason, str) else None


def ending(said: Document) -> Document:
    """What stands beside the finish reason."""
    extras: Document = {"native_finish_reason": said.get("stop_reason")}
    for key in ("stop_sequence", "stop_details"):
        if said.get(key) is not None:
            extras[key] = said[key]
    if said.get("stop_reason") == "refusal":
        extras["content_filter_results"] = _results(said.get("stop_details"))
    return extras


def refusal_of(said: Document) -> str | None:
    if said.get("stop_reason") != "refusal":
        return None
    details = said.get("stop_details")
    explanation = details.get("explanation") if isinstance(details, dict) else None
    return explanation if isinstance(explanation, str) and explanation else REFUSED


def _results(details: object) -> Document:
    """The vendor names the policy that was broken, and no severity."""
    category = details.get("category") if isinstance(details, dict) else None
    name = category if isinstance(category, str) and category else "usage_policy"
    return {name: {"filtered": True, "detected": True}}


def read_usage(usage: Document) -> Document:
    """`input_tokens` has no cached tokens in it, `prompt_tokens` has; thinking is inside `output_tokens`."""
    fresh, read = _count(usage, "input_tokens"), _count(usage, "cache_read_input_tokens")
    written, completion = _count(usage, "cache_creation_input_tokens"), _count(usage, "output_tokens")
    prompt = fresh + read + written
    details = usage.get("output_tokens_details")
    thought = _count(details, "thinking_tokens") if isinstance(details, dict) else 0
    counts: Document = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": read, "cache_creation_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    counts.update({key: value for key, value in usage.items() if key not in _COUNTS and value is not None})
    return counts


def read_tier(usage: Document) -> str | None:
    tier = usage.get("service_tier")
    return _TIERS.get(tier, tier) if isinstance(tier, str) else None


def _count(usage: Document, key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0


def read_citations(citations: object, start: int, end: int) -> list[Document]:
    """`start`, `end`: the characters of the answer that they support."""
    found = citations if isinstance(citations, list) else []
    return [_citation(citation, start, end) for citation in found if isinstance(citation, dict)]


def _citation(citation: Document, start: int, end: int) -> Document:
    """An address is OpenAI's `url_citation`. A place in a document is told in the vendor's words, in the same form."""
    address = citation.get("url", citation.get("source"))
    span = {"start_index": start, "end_index": end}
    if isinstance(address, str) and address.startswith(("https://", "http://")):
        named = {"url": address, "title": citation.get("title") or ""}
        return {"type": "url_citation", "url_citation": {**span, **named, "cited_text": citation.get("cited_text")}}
    kind = str(citation.get("type"))
    return {"type": kind, kind: {**span, **{key: value for key, value in citation.items() if key != "type"}}}


def read_call_extras(block: Document) -> Document:
    """What must come back with a call beside its name and input."""
    own = {key: block[key] for key in ("caller", "toolset_name") if block.get(key) is not None}
    if own.get("caller") == {"type": "direct"}:
        del own["caller"]
    return {"extra_content": {"anthropic": own}} if own else {}
