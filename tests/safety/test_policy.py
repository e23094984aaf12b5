"""Verdicts merged, and what becomes of them."""

from __future__ import annotations

import pytest

from antiphon.safety.annotation import merged, merged_prompts
from antiphon.safety.moderation import ALL, moderation_part, moderation_result
from antiphon.safety.policy import Grade, Mode, Side
from antiphon.safety.verdict import (
    CATEGORIES,
    CLEAN,
    FAILED,
    FAILURE,
    LATE,
    NOTHING,
    OVER_LENGTH,
    SAFE,
    UNSUPPORTED_LANGUAGE,
    Citation,
    Severity,
    Stage,
    Verdict,
    worst,
)

HATE = Verdict(severities=(Severity.MEDIUM, *SAFE[1:]), scores=(0.6, 0.1, 0.0, 0.0))
VIOLENT = Verdict(severities=(Severity.LOW, Severity.SAFE, Severity.SAFE, Severity.HIGH), scores=(0.3, 0.0, 0.2, 0.9))


def test_worst_wins() -> None:
    both = worst(
        [HATE, VIOLENT, Verdict(jailbreak=True), Verdict(jailbreak=False, lists=("a",)), Verdict(lists=("a", "b"))]
    )
    assert both.severities == (Severity.MEDIUM, Severity.SAFE, Severity.SAFE, Severity.HIGH)
    assert both.scores == (0.6, 0.1, 0.2, 0.9)
    assert both.jailbreak is True
    assert both.lists == ("a", "b")
    assert both.protected_code is None
    assert worst([]) == NOTHING


def test_a_failure_is_worse_than_an_unknown_language() -> None:
    foreign = Verdict(severities=SAFE, error=UNSUPPORTED_LANGUAGE)
    assert (foreign | FAILURE).error == FAILED
    assert (foreign | HATE).error == UNSUPPORTED_LANGUAGE


@pytest.mark.parametrize("threshold", [Severity.LOW, Severity.MEDIUM, Severity.HIGH])
@pytest.mark.parametrize("severity", list(Severity))
def test_the_table_of_thresholds(threshold: Severity, severity: Severity) -> None:
    """Spec §4.1."""
    assert Grade(threshold).filters(severity) is (severity >= threshold and severity is not Severity.SAFE)
    assert not Grade(threshold, Mode.ANNOTATE).filters(severity)
    assert not Grade(None).filters(severity)


def test_a_side_that_is_tightened_blocks_at_medium_at_least() -> None:
    loose = Side(
        Stage.PROMPT, (Grade(None), Grade(Severity.HIGH), Grade(Severity.LOW), Grade(Severity.HIGH, Mode.ANNOTATE))
    )
    assert [grade.threshold for grade in loose.tightened().grades] == [
        Severity.MEDIUM,
        Severity.MEDIUM,
        Severity.LOW,
        Severity.MEDIUM,
    ]
    assert loose.tightened().decide(HATE).blocked


def test_a_failure_blocks_only_where_the_side_is_closed() -> None:
    assert not Side(Stage.ANSWER).decide(FAILURE).blocked
    closed = Side(Stage.ANSWER, closed=True).decide(FAILURE)
    assert (closed.blocked, closed.unjudged) == (True, FAILED)
    found = Side(Stage.ANSWER, closed=True).decide(HATE | FAILURE)
    assert (found.blocked, found.unjudged) == (True, None)


@pytest.mark.parametrize("failure", [OVER_LENGTH, LATE])
def test_length_is_no_way_around_a_side_that_blocks(failure: Verdict) -> None:
    annotates = (Grade(mode=Mode.ANNOTATE),) * len(CATEGORIES)
    assert Side(Stage.PROMPT).decide(failure).unjudged == failure.error
    assert not Side(Stage.PROMPT, annotates).decide(failure).blocked
    assert Side(Stage.PROMPT, annotates, closed=True).decide(failure).blocked
    assert Side(Stage.PROMPT, annotates, refuses_long=True).decide(failure).blocked
    assert not Side(Stage.PROMPT, refuses_long=False).decide(failure).blocked
    assert Side(Stage.PROMPT, refuses_long=False).decide(failure | HATE).blocked
    told = Side(Stage.PROMPT, refuses_long=False).decide(failure).results["error"]
    assert told["code"] == FAILED


