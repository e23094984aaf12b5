"""A turn of the fast path is counted in one go. The numbers are those that the general way gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.flow.turn import Attempt
from antiphon.metrics.families import WORDS
from antiphon.metrics.meter import TurnMeter
from antiphon.routing.route import Target

NAMES = {"route": ["m"], "upstream": ["up"]}


def turn(route: str, upstream: str, began: float, sent: float) -> Any:
    """As the fast path leaves it."""
    return SimpleNamespace(
        route=SimpleNamespace(model=route),
        request=SimpleNamespace(stream=False),
        attempts=[Attempt(Target(upstream, None, 1, 0), "m", sent, "openai")],
        usage={"prompt_tokens": 7, "completion_tokens": 11},
        usage_source="reported",
        blocked=None,
        first=0.0,
        began=began,
        error=None,
    )


@pytest.mark.parametrize("route", ["m", "unknown"])
@pytest.mark.parametrize("upstream", ["up", "unknown"])
@pytest.mark.parametrize(("sent", "now"), [(10.0001, 10.02), (10.0, 10.0), (10.7, 99.0), (10.0005, 5000.0)])
def test_a_usual_turn_is_counted_as_any_other(route: str, upstream: str, sent: float, now: float) -> None:
    quick, general = memoryview(bytearray(WORDS * 8)).cast("d"), memoryview(bytearray(WORDS * 8)).cast("d")
    one = turn(route, upstream, 10.0, sent)
    TurnMeter(quick, NAMES, lambda: 5.0, lambda: 1000.0).count_turn(one, 200, now)
    TurnMeter(general, NAMES, lambda: 5.0, lambda: 1000.0)._count(one, 200, now)
    assert any(quick)
    assert quick.tolist() == pytest.approx(general.tolist())
