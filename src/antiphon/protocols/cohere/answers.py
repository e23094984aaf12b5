"""What whole answers and streams have in common: the end, the counts, calls, citations, log probabilities."""

from __future__ import annotations

from typing import Any, Final

from antiphon.chat.failure import read_failure
from antiphon.document import Document
from antiphon.errors import UpstreamError

REASONS: Final = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "content_filter",
    "ERROR_LIMIT": "length",
}
TELLING: Final = frozenset({"STOP_SEQUENCE", "ERROR_TOXIC", "ERROR_LIMIT"})


def read_end(word: object, said: object = None) -> Document:
    """`said`: what Cohere says of an error."""
    if word == "ERROR" or word == "TIMEOUT":
        failure = read_failure({"message": said} if isinstance(said, str) else {}, 500)
        if word == "TIMEOUT":
            raise UpstreamError(failure.message, status=504, code="timeout")
        raise failure
    if not isinstance(word, str) or not word:
        raise UpstreamError("The upstream's answer ended without a reason.", code="upstream_malformed")
    end: Document = {"finish_reason": REASONS.get(word, word)}
    if word in TELLING:
        end["native_finish_reason"] = word
    return end


def read_usage(usage: object) -> Document | None:
    """`tokens` are counted, `billed_units` are paid for; what came from the cache is part of the input."""
    if not isinstance(usage, dict):
        return None
    billed = usage.get("billed_units")
    counted = usage.get("tokens") if isinstance(usage.get("tokens"), dict) else billed
    if not isinstance(counted, dict):
        return None
    prompt, completion = _count(counted.get("input_tokens")), _count(counted.get("output_tokens"))
    counts: Document = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if usage.get("cached_tokens") is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": _count(usage["cached_tokens"])}
    if isinstance(billed, dict):
        counts["billed_units"] = billed
    return counts


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else 0


def arguments_of(said: object) -> str:
    """A call without arguments has none, or says "null"."""
    if not isinstance(said, str) or not said.strip() or said.strip() == "null":
        return "{}"
    return said


def annotate(citation: Document, offsets: dict[int, int]) -> list[Document]:
    """`offsets`: by the index of a part, the characters of content before it."""
    about: Document = {}
    start, end, index = citation.get("start"), citation.get("end"), citation.get("content_index")
    offset = offsets.get(index if type(index) is int else 0, 0)
    if type(start) is int and type(end) is int and citation.get("type", "TEXT_CONTENT") == "TEXT_CONTENT":
        about = {"start_index": start + offset, "end_index": end + offset}
    notes: list[Document] = []
    sources = citation.get("sources")
    for source in sources if isinstance(sources, list) else ():
        inside = source.get("document") if isinstance(source, dict) else None
        if isinstance(inside, dict) and isinstance(url := inside.get("url"), str) and url.startswith("http"):
            title = inside.get("title")
            cited = {"url": url, "title": title if isinstance(title, str) else url, **about}
            notes.append({"type": "url_citation", "url_citation": cited})
    return notes or [{"type": "citation", "citation": {**citation, **about}}]


def read_logprobs(items: object) -> Document | None:
    """Cohere gives the numbers of all tokens of a piece of text; the piece stands for them."""
    tokens: list[Any] = []
    for item in items if isinstance(items, list) else [items]:
        if not isinstance(item, dict):
            continue
        text, numbers = item.get("text"), item.get("logprobs")
        if not isinstance(text, str) or not isinstance(numbers, list) or not numbers:
            continue
        if all(isinstance(number, int | float) for number in numbers):
            tokens.append({"token": text, "logprob": sum(numbers), "bytes": list(text.encode()), "top_logprobs": []})
    return {"content": tokens, "refusal": None} if tokens else None
