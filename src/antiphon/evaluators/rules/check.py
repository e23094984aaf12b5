"""Lists as the settings and the evaluator process say them: made, or what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from antiphon.evaluators.rules.engine import Expression, ExpressionFault, width
from antiphon.evaluators.rules.rule_list import RuleFault, RuleList
from antiphon.evaluators.rules.rules import Rules
from antiphon.evaluators.rules.secrets import BUILT_IN


def make(name: str, words: Sequence[str], patterns: Sequence[str], file: str | None, lists: Sequence[str]) -> Rules:
    """One list under one name, whatever it is made of. RuleFault: it cannot be used."""
    path = None if file is None else Path(file)
    own = RuleList.of(name, words, patterns, path) if words or patterns or path else RuleList(name)
    return Rules([reduce(RuleList.__or__, (BUILT_IN[each] for each in lists), own)])


def rules(name: str, words: Sequence[str], patterns: Sequence[str], file: str | None) -> list[str]:
    """What is wrong with them, in sentences."""
    try:
        make(name, words, patterns, file, ())
    except RuleFault as fault:
        return [f"rule list '{name}': {each}" for each in fault.faults]
    return []


def patterns(sources: Sequence[str]) -> dict[int, str]:
    """Which of them cannot be compiled, and why."""
    wrong: dict[int, str] = {}
    for place, source in enumerate(sources):
        try:
            width(Expression(source))
        except ExpressionFault as fault:
            wrong[place] = str(fault)
    return wrong
