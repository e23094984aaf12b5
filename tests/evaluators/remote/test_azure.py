"""Azure AI Content Safety: which questions, and what its levels mean."""

from __future__ import annotations

import pytest

from antiphon.evaluators.remote import Azure, Unreadable
from antiphon.evaluators.remote.service import OVERLAP, windows
from antiphon.safety.verdict import SAFE, Severity, Stage


@pytest.mark.parametrize(("level", "severity"), [(0, 0), (2, 1), (4, 2), (6, 3)])
def test_levels(level: int, severity: int) -> None:
    analysis, _ = Azure().questions(Stage.PROMPT, ["x"])
    answer = {"categoriesAnalysis": [{"category": "SelfHarm", "severity": level}]}
    (verdict,) = analysis.read(answer)
    assert verdict.severities == (SAFE[0], Severity(severity), *SAFE[2:])


@pytest.mark.parametrize("row", [{"category": "Hate", "severity": 3}, {"category": "Hate"}, {"severity": 2}, 1])
def test_other_levels_are_not_guessed_at(row: object) -> None:
    analysis, _ = Azure().questions(Stage.PROMPT, ["x"])
    with pytest.raises(Unreadable):
        analysis.read({"categoriesAnalysis": [row]})


def test_prompts_are_shielded() -> None:
    _, shield = Azure().questions(Stage.PROMPT, ["x"])
    assert shield.path == "/contentsafety/text:shieldPrompt?api-version=2024-09-01"
    assert shield.document == {"userPrompt": "x", "documents": []}
    (verdict,) = shield.read({"userPromptAnalysis": {"attackDetected": True}, "documentsAnalysis": []})
    assert (verdict.jailbreak, verdict.severities) == (True, None)


def test_answers_are_compared_with_protected_material_in_pieces_that_it_takes() -> None:
    text = "".join(chr(0x4E00 + number) for number in range(2500))
    _, *pieces = Azure().questions(Stage.ANSWER, [text])
    assert [len(piece.document["text"]) for piece in pieces] == [1000, 1000, 900]
    assert all(piece.path == "/contentsafety/text:detectProtectedMaterial?api-version=2024-09-01" for piece in pieces)
    (verdict,) = pieces[0].read({"protectedMaterialAnalysis": {"detected": True}})
    assert verdict.protected_text is True
    assert len(Azure().questions(Stage.ANSWER, ["x" * 109])) == 1  # too short for it


def test_windows_overlap_and_cover_all() -> None:
    text = "".join(chr(0x4E00 + number) for number in range(3000))
    for limit in (1000, 1001, 2999, 3000):
        cut = windows(text, limit)
        assert all(len(window) <= limit for window in cut)
        joined = cut[0] + "".join(window[OVERLAP:] for window in cut[1:])
        assert joined == text
