"""What whole answers and streams have in common: the end, the counts, citations, thoughts, the fields beside them."""

from __future__ import annotations

from typing import Final

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.bedrock.guardrail import read_trace

REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
# The model wrote what nobody can read: that is no answer.
MALFORMED: Final = frozenset({"malformed_model_output", "malformed_tool_use"})
# Words that say more than the reason does.
TELLING: Final = frozenset(
    {"stop_sequence", "model_context_window_exceeded", "guardrail_intervened", "content_filtered"}
)
CACHED: Final = {"5m": "ephemeral_5m_input_tokens", "1h": "ephemeral_1h_input_tokens"}
SERVER_TOOL: Final = "server_tool_use"


def read_end(word: object) -> Document:
    """`finish_reason`, and Bedrock's own word where it says more. A word that no row knows is told as it is."""
    if not isinstance(word, str) or not word:
        raise UpstreamError("The upstream's answer ended without a reason.", code="upstream_malformed")
    if word in MALFORMED:
        raise UpstreamError(f"The model's answer cannot be read ({word}).", code="upstream_malformed")
    end: Document = {"finish_reason": REASONS.get(word, word)}
    if word in TELLING:
        end["native_finish_reason"] = word
    return end


def read_usage(usage: object) -> Document | None:
    """Bedrock counts what was read from a cache, and written to it, beside `inputTokens`."""
    if not isinstance(usage, dict):
        return None
    fresh, written, read = (_count(usage, f"{name}Tokens") for name in ("input", "cacheWriteInput", "cacheReadInput"))
    prompt, completion = fresh + written + read, _count(usage, "outputTokens")
    counts: Document = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if written or read or "cacheReadInputTokens" in usage or "cacheWriteInputTokens" in usage:
        details: Document = {"cached_tokens": read, "cache_creation_tokens": written}
        if by_age := _by_age(usage.get("cacheDetails")):
            details["cache_creation_token_details"] = by_age
        counts["prompt_tokens_details"] = details
    if usage.get("serverToolUsage"):
        counts["server_tool_usage"] = usage["serverToolUsage"]
    return counts


def _count(usage: Document, key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int and value >= 0 else 0


def _by_age(details: object) -> Document:
    """Tokens written to a cache, by how long they stay there: their prices differ."""
    ages: Document = {}
    for entry in details if isinstance(details, list) else ():
        age = entry.get("ttl") if isinstance(entry, dict) else None
        if isinstance(age, str):
            key = CACHED.get(age, age)
            ages[key] = ages.get(key, 0) + _count(entry, "inputTokens")
    return ages


def read_beside(answer: Document) -> Document:
    """What stands beside an answer: the tier, and what was asked for in Bedrock's own words and answered in them."""
    beside: Document = {}
    tier = answer.get("serviceTier")
    if isinstance(tier, dict) and isinstance(tier.get("type"), str):
        beside["service_tier"] = tier["type"]
    for key in ("additionalModelResponseFields", "trace", "performanceConfig"):
        if answer.get(key):
            beside[key] = answer[key]
    return beside


def read_findings(answer: Document) -> tuple[list[Document] | None, Document]:
    """-> (`prompt_filter_results`, `content_filter_results`) of a guardrail that was traced."""
    prompt, said = read_trace(answer.get("trace"))
    return [{"prompt_index": 0, "content_filter_results": prompt}] if prompt else None, said


def annotate(citation: object, start: int, end: int) -> Document | None:
    """A citation of the text from `start` to `end` (characters of the content)."""
    if not isinstance(citation, dict):
        return None
    location = citation.get("location")
    location = location if isinstance(location, dict) else {}
    about: Document = {"start_index": start, "end_index": end}
    if isinstance(citation.get("title"), str):
        about["title"] = citation["title"]
    if isinstance(web := location.get("web"), dict) and isinstance(web.get("url"), str):
        return {"type": "url_citation", "url_citation": {"url": web["url"], "title": web["url"], **about}}
    kind = next(iter(location), "citation")
    place = location.get(kind)
    about |= {key: citation[key] for key in ("source", "sourceContent") if citation.get(key)}
    if isinstance(place, dict):
        about["location"] = place
    return {"type": kind, kind: about}


def placed(index: int, offset: int, block: Document) -> Document:
    """A block with where it stood in the answer (its index, and the characters of content before it), so that it can go
    back there. By the index clients also put the lists of several deltas together."""
    return {"index": index, **({"text_offset": offset} if offset else {}), **block}


def part_of(block: Document) -> Document:
    """A block that Chat Completions has no place for, as one of the `content_parts`."""
    return {"type": next(iter(block), ""), **block}


def thought_of(text: str, signature: str) -> Document:
    return {"type": "thinking", "thinking": text, "signature": signature}


def redacted(data: str) -> Document:
    return {"type": "redacted_thinking", "data": data}
