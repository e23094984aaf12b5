"""Patterns of a list: regular expressions of Hyperscan's dialect, searched for in the text as it came."""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.evaluators.rules.engine import Expression, ExpressionFault, Scanner, width
from antiphon.evaluators.rules.rule_list import Rule, refused


class RulePatterns:
    """RuleFault names every pattern that is not taken, with its place in the list."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self._rules = list(rules)
        # Where a match begins is much to remember: Hyperscan refuses many a pattern as too large then.
        expressions = [Expression(rule.source, begins=bool(rule.check) and not rule.at_end) for rule in rules]
        self._widths = _widths(name, rules, expressions)
        self._scanner = _scanner(name, rules, expressions)

    @property
    def size(self) -> int:
        return self._scanner.size

    def longest(self) -> int | None:
        """In characters; counted in bytes, of which a character has at least one. One more on either side, for \\b."""
        known = [width for width in self._widths if width is not None]
        return max(known) + 2 if len(known) == len(self._widths) else None

    def found(self, text: bytes) -> bool:
        """`text`: in UTF-8."""
        hit = False

        def meet(number: int, begin: int, end: int) -> bool:
            nonlocal hit
            rule = self._rules[number]
            if rule.at_end:  # with what stands before it, for which the check does not care
                begin = max(0, end - (self._widths[number] or end))
            hit = rule.check is None or rule.check(text[begin:end].decode(errors="ignore"))
            return hit

        self._scanner.scan(text, meet)
        return hit


def _widths(name: str, rules: Sequence[Rule], expressions: Sequence[Expression]) -> list[int | None]:
    widths, faults = [], []
    for rule, expression in zip(rules, expressions, strict=True):
        try:
            widths.append(width(expression))
        except ExpressionFault as fault:
            faults.append(f"{rule.place}: {fault}")
    if faults:
        raise refused(name, faults)
    return widths


def _scanner(name: str, rules: Sequence[Rule], expressions: Sequence[Expression]) -> Scanner:
    try:
        return Scanner.of_expressions(expressions)
    except ExpressionFault as together:
        # Size is judged only now, and not by name: compiled one by one, the culprit shows.
        alone = [(rule.place, _fault(expression)) for rule, expression in zip(rules, expressions, strict=True)]
        raise refused(name, [f"{place}: {fault}" for place, fault in alone if fault] or [str(together)]) from None


def _fault(expression: Expression) -> ExpressionFault | None:
    try:
        Scanner.of_expressions([expression])
    except ExpressionFault as fault:
        return fault
    return None
