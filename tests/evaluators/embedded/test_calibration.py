"""Scores and severities say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.embedded.calibration import FEW, Brief, Calibration, Cuts
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
    every = [*calibration.cuts[stage], *(calibration.hate_cuts(name) for name in calibration.heads)]
    every += [calibration.self_harm_cuts(name) for name in calibration.self_harm]
    assert len(calibration.cuts[stage]) == 5
    assert all(cut.low < cut.medium < cut.high for cut in every)


@pytest.mark.parametrize("stage", list(Stage))
def test_one_score_lies_as_far_from_medium_in_every_category(stage: Stage) -> None:
    cuts = Calibration.load(WEIGHTS / "calibration.json").cuts[stage][:4]
    assert len({round(each.medium - each.low, 2) for each in cuts}) == 1
    assert len({round(each.high - each.medium, 2) for each in cuts}) == 1


def test_cuts_lie_higher_and_closer_where_a_text_is_brief() -> None:
    brief = Brief(tokens=8, gap=0.5, rise=1.0)
    assert brief(CUTS, 1) == brief(CUTS, 8) == Cuts(1.0, 1.5, 4.0)
    assert brief(CUTS, 12) == Cuts(0.0, 1.0, 3.5)
    assert brief(CUTS, 16) == brief(CUTS, 1_000) == CUTS
    assert brief(Cuts(0.3, 0.5, 3.0), 1).low == 1.0


@given(st.integers(0, 500))
def test_a_longer_text_is_never_judged_more_mildly(tokens: int) -> None:
    brief = Brief(tokens=8, gap=0.5, rise=1.0)
    one, longer = brief(CUTS, tokens), brief(CUTS, tokens + 1)
    assert one.low < one.medium < one.high
    assert CUTS.low <= longer.low <= one.low
    assert CUTS.medium <= longer.medium <= one.medium


def test_the_bar_of_many_windows_is_bounded() -> None:
    calibration = Calibration.load(WEIGHTS / "calibration.json")
    assert not any(calibration.bar(1))
    assert not any(calibration.bar(FEW)[:-1])
    bars = [calibration.bar(windows) for windows in (FEW, 2 * FEW, 10_000)]
    assert bars[0][0] < bars[1][0] < bars[2][0] == calibration.most
    assert bars[0][-1] < bars[1][-1] < bars[2][-1]
