"""A guardrail's assessments -> `content_filter_results` and `prompt_filter_results`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from antiphon.document import Document

# A guardrail's word -> the category that clients know. `misconduct` is a guardrail's alone.
CATEGORIES: Final = {
    **{"HATE": "hate", "INSULTS": "hate", "SEXUAL": "sexual", "VIOLENCE": "violence"},
    **{"MISCONDUCT": "misconduct", "SELF_HARM": "self_harm"},
}
SEVERITIES: Final = ("safe", "low", "medium", "high")
CONFIDENCES: Final = {"NONE": "safe", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
# Policies that find words, topics or data: where their findings stand, and which key names a finding. What was
# matched is never told.
LISTS: Final = (
    ("topicPolicy", "topics", "name"),
    ("wordPolicy", "customWords", None),
    ("sensitiveInformationPolicy", "piiEntities", "type"),
    ("sensitiveInformationPolicy", "regexes", "name"),
    ("contextualGroundingPolicy", "filters", "type"),
)


def read_trace(trace: object) -> tuple[Document, Document]:
    """-> (findings in the prompt, findings in the answer); each empty where nothing was assessed."""
    guardrail = trace.get("guardrail") if isinstance(trace, dict) else None
    if not isinstance(guardrail, dict):
        return {}, {}
    return _results(guardrail.get("inputAssessment")), _results(guardrail.get("outputAssessments"))


def _results(assessments: object) -> Document:
    results: Document = {}
    for assessment in _assessments(assessments):
        for found in _items(assessment, "contentPolicy", "filters"):
            _add_category(found, results)
        for found in _items(assessment, "wordPolicy", "managedWordLists"):
            _join(results, "profanity", {"filtered": _blocked(found), "detected": True})
        for policy, key, name in LISTS:
            for found in _items(assessment, policy, key):
                _add_to_lists(found, name, key, results)
    return results


def _assessments(value: object) -> Iterator[Document]:
    """By guardrail: one of a prompt, a list of them of an answer."""
    for entry in value.values() if isinstance(value, dict) else ():
        for assessment in entry if isinstance(entry, list) else (entry,):
            if isinstance(assessment, dict):
                yield assessment


def _items(assessment: Document, policy: str, key: str) -> Iterator[Document]:
    found = assessment.get(policy)
    items = found.get(key) if isinstance(found, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield item


def _blocked(found: Document) -> bool:
    return found.get("action") == "BLOCKED"


def _add_category(found: Document, results: Document) -> None:
    kind = found.get("type")
    severity = CONFIDENCES.get(str(found.get("confidence")), "safe")
    if kind == "PROMPT_ATTACK":
        _join(results, "jailbreak", {"filtered": _blocked(found), "detected": severity != "safe"})
    elif isinstance(kind, str) and kind in CATEGORIES:
        _join(results, CATEGORIES[kind], {"filtered": _blocked(found), "severity": severity})


def _join(results: Document, category: str, finding: Document) -> None:
    """The worse of two findings."""
    before: Document | None = results.get(category)
    if before is None:
        results[category] = finding
        return
    before["filtered"] = before["filtered"] or finding["filtered"]
    if "severity" in finding:
        before["severity"] = max(before["severity"], finding["severity"], key=SEVERITIES.index)
    else:
        before["detected"] = before["detected"] or finding["detected"]


def _add_to_lists(found: Document, name: str | None, key: str, results: Document) -> None:
    if found.get("action") not in ("BLOCKED", "ANONYMIZED") and found.get("detected") is not True:
        return
    lists: Document = results.setdefault("custom_blocklists", {"filtered": False, "details": []})
    identity: Any = found.get(name) if name is not None else None
    lists["details"].append({"id": identity if isinstance(identity, str) else key, "filtered": _blocked(found)})
    lists["filtered"] = lists["filtered"] or _blocked(found)
