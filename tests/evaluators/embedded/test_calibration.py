"""Scores and severities say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.embedded.calibration import Calibration, Cuts
from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.safety.verdict import Severity, Stage

CUTS = Cuts(-1.0, 0.5, 3.0)
logits = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("logit", "score", "severity"),
    [(-1.0, 0.2, Severity.LOW), (0.5, 0.5, Severity.MEDIUM), (3.0, 0.8, Severity.HIGH), (-1e9, 0.0, Severity.SAFE)],
)
def test_the_cuts(logit: float, score: float, severity: Severity) -> None:
    assert CUTS.score(logit) == pytest.approx(score)
    assert CUTS.severity(logit) is severity


@given(logits, logits)
def test_a_larger_logit_is_never_milder(one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert 0 <= CUTS.score(small) <= CUTS.score(large) <= 1
    assert CUTS.severity(small) <= CUTS.severity(large)


@pytest.mark.parametrize("stage", list(Stage))
def test_what_is_shipped_rises(stage: Stage) -> None:
    calibration = Calibration.load(WEIGHTS / "calibration.json")
    every = [*calibration.cuts[stage], *(calibration.hate(name) for name in calibration.heads)]
    assert len(calibration.cuts[stage]) == 5
    assert all(cut.low < cut.medium < cut.high for cut in every)
