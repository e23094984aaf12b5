"""A verdict in the shape of OpenAI's moderations [moderation-parameter].

OpenAI has thirteen categories, of which four are judged here. Of the others nothing is claimed: `illicit` and
`illicit/violent` may be null by the schema and are; the rest must be there, as false and 0, with no input type applied.
What the schema has no place for (jailbreak, lists, a language that nobody reads) stands in `content_filter_results`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from antiphon.safety.policy import Side
from antiphon.safety.verdict import CATEGORIES, Severity, Verdict

MODEL: Final = "antiphon-safety"
JUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {"hate": "hate", "self-harm": "self_harm", "sexual": "sexual", "violence": "violence"}
)
ALL: Final = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/intent",
    "self-harm/instructions",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)
NULLABLE: Final = frozenset({"illicit", "illicit/violent"})


def moderation_result(verdict: Verdict, side: Side) -> dict[str, Any]:
    """One entry of `results`. `side`: the rules that `content_filter_results` is told by."""
    severities = dict(zip(CATEGORIES, verdict.severities or (), strict=False))
    scores = dict(zip(CATEGORIES, verdict.scores or (), strict=False))
    categories: dict[str, bool | None] = {}
    for name in ALL:
        own = JUDGED.get(name)
        unjudged = None if name in NULLABLE else False
        categories[name] = unjudged if own is None else severities.get(own, Severity.SAFE) >= Severity.MEDIUM
    return {
        "flagged": any(categories.values()),
        "categories": categories,
        "category_scores": {name: scores.get(JUDGED.get(name, ""), 0.0) for name in ALL},
        "category_applied_input_types": {name: ["text"] if name in JUDGED else [] for name in ALL},
        "content_filter_results": side.decide(verdict).results,
    }


def moderation_part(verdicts: list[Verdict], side: Side) -> dict[str, Any]:
    """`moderation.input` or `moderation.output` of a chat completion."""
    failed = next((verdict.error for verdict in verdicts if verdict.error is not None), None)
    if failed is not None and not any(verdict.severities for verdict in verdicts):
        return {"type": "error", "code": failed, "message": "The contents could not be evaluated."}
    results = [
        {"type": "moderation_result", "model": MODEL, **_plain(moderation_result(verdict, side))}
        for verdict in verdicts
    ]
    return {"type": "moderation_results", "model": MODEL, "results": results}


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    """Here the schema knows booleans and numbers only."""
    result["categories"] = {name: found for name, found in result["categories"].items() if found is not None}
    return result
