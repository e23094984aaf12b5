"""Content filter results in skytells' shape [skytells-filter-keys].

What was judged is kept; what nobody judged is spelled safe/false and says so: the sibling `error` stands in every
object that holds a placeholder [unjudged-not-safe]. `judged`: our own evaluators were at work, and what they left
open is off by policy. The objects are not edited: one may ride on two chunks.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from antiphon.document import Document

_SEVERITY: Final = MappingProxyType({"filtered": False, "severity": "safe"})
_DETECTION: Final = MappingProxyType({"detected": False, "filtered": False})
_CATEGORIES: Final = MappingProxyType(
    {"hate": _SEVERITY, "self_harm": _SEVERITY, "sexual": _SEVERITY, "violence": _SEVERITY}
)
CHOICE_RESULTS: Final = MappingProxyType(
    {**_CATEGORIES, "protected_material_code": _DETECTION, "protected_material_text": _DETECTION}
)
PROMPT_RESULTS: Final = MappingProxyType({**_CATEGORIES, "jailbreak": _DETECTION})
UNFILTERED: Final = MappingProxyType(
    {"code": "content_filter_error", "message": "The contents are not filtered"}
)  # Azure's words (AZ content-filter)

_Results = MappingProxyType[str, MappingProxyType[str, Any]]


def choice_results(own: object, *, judged: bool) -> Document:
    """The `content_filter_results` of a choice: the upstream's own, made whole, or placeholders."""
    return _complete(own, CHOICE_RESULTS, judged=judged)


def prompt_results(own: object, *, judged: bool) -> list[Document]:
    """The `prompt_filter_results` of an answer; one conversation is one prompt, index 0."""
    entries = [dict(entry) for entry in own if isinstance(entry, dict)] if isinstance(own, list) else []
    entries = entries or [{"prompt_index": 0}]
    for position, entry in enumerate(entries):
        if type(entry.get("prompt_index")) is not int:
            entry["prompt_index"] = position
        results = _complete(entry.get("content_filter_results"), PROMPT_RESULTS, judged=judged)
        entry["content_filter_results"] = results
    return entries


def _complete(own: object, keys: _Results, *, judged: bool) -> Document:
    results: Document = dict(own) if isinstance(own, dict) else {}
    filled = False
    for key, placeholder in keys.items():
        finding = results.get(key)
        if not isinstance(finding, dict):
            results[key] = dict(placeholder)
            filled = True
        elif not finding.keys() >= placeholder.keys():
            results[key] = {**placeholder, **finding}
            filled = True
    if filled and not judged and not _is_error(results.get("error")):
        results["error"] = dict(UNFILTERED)
    return results


def _is_error(error: object) -> bool:
    """`{"code":"","message":""}` (GitHub Copilot's relay) means no error [empty-filter-error]."""
    return isinstance(error, dict) and any(error.values())
