"""What a join says that neither of its halves says alone.

The halves are edges of messages: a sentence of a report or of a rule, torn out of it. Each message was judged whole, so
what such a sentence says by itself is no finding. Jailbreaks are told by whole texts, not by edges.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from antiphon.evaluators.backends import Evaluator
from antiphon.safety.verdict import SAFE, Severity, Stage, Verdict, worst

GAIN: Final = 0.25  # by which the score of a join is above those of its halves, or they only lie on the border
_NO_SCORES: Final = (0.0,) * len(SAFE)


def found_in(halves: tuple[str, str] | None, verdict: Verdict, evaluator: Evaluator, stage: Stage) -> Verdict:
    """`halves`: None: it is no join. They are judged only where something was found."""
    if halves is None:
        return verdict
    verdict = replace(verdict, jailbreak=None, jailbreak_score=None, error=None)
    if not verdict.lists and verdict.severities in (None, SAFE):
        return verdict
    alone = worst(evaluator.judge(list(halves), stage, jailbreaks=False))
    severities = None if verdict.severities is None else _severities(verdict, alone)
    return replace(
        verdict,
        severities=severities,
        scores=_scores(verdict, severities),
        lists=tuple(name for name in verdict.lists if name not in alone.lists),
    )


def without_jailbreak(verdict: Verdict) -> Verdict:
    """On the application's own words."""
    return verdict if verdict.jailbreak is None else replace(verdict, jailbreak=False, jailbreak_score=0.0)


def _severities(joined: Verdict, alone: Verdict) -> tuple[Severity, ...]:
    return tuple(
        severity if severity > before and (joined.scores is None or score >= least + GAIN) else Severity.SAFE
        for severity, before, score, least in zip(
            joined.severities or SAFE,
            alone.severities or SAFE,
            joined.scores or _NO_SCORES,
            alone.scores or _NO_SCORES,
            strict=True,
        )
    )


def _scores(joined: Verdict, severities: tuple[Severity, ...] | None) -> tuple[float, ...] | None:
    """Of what is no finding there is no score either."""
    if joined.scores is None or severities is None:
        return joined.scores
    return tuple(score if severity else 0.0 for score, severity in zip(joined.scores, severities, strict=True))
