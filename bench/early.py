"""The early look in figures: what adaptive holding costs harmless streams, and what leaves of harmful sentences.

    python -m bench.early --data FOLDER [--streams 400]

Streams are played to the real gate (`flow.gate`, hold.mode = "adaptive"), word by word at 50 words a second by a clock
of our own. The looks are real; their answers come after a fixed time. Harmful rows are those that the full classifier
blocks as answers, alone and behind the beginning of a harmless answer. The harmful sentence is the first one with whose
end the text is blocked.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final

import numpy as np

from antiphon.evaluators.embedded import Classifier
from antiphon.flow.endpoints.chat import ChatTexts
from antiphon.flow.gate import Gate, GateRules
from antiphon.flow.gate_choice import EarlyLook, Look, Passing
from antiphon.safety.policy import Annotations, HoldPolicy, Policy, Side
from antiphon.safety.verdict import Severity, Stage, Verdict, worst

PACE: Final = 0.02  # seconds between two words
EARLY_TAKES: Final = 0.001  # seconds until an early look is answered
FULL_TAKES: Final = 0.015
CONTEXT: Final = 700  # characters with which a sentence is looked at
POLICY: Final = Policy(Side(Stage.PROMPT), Side(Stage.ANSWER), hold=HoldPolicy(adaptive=True))
WORDS: Final = 120  # of a harmless stream that are looked at
_WORD: Final = re.compile(r"\s*\S+\s*?(?=\s|$)")
_SENTENCE: Final = re.compile(r"[^\n]*?(?:[.!?…][\"')\]]*\s+|\n+|$)")

HARMLESS: Final = {
    "answers": ("dev_benign_resp", "dev2/benign_answers_new"),
    "news, war history": ("dev2/news_agnews", "dev2/war_wikitext"),
    "classic fiction": ("dev2/fiction_books", "dev2/fiction_litbank"),
    "Chinese": ("dev_benign_zh", "dev2/zh_benign"),
    "Portuguese (mixed)": ("dev2/pt_benign",),
}
HARMFUL: Final = {
    "HateCheck": ("dev_hatecheck",),
    "requests, posts, chats": (
        "dev_sst",
        "dev2/beavertails_test",
        "dev2/wildguard_test",
        "dev2/guardreasoner_aegis",
        "dev2/toxicchat_test",
        "dev2/jade",
    ),
    "r/SuicideWatch": ("dev2/sdcnl_suicide",),
    "Chinese": ("dev_cold", "dev2/zh_toxicn"),
    "Portuguese": ("dev_toldbr", "dev2/pt_hatebr"),
}


def rows(data: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        path = data / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def is_harmful(row: dict[str, Any]) -> bool:
    return bool(row.get("harm") or row.get("y") == 1)


def words(text: str) -> list[int]:
    """Where each word ends. Ideographs come two at a time, as tokens do."""
    ends: list[int] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        ends += range(start + 2, end, 2) if "\u3400" <= match[0].strip()[:1] <= "\u9fff" else []
        ends.append(end)
    return ends


@dataclass(frozen=True, slots=True)
class Outcome:
    left: int  # characters that left before the block, or all
    blocked: bool
    delays: list[float]  # of each word, in seconds; of those that left
    risky: list[bool]


class Simulation:
    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.early_seconds: list[float] = []

    def blocks(self, text: str) -> bool:
        [verdict] = self.classifier.judge([text], Stage.ANSWER)
        return max(verdict.severities or (Severity.SAFE,)) >= Severity.MEDIUM

    def risky(self, text: str) -> bool:
        began = time.thread_time()
        found = self.classifier.early(text)
        self.early_seconds.append(time.thread_time() - began)
        return found

    def stream(self, text: str, most: int | None = None) -> Outcome:
        """Plays the words to a gate, by a clock of its own; looks are answered a little later."""
        ends = words(text)[:most]
        play = Play(self, len(ends))
        start = 0
        for number, end in enumerate(ends):
            play.run_until(number * PACE)
            play.say(text[start:end])
            start = end
        play.finish()
        return Outcome(play.left, play.gate.blocked, play.delays, play.risky)

    def harmful_sentence(self, text: str) -> tuple[int, int] | None:
        """From where to where; None: nothing is blocked."""
        end = 0
        for match in _SENTENCE.finditer(text):
            start, end = end, match.end()
            if match[0] and self.blocks(text[max(0, end - CONTEXT) : end]):
                return start, end
        return None


class Play:
    """One stream at an adaptive gate."""

    def __init__(self, simulation: Simulation, count: int) -> None:
        self.gate = Gate(GateRules(POLICY, ChatTexts(), Annotations.NONE), lambda: {"choices": []})
        self.left = 0
        self.delays: list[float] = []
        self.risky: list[bool] = []
        self._simulation = simulation
        self._ends: list[int] = []  # of the words that came
        self._count = count
        self._now = 0.0
        self._answers: list[tuple[float, int, Callable[[], list[Passing]]]] = []  # to looks, by time
        self._asked = 0
        self._take({"role": "assistant", "content": ""})

    def say(self, word: str) -> None:
        self._ends.append((self._ends[-1] if self._ends else 0) + len(word))
        self._take({"content": word})

    def finish(self) -> None:
        self._take({}, "stop")
        self.run_until(inf)

    def run_until(self, now: float) -> None:
        while True:
            wake = inf if self.gate.wake_at is None else max(self.gate.wake_at, self._now)
            due = self._answers[0][0] if self._answers else inf
            if min(wake, due) > now or min(wake, due) == inf:
                break
            self._now = min(wake, due)
            self._note(heapq.heappop(self._answers)[2]() if due <= wake else self.gate.wake(self._now))
        self._now = self._now if now == inf else now

    def _take(self, delta: dict[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        self._note(self.gate.take({"choices": [choice]}, self._now))

    def _note(self, ready: list[Passing]) -> None:
        for chunk in ready:
            assert isinstance(chunk, dict)
            self.left += len(chunk["choices"][0]["delta"].get("content") or "")
        while len(self.delays) < len(self._ends) and self._ends[len(self.delays)] <= self.left:
            self.delays.append(self._now - len(self.delays) * PACE)
        for look in self.gate.take_looks():
            self._asked += 1
            if isinstance(look, EarlyLook):
                self.risky.append(self._simulation.risky(look.text))
                self._later(EARLY_TAKES, partial(self._answer_early, look, self.risky[-1]))
            else:
                verdicts = self._simulation.classifier.judge(look.texts, Stage.ANSWER)
                self._later(FULL_TAKES, partial(self._answer, look, worst(verdicts)))

    def _later(self, seconds: float, answer: Callable[[], list[Passing]]) -> None:
        heapq.heappush(self._answers, (self._now + seconds, self._asked, answer))

    def _answer(self, look: Look, verdict: Verdict) -> list[Passing]:
        return self.gate.judged(look, verdict, self._now)

    def _answer_early(self, look: EarlyLook, risky: bool) -> list[Passing]:
        return self.gate.judged_early(look, self._now, risky=risky)


def pick(found: list[str], most: int) -> list[str]:
    return [found[index] for index in np.random.RandomState(3).permutation(len(found))[:most]]


def harmless_lines(simulation: Simulation, data: Path, most: int) -> Iterator[str]:
    yield "| harmless streams | streams | risky words | first word p50 / p95 ms | every word p50 / p95 / p99 ms |"
    yield "|---|---|---|---|---|"
    for name, sets in HARMLESS.items():
        texts = [row["text"] for row in rows(data, sets) if "unsafe" not in row.get("src", "")]
        done = [simulation.stream(text, WORDS) for text in pick([t for t in texts if len(t) > 40], most)]
        done = [each for each in done if not each.blocked and each.delays]
        if done:
            first = 1000 * np.array([each.delays[0] for each in done])
            every = 1000 * np.array([delay for each in done for delay in each.delays])
            risky = np.mean([flag for each in done for flag in each.risky])
            yield (
                f"| {name} | {len(done)} | {risky:.1%} | {np.median(first):.0f} / {np.quantile(first, 0.95):.0f} | "
                f"{np.median(every):.0f} / {np.quantile(every, 0.95):.0f} / {np.quantile(every, 0.99):.0f} |"
            )


def harmful_lines(simulation: Simulation, data: Path, most: int) -> Iterator[str]:
    yield "| harmful streams | streams | nothing left | characters that left: median, p95 | median share | all left |"
    yield "|---|---|---|---|---|---|"
    openings = [row["text"][:400] for row in rows(data, ("dev2/benign_answers_new",)) if row["text"].isascii()]
    for name, sets in HARMFUL.items():
        texts = pick([row["text"].strip()[:1500] for row in rows(data, sets) if is_harmful(row)], most)
        blocked = [text for text in texts if simulation.blocks(text)]
        mixed = [f"{opening(openings[n % len(openings)])} {text}" for n, text in enumerate(blocked)]
        for where, streams in ((name, blocked), (f"{name}, behind harmless text", mixed)):
            if line := _harmful_line(simulation, where, streams):
                yield line


def opening(text: str) -> str:
    """Its first two sentences, about."""
    return text[: ([match.end() for match in _SENTENCE.finditer(text)][:2] or [0])[-1]].strip()


def _harmful_line(simulation: Simulation, name: str, texts: list[str]) -> str | None:
    left, share = [], []
    for text in texts:
        sentence = simulation.harmful_sentence(text)
        outcome = simulation.stream(text) if sentence else None
        if sentence and outcome and outcome.blocked:
            start, end = sentence
            left.append(min(max(0, outcome.left - start), end - start))
            share.append(left[-1] / (len(text[start:end].rstrip()) or 1))
    if not left:
        return None
    return (
        f"| {name} | {len(left)} | {np.mean(np.array(left) == 0):.0%} | {np.median(left):.0f}, "
        f"{np.quantile(left, 0.95):.0f} | {np.median(share):.0%} | {np.mean(np.array(share) >= 1):.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ANTIPHON_SAFETY_DATA"), required=False)
    parser.add_argument("--streams", type=int, default=400, help="of each kind at most")
    options = parser.parse_args()
    if options.data is None:
        parser.error("needs --data, or ANTIPHON_SAFETY_DATA")
    simulation = Simulation(Classifier.load())
    for lines in (harmless_lines, harmful_lines):
        for line in lines(simulation, Path(options.data), options.streams):
            print(line, flush=True)
        print()
    spent = 1e3 * np.array(simulation.early_seconds)
    print(f"One early look: {spent.mean():.2f} ms CPU at the mean, p99 {np.quantile(spent, 0.99):.2f} ms.")


if __name__ == "__main__":
    main()
