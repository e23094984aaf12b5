"""Patterns of a list: regular expressions of Hyperscan's dialect, searched for in the text as it came."""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.evaluators.rules.engine import Expression, ExpressionFault, Scanner, width
from antiphon.evaluators.rules.rule_list import Rule, refused


class Patterns:
    """RuleFault names every pattern that is not taken, with its place in the list."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self._checks = [rule.check for rule in rules]
        expressions = [Expression(rule.source, begins=rule.check is not None) for rule in rules]
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
            check = self._checks[number]
            hit = check is None or check(text[begin:end].decode())
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
