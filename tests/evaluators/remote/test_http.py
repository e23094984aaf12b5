"""A service of one's own, in the shape of our annotations."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.evaluators.remote import Own, Unreadable
from antiphon.safety.verdict import SAFE, Citation, Severity, Stage, Verdict


def read(answer: Any) -> Verdict:
    (question,) = Own().questions(Stage.ANSWER, ["x"])
    assert question.document == {"stage": "answer", "text": "x"}
    (verdict,) = question.read(answer)
    return verdict


@pytest.mark.parametrize("wrapped", [True, False])
def test_everything(wrapped: bool) -> None:
    found = {
        "hate": {"severity": "low", "filtered": False},
        "jailbreak": {"detected": False},
        "protected_material_text": {"detected": True},
        "protected_material_code": {"detected": True, "citation": {"URL": "https://x.test", "license": "GPL"}},
    }
    assert read({"content_filter_results": found} if wrapped else found) == Verdict(
        severities=(Severity.LOW, *SAFE[1:]),
        jailbreak=False,
        protected_text=True,
        protected_code=True,
        citation=Citation("https://x.test", "GPL"),
    )


def test_what_is_not_mentioned_is_not_judged() -> None:
    assert read({}) == Verdict()
    assert read({"jailbreak": {"detected": True}, "error": {"code": "", "message": ""}}) == Verdict(jailbreak=True)


@pytest.mark.parametrize(
    "answer",
    [
        [],
        "safe",
        {"content_filter_results": []},
        {"hate": {"severity": "awful"}},
        {"hate": {}},
        {"hate": "low"},
        {"jailbreak": {"detected": "yes"}},
        {"jailbreak": True},
        {"error": {"code": "content_filter_error", "message": "no"}},
    ],
)
def test_what_cannot_be_read_is_a_failure(answer: Any) -> None:
    with pytest.raises(Unreadable):
        read(answer)
