"""What the evaluator process judges with. Each is loaded here and nowhere else, in the one process that needs its
libraries; what cannot be loaded is named, and the others work without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from antiphon.evaluators.config import EvaluatorConfig, ProtectedConfig, RuleConfig
from antiphon.safety.verdict import Stage, Verdict

# Characters that the classifier is given at a time: 0.2 s of work, for which others wait. It reads the doubtful windows
# of a text again, at most so many of each (0.2 s): in smaller pieces a long text costs more (a million characters of
# prose took 3.6 s in pieces of 100,000, 5.5 s in these), and there are more chances to be wrong.
PIECE: Final = 40_000
OVERLAP: Final = 200  # so that nothing is cut in two unseen
CODE_PIECE: Final = 1_000_000  # characters that are compared with indexes at a time: 0.3 s
CODE_OVERLAP: Final = 20_000  # far longer than what is surely found
RULE_PIECE: Final = 1_000_000  # 50 ms; a second where a word stands everywhere within others
ENDLESS: Final = 1024  # characters that a stream holds back for a pattern without an end; a longer match may be cut
LONGEST: Final = 8192  # and for one with an end at most: so much of an answer would always be late


# What the classifier takes at most, on a core that it shares: a million characters 23 s (of emoji; prose 1.8 s), a
# window of 700 that it reads again 31 ms, and of one piece it reads eight again.
READ: Final = 24.0 / 1_000_000  # seconds for each character
WINDOW: Final = 700  # characters
AGAIN: Final = 0.035  # seconds for each window
MOST_AGAIN: Final = 8


def most_seconds(characters: int) -> float:
    """How long a text may take to judge. Who asks must wait so long, or a client could choose not to be judged."""
    doubtful = min(1 + characters // WINDOW, MOST_AGAIN * (1 + characters // PIECE))
    return READ * characters + AGAIN * doubtful


class Evaluator(Protocol):
    """Judges each text by itself: a verdict does not depend on what else was asked."""

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        """`jailbreaks`: False where nobody asks for them, so that no time is spent on them; what is said of them then
        means nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Backend:
    evaluator: Evaluator
    piece: int | None = None  # characters at a time; None: a text is looked at whole, because that is cheap
    overlap: int = OVERLAP
    # Whether the end of a text may begin a finding: cheap, and for another thread than `judge`. None: it cannot tell.
    early: Callable[[str], bool] | None = None

    def pieces(self, text: str) -> list[str]:
        if self.piece is None or len(text) <= self.piece:
            return [text]
        step = self.piece - self.overlap
        return [text[start : start + self.piece] for start in range(0, len(text) - self.overlap, step)]


Loader = Callable[[], Backend]


def loaders(orders: EvaluatorConfig) -> dict[str, Loader]:
    """By name."""
    return {
        **dict.fromkeys(orders.embedded, load_classifier),
        **{order.name: partial(load_protected, order) for order in orders.protected},
        **{order.name: partial(load_rules, order) for order in orders.rules},
    }


def load_all(wanted: Mapping[str, Loader]) -> tuple[dict[str, Backend], list[str]]:
    """-> (what is there, why the others are not)"""
    parts: dict[str, Backend] = {}
    faults: list[str] = []
    loaded: dict[Loader, Backend] = {}  # one part may be asked under several names
    for name, load in wanted.items():
        try:
            parts[name] = loaded[load] = loaded.get(load) or load()
        except Exception as error:  # whatever a foreign library raises: the others must work
            faults.append(f"The evaluator '{name}' cannot be loaded: {type(error).__name__}: {error}".rstrip("."))
    return parts, faults


# The one seam: foreign libraries are imported in the functions below, where a missing one is a fault of one part.


def load_classifier() -> Backend:
    from antiphon.evaluators.embedded.classifier import Classifier  # noqa: PLC0415

    classifier = Classifier.load()
    return Backend(classifier, PIECE, early=classifier.early)


def load_protected(order: ProtectedConfig) -> Backend:
    from antiphon.evaluators.protected.index import PACKAGED, ProtectedIndex  # noqa: PLC0415
    from antiphon.evaluators.protected.match import ProtectedMaterial  # noqa: PLC0415

    indexes = [Path(index) for index in order.indexes] or [PACKAGED]
    material = ProtectedMaterial([ProtectedIndex.load(index) for index in indexes])
    return Backend(material, CODE_PIECE, CODE_OVERLAP, early=_never)


def load_rules(order: RuleConfig) -> Backend:
    from antiphon.evaluators.rules.check import make  # noqa: PLC0415

    rules = make(order.name, order.words, order.patterns, order.file, order.lists)
    overlap = max(OVERLAP, _bounded(rules.longest()))
    return Backend(rules, RULE_PIECE, overlap, early=rules.early if rules.looks_early else None)


def reach(order: RuleConfig) -> int:
    """The longest match of a list, in characters. The workers ask this: a stream must not cut a match in two."""
    try:
        from antiphon.evaluators.rules.check import make  # noqa: PLC0415
    except ImportError:  # then the process has no such list either, and says so
        return 0
    return _bounded(make(order.name, order.words, order.patterns, order.file, order.lists).longest())


def _never(text: str) -> bool:
    """Copied code is told by many lines: no beginning shows it."""
    return False


def _bounded(longest: int | None) -> int:
    return ENDLESS if longest is None else min(longest, LONGEST)
