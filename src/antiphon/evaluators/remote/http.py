"""A service of one's own: is sent {"stage", "text"} and answers in the shape of our annotations.

    {"hate": {"severity": "medium"}, "jailbreak": {"detected": true}, "protected_material_code":
     {"detected": true, "citation": {"URL": "…", "license": "…"}}}

or the same under "content_filter_results". What it does not mention it does not judge; of the four severities those
that are not mentioned beside others are safe. An `error` with a code is a failure.
"""

from __future__ import annotations

from typing import Any, Final

from antiphon.evaluators.remote.service import ServiceRequest, Unreadable, member, truth
from antiphon.safety.verdict import CATEGORIES, Citation, Severity, Stage, Verdict

SEVERITIES: Final = {severity.name.lower(): severity for severity in Severity}


class Own:
    limit: int = 10_000
    batch: int = 1
    auth: str = "authorization: Bearer "

    def questions(self, stage: Stage, windows: list[str]) -> list[ServiceRequest]:
        (text,) = windows
        return [ServiceRequest("", {"stage": stage.value, "text": text}, _read)]


def _read(answer: Any) -> list[Verdict]:
    if not isinstance(answer, dict):
        raise Unreadable("the answer is not an object")
    found = answer.get("content_filter_results", answer)
    if not isinstance(found, dict):
        raise Unreadable("content_filter_results is not an object")
    error = found.get("error")
    if isinstance(error, dict) and error.get("code"):
        raise Unreadable("the service said that it failed")
    return [
        Verdict(
            severities=_severities(found),
            jailbreak=_detected(found, "jailbreak"),
            protected_text=_detected(found, "protected_material_text"),
            protected_code=_detected(found, "protected_material_code"),
            citation=_citation(found),
        )
    ]


def _severities(found: dict[str, Any]) -> tuple[Severity, ...] | None:
    if not any(name in found for name in CATEGORIES):
        return None
    words = [member(found, name, "severity") if name in found else "safe" for name in CATEGORIES]
    if not all(isinstance(word, str) and word in SEVERITIES for word in words):
        raise Unreadable(f"a severity is none of {', '.join(SEVERITIES)}")
    return tuple(SEVERITIES[word] for word in words)


def _detected(found: dict[str, Any], name: str) -> bool | None:
    return truth(found, name, "detected") if name in found else None


def _citation(found: dict[str, Any]) -> Citation | None:
    code = found.get("protected_material_code")
    citation = code.get("citation") if isinstance(code, dict) else None
    if not isinstance(citation, dict):
        return None
    return Citation(str(citation.get("URL", "")), str(citation.get("license", "")))