def test_a_failure_by_length_is_not_lost_in_others() -> None:
    assert (FAILURE | LATE).error == (LATE | FAILURE).error == LATE.error
    assert (LATE | OVER_LENGTH | CLEAN).error == OVER_LENGTH.error


def test_a_lists_mode() -> None:
    side = Side(Stage.PROMPT, lists={"tells": Mode.ANNOTATE})
    assert not side.decide(Verdict(lists=("tells",))).blocked
    decision = side.decide(Verdict(lists=("tells", "blocks")))
    assert decision.blocked
    assert decision.results["custom_blocklists"]["details"] == [
        {"id": "tells", "filtered": False},
        {"id": "blocks", "filtered": True},
    ]


# Annotations


def test_an_upstreams_objects_are_not_edited() -> None:
    own: dict[str, dict[str, object]] = {
        "hate": {"filtered": False, "severity": "low"},
        "error": {"code": "", "message": ""},
    }
    before = {key: dict(value) for key, value in own.items()}
    both = merged(own, Side(Stage.ANSWER).decide(HATE).results)
    assert own == before
    assert both["hate"] == {"filtered": True, "severity": "medium"}
    assert "error" not in both


def test_an_upstreams_failure_is_told_though_ours_worked() -> None:
    own = {"error": {"code": "content_filter_error", "message": "x"}}
    assert merged(own, Side(Stage.ANSWER).decide(CLEAN).results)["error"] == own["error"]


def test_what_nobody_has_judged_is_not_called_safe() -> None:
    """A word list has no opinion on violence."""
    results = Side(Stage.ANSWER, closed=True).decide(Verdict(lists=()))
    assert not results.blocked
    assert "violence" not in results.results
    assert results.results["error"]["code"] == FAILED


@pytest.mark.parametrize("own", [None, [], "x", 3, {"hate": "x"}])
def test_whatever_an_upstream_says_ours_stands(own: object) -> None:
    ours = Side(Stage.PROMPT).decide(HATE).results
    assert merged(own, ours)["hate"]["severity"] == "medium"
    assert merged_prompts(own, ours)[0]["content_filter_results"]["hate"]["filtered"] is True


def test_a_citation_is_told_in_capitals() -> None:
    verdict = Verdict(protected_code=True, citation=Citation("https://x", "GPL-2.0-only"))
    found = Side(Stage.ANSWER).decide(verdict).results["protected_material_code"]
    assert found == {"detected": True, "filtered": False, "citation": {"URL": "https://x", "license": "GPL-2.0-only"}}


# Moderations


def test_four_of_thirteen_are_judged() -> None:
    result = moderation_result(VIOLENT, Side(Stage.PROMPT))
    assert result["flagged"] is True
    assert list(result["categories"]) == list(ALL)
    assert result["category_scores"]["violence"] == 0.9
    assert result["category_scores"]["harassment"] == 0.0
    assert result["categories"]["illicit"] is None
    assert [name for name, types in result["category_applied_input_types"].items() if types] == [
        "hate",
        "self-harm",
        "sexual",
        "violence",
    ]
    assert result["content_filter_results"]["violence"] == {"filtered": True, "severity": "high"}


def test_low_is_not_flagged() -> None:
    low = Verdict(severities=(Severity.LOW,) * 4, scores=(0.3,) * 4)
    assert moderation_result(low, Side(Stage.PROMPT))["flagged"] is False


def test_a_part_that_nobody_judged_is_an_error() -> None:
    assert moderation_part([FAILURE], Side(Stage.PROMPT))["type"] == "error"
    part = moderation_part([HATE, NOTHING], Side(Stage.ANSWER))
    assert part["type"] == "moderation_results"
    assert [result["flagged"] for result in part["results"]] == [True, False]
    assert None not in part["results"][0]["categories"].values()
