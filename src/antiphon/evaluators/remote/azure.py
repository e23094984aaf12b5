"""Azure AI Content Safety, api-version 2024-09-01: severities for both sides, Prompt Shields for prompts, protected
material (text) for answers. Limits: learn.microsoft.com, azure/ai-services/content-safety/overview, seen 2026-11."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from antiphon.evaluators.remote.service import ServiceRequest, Unreadable, member, truth, windows
from antiphon.safety.verdict import CATEGORIES, Severity, Stage, Verdict

VERSION: Final = "2024-09-01"
THEIRS: Final[Mapping[str, str]] = MappingProxyType(
    {"Hate": "hate", "SelfHarm": "self_harm", "Sexual": "sexual", "Violence": "violence"}
)
LEVELS: Final = (0, 2, 4, 6)  # safe, low, medium, high
PROTECTED_LEAST, PROTECTED_MOST = 110, 1000  # characters that detectProtectedMaterial takes


class Azure:
    limit: int = 10_000
    batch: int = 1
    auth: str = "ocp-apim-subscription-key: "

    def questions(self, stage: Stage, windows: list[str]) -> list[ServiceRequest]:
        (text,) = windows
        analysis = {"text": text, "categories": list(THEIRS), "outputType": "FourSeverityLevels"}
        first = ServiceRequest(_path("analyze"), analysis, _read_analysis)
        return [first, _shield(text)] if stage is Stage.PROMPT else [first, *_protected(text)]


def _path(verb: str) -> str:
    return f"/contentsafety/text:{verb}?api-version={VERSION}"


def _read_analysis(answer: Any) -> list[Verdict]:
    severities = dict.fromkeys(CATEGORIES, Severity.SAFE)
    found = member(answer, "categoriesAnalysis")
    if not isinstance(found, list):
        raise Unreadable("categoriesAnalysis is not a list")
    for row in found:
        our = THEIRS.get(str(member(row, "category")))
        level = member(row, "severity")
        if level not in LEVELS:
            raise Unreadable("a severity is none of 0, 2, 4, 6")
        if our is not None:
            severities[our] = Severity(LEVELS.index(level))
    return [Verdict(severities=tuple(severities.values()))]


def _shield(text: str) -> ServiceRequest:
    def read(answer: Any) -> list[Verdict]:
        return [Verdict(jailbreak=truth(answer, "userPromptAnalysis", "attackDetected"))]

    return ServiceRequest(_path("shieldPrompt"), {"userPrompt": text, "documents": []}, read)


def _protected(text: str) -> list[ServiceRequest]:
    def read(answer: Any) -> list[Verdict]:
        return [Verdict(protected_text=truth(answer, "protectedMaterialAnalysis", "detected"))]

    pieces = [piece for piece in windows(text, PROTECTED_MOST) if len(piece) >= PROTECTED_LEAST]
    return [ServiceRequest(_path("detectProtectedMaterial"), {"text": piece}, read) for piece in pieces]
