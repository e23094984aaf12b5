"""OpenAI's moderations endpoint: POST {url}/v1/moderations, model omni-moderation-latest.

Its scores become severities by the cut points below; a category that it flags is medium at least, because flagged is
what OpenAI would act upon (platform.openai.com/docs/guides/moderation, seen 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from antiphon.evaluators.remote.service import ServiceRequest, Unreadable, member
from antiphon.safety.verdict import CATEGORIES, Severity, Stage, Verdict

MODEL: Final = "omni-moderation-latest"
# A score from which on a severity holds, the worst first.
CUTS: Final = ((0.8, Severity.HIGH), (0.5, Severity.MEDIUM), (0.2, Severity.LOW))
# Theirs -> ours. `illicit` has no counterpart.
THEIRS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hate": "hate",
        "hate/threatening": "hate",
        "harassment": "hate",  # Azure's hate and fairness includes harassment and bullying
        "harassment/threatening": "hate",
        "self-harm": "self_harm",
        "self-harm/intent": "self_harm",
        "self-harm/instructions": "self_harm",
        "sexual": "sexual",
        "sexual/minors": "sexual",
        "violence": "violence",
        "violence/graphic": "violence",
        "illicit/violent": "violence",
    }
)


class OpenAIModerations:
    limit: int = 8000  # characters; the endpoint takes more, and dilutes what it finds
    batch: int = 32
    auth: str = "authorization: Bearer "

    def __init__(self, prefix: str, model: str | None = None) -> None:
        """`prefix`: the path in the service's URL, which may end with /v1 as upstreams' do."""
        self._path = "/moderations" if prefix.endswith("/v1") else "/v1/moderations"
        self._model = model or MODEL

    def questions(self, stage: Stage, windows: list[str]) -> list[ServiceRequest]:
        count = len(windows)
        return [
            ServiceRequest(self._path, {"model": self._model, "input": windows}, lambda answer: _read(answer, count))
        ]


def _read(answer: Any, count: int) -> list[Verdict]:
    results = member(answer, "results")
    if not isinstance(results, list) or len(results) != count:
        raise Unreadable("there is not one result for each text")
    return [_verdict(result) for result in results]


def _verdict(result: Any) -> Verdict:
    flags, theirs = member(result, "categories"), member(result, "category_scores")
    if not isinstance(flags, dict) or not isinstance(theirs, dict):
        raise Unreadable("categories and category_scores are not objects")
    scores = dict.fromkeys(CATEGORIES, 0.0)
    severities = dict.fromkeys(CATEGORIES, Severity.SAFE)
    for their, our in THEIRS.items():
        score = theirs.get(their)
        if isinstance(score, int | float):  # categories that a model does not know are absent or null
            scores[our] = max(scores[our], min(1.0, float(score)))
            severities[our] = max(severities[our], _severity(score))
        if flags.get(their) is True:
            severities[our] = max(severities[our], Severity.MEDIUM)
    return Verdict(severities=tuple(severities.values()), scores=tuple(scores.values()))


def _severity(score: float) -> Severity:
    return next((severity for cut, severity in CUTS if score >= cut), Severity.SAFE)
