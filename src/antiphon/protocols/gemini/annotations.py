"""Sources of what was said -> `annotations`; ratings -> `content_filter_results`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from antiphon.document import Document

_PLACES: Final = ("web", "retrievedContext", "maps", "image")
_CATEGORIES: Final = {
    "HATE_SPEECH": "hate",
    "HARASSMENT": "hate",
    "IMAGE_HATE": "hate",
    "IMAGE_HARASSMENT": "hate",
    "SEXUALLY_EXPLICIT": "sexual",
    "SEXUAL": "sexual",
    "IMAGE_SEXUALLY_EXPLICIT": "sexual",
    "DANGEROUS_CONTENT": "violence",
    "IMAGE_DANGEROUS_CONTENT": "violence",
    "DANGEROUS": "violence",
    "VIOLENCE": "violence",
}
_SEVERITIES: Final = {"NEGLIGIBLE": "safe", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
_RANKS: Final = ("safe", "low", "medium", "high")
# Reasons to stop or to block that say what was found, where no rating does.
_DETECTED: Final[dict[str, Document]] = {
    "RECITATION": {"protected_material_text": {"filtered": True, "detected": True}},
    "JAILBREAK": {"jailbreak": {"filtered": True, "detected": True}},
    "BLOCKLIST": {"custom_blocklists": {"filtered": True, "details": []}},
}


def filter_results(ratings: object, reason: object) -> Document:
    """Empty where the vendor gave no rating and its reason names none."""
    results: Document = {}
    for rating in ratings if isinstance(ratings, list) else ():
        if isinstance(rating, dict):
            _add_rating(rating, results)
    for key, finding in _DETECTED.get(str(reason), {}).items():
        results[key] = dict(finding)
    return results


def _add_rating(rating: Document, results: Document) -> None:
    name = str(rating.get("category", "")).removeprefix("HARM_CATEGORY_")
    blocked = rating.get("blocked") is True
    severity = _severity(rating)
    if name == "JAILBREAK":
        results["jailbreak"] = {"filtered": blocked, "detected": blocked or severity in ("medium", "high")}
        return
    category = _CATEGORIES.get(name)
    if category is None or (severity is None and not blocked):
        return
    known = results.get(category, {"filtered": False, "severity": "safe"})
    worse = max(known["severity"], severity or "safe", key=_RANKS.index)
    results[category] = {"filtered": known["filtered"] or blocked, "severity": worse}


def _severity(rating: Document) -> str | None:
    """Vertex says how bad it would be; else how likely it is harmful."""
    severity = str(rating.get("severity", "")).removeprefix("HARM_SEVERITY_")
    return _SEVERITIES.get(severity) or _SEVERITIES.get(str(rating.get("probability", "")))


class Citations:
    """Sources of one candidate; each is told once. Gemini counts in bytes of UTF-8, OpenAI in characters."""

    __slots__ = ("_count", "_told")

    def __init__(self) -> None:
        self._told: set[tuple[object, ...]] = set()
        self._count = 0

    def read(self, candidate: Document, texts: list[str]) -> list[Document]:
        grounding, citing = candidate.get("groundingMetadata"), candidate.get("citationMetadata")
        if not grounding and not citing:
            return []
        said = "".join(texts).encode(errors="surrogatepass")
        annotations = []
        for source, start, end in (*_grounds(grounding), *_quotes(citing)):
            url, title = source.get("uri"), source.get("title")
            if not isinstance(url, str) or (url, start, end) in self._told:
                continue
            self._told.add((url, start, end))
            citation = {
                "start_index": _characters(said, start),
                "end_index": _characters(said, end),
                "title": title if isinstance(title, str) else "",
                "url": url,
            }
            annotations.append({"index": self._count, "type": "url_citation", "url_citation": citation})
            self._count += 1
        return annotations


def _grounds(grounding: Any) -> Iterator[tuple[Document, int, int]]:
    if not isinstance(grounding, dict):
        return
    chunks = grounding.get("groundingChunks")
    chunks = chunks if isinstance(chunks, list) else []
    supports = grounding.get("groundingSupports")
    for support in supports if isinstance(supports, list) else ():
        segment = support.get("segment") if isinstance(support, dict) else None
        indices = support.get("groundingChunkIndices") if isinstance(support, dict) else None
        if not isinstance(segment, dict) or not isinstance(indices, list):
            continue
        for index in indices:
            if type(index) is int and 0 <= index < len(chunks) and isinstance(chunks[index], dict):
                source = next((chunks[index][place] for place in _PLACES if place in chunks[index]), None)
                if isinstance(source, dict):
                    yield source, *_span(segment)


def _quotes(citing: Any) -> Iterator[tuple[Document, int, int]]:
    if isinstance(citing, dict):
        sources = citing.get("citations") or citing.get("citationSources")
        for source in sources if isinstance(sources, list) else ():
            if isinstance(source, dict):
                yield source, *_span(source)


def _span(holder: Document) -> tuple[int, int]:
    start, end = holder.get("startIndex"), holder.get("endIndex")
    start = start if type(start) is int and start > 0 else 0
    return start, end if type(end) is int and end > start else start


def _characters(said: bytes, end: int) -> int:
    return len(said[:end].decode(errors="ignore"))
