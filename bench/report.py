"""What a duel found: samples per gateway, their medians, and the tables."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.cases import JSON, OPENING, Case
from bench.load import Outcome

NGINX, OURS = "nginx", "antiphon"


@dataclass(slots=True)
class Score:
    """One gateway's samples, one per round, by name: CPU per answer or chunk, added latencies, lags (us); memory."""

    judges: bool
    samples: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    worker_bytes: int = 0
    tree_bytes: int = 0
    faults: list[str] = field(default_factory=list)

    def median(self, name: str) -> float:
        return statistics.median(self.samples[name]) if self.samples[name] else float("nan")

    def smallest(self, name: str) -> float:
        return min(self.samples[name], default=float("nan"))

    def add_faults(self, name: str, outcome: Outcome) -> None:
        """A figure counts only if every answer was whole."""
        if outcome.errors or not outcome.good:
            self.faults.append(f"{name}: {outcome.errors} of {outcome.errors + outcome.good}: {outcome.first_error}")


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of a duel; `base` is the gateway that the others are compared with, by medians or smallest values."""

    scores: dict[str, Score]
    cases: Sequence[Case]
    base: str = NGINX
    smallest: bool = False

    def tables(self) -> str:
        off = [name for name, score in self.scores.items() if not score.judges and name != self.base]
        on = [name for name, score in self.scores.items() if score.judges]
        parts = [self._ratios(off)] if off else []
        parts += [self._safety(on)] if on else []
        return "\n\n".join((*parts, self._costs(), self._others()))

    def _ratios(self, names: list[str]) -> str:
        rows = []
        for case in self.cases:
            rows.append((case.name, self._bar(case.bar), *(self._ratio(name, case.name) for name in names)))
        return _table(f"CPU per answer or chunk, x {self.base}", ("case", "bar", *names), rows)

    def _safety(self, names: list[str]) -> str:
        judged = [case for case in self.cases if any(self.scores[name].samples[case.name] for name in names)]
        rows = []
        for case in judged:
            cells = [
                cell
                for name in names
                for cell in (
                    self._ratio(name, case.name),
                    _number(self.scores[name].median(f"{case.name} apart")),
                )
            ]
            rows.append((case.name, self._bar(case.safety_bar), *cells))
        head = ("case", "bar", *(word for name in names for word in (name, "evaluators us")))
        return _table(f"Safety on: the worker alone, x {self.base}; beside it the evaluators' CPU", head, rows)

    def _costs(self) -> str:
        rows = [
            (case.name, *(_spread(score.samples[case.name]) for score in self.scores.values())) for case in self.cases
        ]
        return _table("CPU us: median [smallest-largest]", ("case", *self.scores), rows)

    def _others(self) -> str:
        """Added: against the mock alone; in brackets what is added over the base."""
        lag = next((f"{case.name} lag" for case in self.cases if case.pace), "")
        columns = [f"{case.name} added {cut}" for case in (JSON, OPENING) for cut in ("p50", "p99")]
        head = ("gateway", *columns, lag or "lag", "worker RSS MB", "tree RSS MB")
        rows = []
        for name, score in self.scores.items():
            memory = (f"{size / 1e6:.0f}" for size in (score.worker_bytes, score.tree_bytes))
            added = (_number(score.median(column)) + self._over_base(name, column) for column in columns)
            rows.append((name, *added, _number(score.median(lag)), *memory))
        title = f"One connection: time added, us (over {self.base}); paced: time under way, us; memory"
        return _table(title, head, rows)

    def last_line(self) -> str:
        """Each gateway's CPU over that of the base, and what a worker of ours holds in memory."""
        parts = []
        for name, score in self.scores.items():
            if name != self.base and self.base in self.scores:
                known = [case.name for case in self.cases if score.samples[case.name]]
                ratios = " ".join(f"{case} {self._ratio(name, case)}" for case in known)
                parts.append(f"{name}/{self.base}: {ratios}")
        if OURS in self.scores:
            parts.append(f"worker RSS {self.scores[OURS].worker_bytes / 1e6:.0f} MB")
        return " | ".join(parts) or f"no ratios: {self.base} and another gateway are needed"

    def _ratio(self, name: str, sample: str) -> str:
        value = self._cost(name, sample) / self._cost(self.base, sample) if self.base in self.scores else float("nan")
        return f"{value:.2f}" if value == value else "-"

    def _cost(self, name: str, sample: str) -> float:
        score = self.scores[name]
        return score.smallest(sample) if self.smallest else score.median(sample)

    def _bar(self, value: float | None) -> str:
        return f"{value:.1f}" if value and self.base == NGINX else ""

    def _over_base(self, name: str, sample: str) -> str:
        if name == self.base or self.base not in self.scores:
            return ""
        return f" ({self.scores[name].median(sample) - self.scores[self.base].median(sample):+.1f})"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [tuple(head), ("---",) * len(head), *map(tuple, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = ("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines)
    return f"\n{title}\n\n" + "\n".join(padded)


def _number(value: float) -> str:
    return f"{value:.1f}" if value == value else "-"


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} [{min(values):.1f}-{max(values):.1f}]" if values else "-"


def save(scores: dict[str, Score], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"duel-{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    rows = {
        name: {
            **score.samples,
            "worker_bytes": score.worker_bytes,
            "tree_bytes": score.tree_bytes,
            "faults": score.faults,
        }
        for name, score in scores.items()
    }
    file.write_text(json.dumps(rows, indent=1) + "\n")
    return file
