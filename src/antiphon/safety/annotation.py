"""What a client is told: our findings and an upstream's own in one object. The worst counts [severity-ladder]."""

from __future__ import annotations

from typing import Any

from antiphon.safety.policy import LISTS, WORDS, Results


def merged(own: object, ours: Results) -> Results:
    """`own`: an upstream's `content_filter_results`, whatever they are. Neither is edited."""
    if not isinstance(own, dict):
        return ours
    both: Results = {**own, **ours}
    for key, finding in own.items():
        if key in ours and isinstance(finding, dict):
            both[key] = _worse(key, finding, ours[key])
    if _is_error(own.get("error")) and "error" not in ours:
        both["error"] = own["error"]
    elif "error" not in ours:
        both.pop("error", None)  # `{"code":"","message":""}` (GitHub Copilot's relay) means none
    return both


def merged_prompts(own: object, ours: Results) -> list[dict[str, Any]]:
    """`prompt_filter_results`: a conversation is one prompt; an upstream may have judged more."""
    entries = [dict(entry) for entry in own if isinstance(entry, dict)] if isinstance(own, list) else []
    if not entries:
        return [{"prompt_index": 0, "content_filter_results": ours}]
    entries[0].setdefault("prompt_index", 0)
    entries[0]["content_filter_results"] = merged(entries[0].get("content_filter_results"), ours)
    return entries


def _worse(key: str, own: Results, ours: Results) -> Results:
    if key == "error":
        return ours
    if key == LISTS:
        details = [*_details(own), *_details(ours)]
        return {**own, "filtered": _either(own, ours, "filtered"), "details": details}
    worse: Results = {**ours, **own}
    worse["filtered"] = _either(own, ours, "filtered")
    if "severity" in ours:
        worse["severity"] = max(own.get("severity"), ours["severity"], key=_rank)
    if "detected" in ours:
        worse["detected"] = _either(own, ours, "detected")
    return worse


def _either(own: Results, ours: Results, key: str) -> bool:
    return own.get(key) is True or ours.get(key) is True


def _rank(word: object) -> int:
    return WORDS.index(word) if word in WORDS else -1


def _details(lists: Results) -> list[Any]:
    details = lists.get("details")
    return details if isinstance(details, list) else []


def _is_error(error: object) -> bool:
    return isinstance(error, dict) and any(error.values())
