"""A judge that goes by words, for what the real evaluators cannot be made to do: fail, hang or wait at a chosen look.

It keeps the port's promises: one verdict over all texts, a future that never fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from antiphon.flow.ports import Scope
from antiphon.safety.verdict import CATEGORIES, FAILURE, SAFE, Citation, Severity, Stage, Verdict, worst

HIGH = {"kill them": "violence", "slur": "hate"}


@dataclass
class WordJudge:
    words: dict[str, str] = field(default_factory=lambda: dict(HIGH))  # -> category, or a detection
    severity: Severity = Severity.HIGH
    fails_at: set[int] = field(default_factory=set)  # looks at answers, from 0
    delay: float = 0.0
    longest: int = 0
    has_early: bool = True
    asked: list[tuple[Stage, tuple[str, ...]]] = field(default_factory=list)
    waits: dict[int, asyncio.Future[None]] = field(default_factory=dict)  # a look at an answer that waits for this

    def ask(self, stage: Stage, texts: Sequence[str], scope: Scope) -> asyncio.Future[Verdict]:
        loop = asyncio.get_running_loop()
        look = sum(before is stage for before, _ in self.asked)
        self.asked.append((stage, tuple(texts)))
        answer: asyncio.Future[Verdict] = loop.create_future()
        verdict = worst([self.judge(text) for text in texts])
        if stage is Stage.ANSWER and look in self.fails_at:
            verdict = FAILURE

        def tell(*_: object) -> None:
            if not answer.done():
                answer.set_result(verdict)

        if stage is Stage.ANSWER and look in self.waits:
            self.waits[look].add_done_callback(tell)
        elif self.delay:
            loop.call_later(self.delay, tell)
        else:
            loop.call_soon(tell)
        return answer

    def ask_now(
        self, stage: Stage, texts: Sequence[str], scope: Scope, done: Callable[[Verdict], None]
    ) -> Verdict | None:
        self.ask(stage, texts, scope).add_done_callback(lambda asked: done(asked.result()))
        return None

    def early(self, text: str, scope: Scope, done: Callable[[bool], None]) -> bool:
        """Risky: the text ends with a beginning of one of the words."""
        if not self.has_early:
            return False
        low = text.lower()
        risky = any(low.endswith(word[:size]) for word in self.words for size in range(1, len(word)))
        asyncio.get_running_loop().call_soon(done, risky)
        return True

    def reach(self, scope: Scope) -> int:
        return self.longest

    def judge(self, text: str) -> Verdict:
        found = {what for word, what in self.words.items() if word in text.lower()}
        return Verdict(
            severities=tuple(self.severity if name in found else Severity.SAFE for name in CATEGORIES) or SAFE,
            jailbreak="jailbreak" in found,
            protected_text="text" in found,
            protected_code="code" in found,
            citation=Citation("https://example.org/x", "GPL-3.0-only") if "code" in found else None,
            lists=("blocklist",) if "list" in found else (),
        )
