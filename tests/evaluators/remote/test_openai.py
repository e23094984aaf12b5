"""OpenAI's scores and flags as our severities."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.evaluators.remote import OpenAIModerations, Unreadable
from antiphon.safety.verdict import CATEGORIES, SAFE, Severity, Stage, Verdict


def read(scores: dict[str, Any], flags: dict[str, Any] | None = None) -> Verdict:
    (question,) = OpenAIModerations("/v1").questions(Stage.PROMPT, ["x"])
    (verdict,) = question.read({"results": [{"categories": flags or {}, "category_scores": scores}]})
    return verdict


@pytest.mark.parametrize(
    ("score", "severity"),
    [(0.0, 0), (0.199, 0), (0.2, 1), (0.499, 1), (0.5, 2), (0.799, 2), (0.8, 3), (1.0, 3)],
)
def test_cut_points(score: float, severity: int) -> None:
    verdict = read({"violence/graphic": score})
    assert verdict.severities == (*SAFE[:3], Severity(severity))
    assert verdict.scores == (0.0, 0.0, 0.0, score)


def test_a_flag_is_medium_at_least() -> None:
    verdict = read({"sexual/minors": 0.1, "hate": 0.9}, {"sexual/minors": True, "hate": True})
    assert verdict.severities is not None
    assert dict(zip(CATEGORIES, verdict.severities, strict=True)) == {
        "hate": Severity.HIGH,
        "self_harm": Severity.SAFE,
        "sexual": Severity.MEDIUM,
        "violence": Severity.SAFE,
    }


def test_what_older_models_do_not_know_is_no_fault() -> None:
    assert read({"illicit": None, "harassment": 0.6}, {"illicit": None}).severities == (Severity.MEDIUM, *SAFE[1:])


def test_the_url_may_end_with_v1_or_not() -> None:
    paths = [OpenAIModerations(prefix).questions(Stage.PROMPT, ["x"])[0].path for prefix in ("/v1", "", "/proxy")]
    assert paths == ["/moderations", "/v1/moderations", "/v1/moderations"]


@pytest.mark.parametrize("results", [None, [], [{}, {}], [{"categories": [], "category_scores": []}], [{}]])
def test_one_result_for_each_text(results: Any) -> None:
    (question,) = OpenAIModerations("").questions(Stage.PROMPT, ["x"])
    with pytest.raises(Unreadable):
        question.read({"results": results})
