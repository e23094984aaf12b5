"""The evaluator: which of its lists has a rule that a text meets?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from antiphon.evaluators.rules import beginnings
from antiphon.evaluators.rules.engine import ExpressionFault
from antiphon.evaluators.rules.folding import normal
from antiphon.evaluators.rules.patterns import RulePatterns
from antiphon.evaluators.rules.rule_list import RuleList, checked, refused
from antiphon.evaluators.rules.words import Words
from antiphon.safety.verdict import Stage, Verdict

LARGEST: Final = 64_000_000  # bytes of one list, compiled


class Rules:
    """Compiled once. RuleFault names the list and the place of what cannot be compiled."""

    def __init__(self, lists: Sequence[RuleList]) -> None:
        self._lists = [_Compiled(checked(rules)) for rules in lists]

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        """On both sides of the model alike; who wants one side only asks for that side only."""
        return [Verdict(lists=self._met(text)) for text in texts]

    @property
    def looks_early(self) -> bool:
        """Whether beginnings of findings can be told: of words, unless they are very long; not of patterns."""
        return all(rules.looks_early for rules in self._lists)

    def early(self, text: str) -> bool:
        """Whether a listed word stands in the text, or may begin at its end. For use beside `judge`, in any thread."""
        folded = normal(text)
        return any(rules.early(folded) for rules in self._lists)

    def longest(self) -> int | None:
        """How many characters a match spans at most, with those beside it that decide; None: there is no limit."""
        spans = [rules.longest() for rules in self._lists]
        known = [span for span in spans if span is not None]
        return max(known, default=0) if len(known) == len(spans) else None

    def _met(self, text: str) -> tuple[str, ...]:
        # Half a surrogate pair is no UTF-8, and Hyperscan must see none: it becomes a question mark.
        plain = text.encode(errors="replace")
        folded = normal(text).encode(errors="replace")
        return tuple(dict.fromkeys(rules.name for rules in self._lists if rules.found(plain, folded)))


class _Compiled:
    def __init__(self, rules: RuleList) -> None:
        self.name = rules.name
        try:
            self._words = Words([rule.source for rule in rules.words]) if rules.words else None
        except ExpressionFault as fault:
            raise refused(rules.name, [str(fault)]) from None
        self._patterns = RulePatterns(rules.name, rules.patterns) if rules.patterns else None
        size = sum(part.size for part in (self._words, self._patterns) if part)
        if size > LARGEST:
            raise refused(rules.name, [f"compiled it has {size} bytes, at most {LARGEST} are taken"])

    def found(self, plain: bytes, folded: bytes) -> bool:
        return bool((self._words and self._words.found(folded)) or (self._patterns and self._patterns.found(plain)))

    @property
    def looks_early(self) -> bool:
        return self._patterns is None and (self._words is None or self._words.longest_word <= beginnings.LONGEST)

    def early(self, folded: str) -> bool:
        return self._words is not None and self._words.early(folded)

    def longest(self) -> int | None:
        spans = [part.longest() for part in (self._words, self._patterns) if part]
        known = [span for span in spans if span is not None]
        return max(known) if len(known) == len(spans) else None
