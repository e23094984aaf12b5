"""A gate with a judge that goes by words, driven by hand: time, verdicts and chunks come when the test says so."""

from __future__ import annotations

import json
from typing import Any

from antiphon.flow.endpoints.chat import ChatTexts
from antiphon.flow.gate import Gate, GateRules, read_frame
from antiphon.flow.gate_choice import EarlyLook, Look, Passing
from antiphon.safety.policy import Annotations, Grade, HoldPolicy, Mode, Policy, Side
from antiphon.safety.verdict import CATEGORIES, Stage, Verdict
from tests.chat.machine import chunk
from tests.support.judge import WordJudge

Document = dict[str, Any]
FILTER = Side(Stage.ANSWER)
ANNOTATE = Side(Stage.ANSWER, tuple(Grade(mode=Mode.ANNOTATE) for _ in CATEGORIES))
PROMPT_SIZE = 100
HOLD = HoldPolicy()


def envelope() -> Document:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}


class Driver:
    """`pending`: looks that wait for `answer`. `sent`: what has left."""

    def __init__(
        self,
        *,
        side: Side = FILTER,
        hold: HoldPolicy = HOLD,
        asynchronous: bool = False,
        annotations: Annotations = Annotations.CHANGES,
        judge: WordJudge | None = None,
        reach: int = 0,
    ) -> None:
        policy = Policy(Side(Stage.PROMPT), side, hold=hold, asynchronous=asynchronous)
        self.gate = Gate(GateRules(policy, ChatTexts(), annotations, PROMPT_SIZE, reach), envelope)
        self.judge = judge or WordJudge()
        self.now = 0.0
        self.looks: list[Look] = []  # all
        self.pending: list[Look | EarlyLook] = []
        self.sent: list[Document] = []

    def take(self, delta: Document, *, index: int = 0, finish: str | None = None) -> None:
        self._note(self.gate.take(chunk(delta, finish, index), self.now))

    def take_chunk(self, document: Document, weight: int) -> None:
        self._note(self.gate.take(document, self.now, weight))

    def say(self, words: str, field: str = "content", index: int = 0) -> None:
        self.take({field: words}, index=index)

    def say_written(self, words: str) -> None:
        """The same by the hot way: a delta that is written already."""
        document = chunk({"content": words})
        usual = self.gate.usual_results
        if usual is not None:
            document["choices"][0]["content_filter_results"] = usual
        passing = self.gate.take_text(
            0, "content", words, b"data: " + json.dumps(document).encode() + b"\n\n", self.now
        )
        self._note([] if passing is None else [passing])

    def finish(self, reason: str = "stop", index: int = 0) -> None:
        self.take({}, index=index, finish=reason)

    def end(self) -> None:
        self._note(self.gate.end(self.now))

    def pass_time(self, seconds: float) -> None:
        """Wakes the gate wherever it asks for it."""
        until = self.now + seconds
        while self.gate.wake_at is not None and self.gate.wake_at <= until:
            self.now = max(self.now, self.gate.wake_at)
            self._note(self.gate.wake(self.now))
        self.now = until

    def answer(self, verdict: Verdict | None = None) -> bool:
        """Answers the oldest question. False: there is none."""
        if not self.pending:
            return False
        look = self.pending.pop(0)
        if isinstance(look, EarlyLook):
            low = look.text.lower()
            risky = any(
                word in low or any(low.endswith(word[:size]) for size in range(1, len(word)))
                for word in self.judge.words
            )
            self._note(self.gate.judged_early(look, self.now, risky=risky))
        else:
            found = [self.judge.judge(text) for text in look.texts]
            for each in found[1:]:
                found[0] |= each
            self._note(self.gate.judged(look, found[0] if verdict is None else verdict, self.now))
        return True

    def answer_early(self) -> None:
        """Answers all early looks, and no other."""
        while any(isinstance(look, EarlyLook) for look in self.pending):
            self.pending.sort(key=lambda look: not isinstance(look, EarlyLook))
            self.answer()

    def answer_all(self) -> None:
        while self.answer():
            pass

    def _note(self, ready: list[Passing]) -> None:
        for passing in ready:
            self.sent.append(read_frame(passing) if isinstance(passing, bytes) else passing)
        looks = self.gate.take_looks()
        self.pending += looks
        self.looks += [look for look in looks if isinstance(look, Look)]

    # What the client has seen

    def choices(self, index: int = 0) -> list[Document]:
        return [choice for each in self.sent for choice in each["choices"] if choice["index"] == index]

    def text(self, field: str = "content", index: int = 0) -> str:
        return "".join(choice["delta"].get(field) or "" for choice in self.choices(index))

    def finishes(self, index: int = 0) -> list[str]:
        return [choice["finish_reason"] for choice in self.choices(index) if choice["finish_reason"] is not None]

    def told(self, index: int = 0) -> list[Document | None]:
        return [choice.get("content_filter_results") for choice in self.choices(index)]
