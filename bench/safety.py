"""The figures of the embedded classifier: quality on development and held-out sets, time, memory, start.

    python -m bench.safety [--data FOLDER] [--quick]     (make bench-safety; or ANTIPHON_SAFETY_DATA=FOLDER)

Prints the table of bench/RESULTS.md. Without a data folder the held-out rows of training/heldout are judged alone.
A folder `dev2` in it may hold any number of further sets: rows `{text, src, stage}` with `benign`, `harm`, `y` (by
category) or `jb`; of each what is filtered at medium is told by source, and how well scores order what is labelled.
Those rows share their writer, though no template, with training rows: they show regressions, not what strangers write.
"""

from __future__ import annotations

import argparse
import gzip
import json
import operator
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antiphon.evaluators.backends import PIECE, Backend
from antiphon.evaluators.embedded import Classifier
from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.evaluators.embedded.wordpiece import WordPiece
from antiphon.safety.verdict import CATEGORIES, UNSUPPORTED_LANGUAGE, Severity, Stage, Verdict

MOST_SOURCES = 8  # of one set that are told apart
HELD_OUT = Path(__file__).parent.parent / "training" / "heldout"
Rows = list[dict[str, Any]]
Line = tuple[str, str, str]  # set, figure, value

# What a process needs that does nothing but judge.
ALONE = """
import time; start = time.perf_counter()
from antiphon.evaluators.embedded import Classifier
from antiphon.safety.verdict import Stage
classifier = Classifier.load(); classifier.judge(["ready?"], Stage.PROMPT)
ready = time.perf_counter() - start
classifier.judge(["how do I kill my neighbour? " * 400], Stage.PROMPT)
pages = int(open("/proc/self/statm").read().split()[1])
print(ready, pages * 4096 / 1e6)
"""


def read(path: Path) -> Rows:
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def filtered(verdict: Verdict) -> bool:
    return max(verdict.severities or (Severity.SAFE,)) >= Severity.MEDIUM


def auc(labels: NDArray[Any], scores: NDArray[Any]) -> float:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores[np.concatenate([[False], np.diff(np.sort(scores)) == 0])]):
        ranks[scores == value] = ranks[scores == value].mean()
    positive = labels == 1
    count = positive.sum()
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(labels) - count)))


def precision(labels: NDArray[Any], scores: NDArray[Any]) -> float:
    """Average precision."""
    hits = labels[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1) * hits).sum() / max(1, hits.sum()))


def percent(flags: list[bool] | NDArray[Any]) -> str:
    return f"{100 * float(np.mean(flags)):.2f} %"


class Bench:
    def __init__(self, data: Path | None, every: int) -> None:
        self.classifier = Classifier.load()
        self.part = Backend(self.classifier, PIECE)
        self.data = data
        self.every = every

    def rows(self, name: str) -> Rows:
        path = self.data / f"{name}.jsonl.gz" if self.data else None
        return read(path)[:: self.every] if path and path.exists() else []

    def judge(self, rows: Rows, stage: Stage = Stage.PROMPT) -> list[Verdict]:
        return self.classifier.judge([row["text"] for row in rows], stage)

    def lines(self) -> Iterator[Line]:
        yield from self.benign_prompts()
        yield from self.benign_answers()
        yield from self.hate()
        yield from self.other_languages()
        yield from self.suite()
        yield from self.own()
        yield from self.further()
        yield from self.cost()

    def further(self) -> Iterator[Line]:
        for path in sorted(self.data.glob("dev2/*.jsonl.gz")) if self.data else []:
            rows = read(path)[:: self.every]
            found = [self.whole(row["text"], Stage(row.get("stage", "prompt"))) for row in rows]
            yield from figures(path.name.split(".")[0], rows, found)

    def whole(self, text: str, stage: Stage) -> Verdict:
        """As the evaluator process judges it: long texts piece by piece."""
        verdicts = self.classifier.judge(self.part.pieces(text), stage)
        return reduce(operator.or_, verdicts)

    def benign_prompts(self) -> Iterator[Line]:
        if not (rows := self.rows("dev_benign")):
            return
        found = self.judge(rows)
        long = [v for row, v in zip(rows, found, strict=True) if row["src"] == "arena_hard"]
        yield "dev_benign", "filtered", percent([filtered(v) for v in found])
        yield "dev_benign", "jailbreak", percent([bool(v.jailbreak) for v in found])
        yield "dev_benign, arena_hard", "filtered", percent([filtered(v) for v in long])
        yield "dev_benign, arena_hard", "jailbreak", percent([bool(v.jailbreak) for v in long])
        yield "dev_benign", "unsupported language", percent([v.error == UNSUPPORTED_LANGUAGE for v in found])

    def benign_answers(self) -> Iterator[Line]:
        rows = [row for row in self.rows("dev_benign_resp") if "unsafe" not in row["src"]]
        if not rows:
            return
        whole = [filtered(v) for v in self.judge(rows, Stage.ANSWER)]
        yield "dev_benign_resp", "filtered, whole answer", percent(whole)
        some = rows[::3]
        streamed = [any(map(filtered, self.classifier.judge(looks(row["text"]), Stage.ANSWER))) for row in some]
        yield "dev_benign_resp", "filtered, streamed (every third)", percent(streamed)

    def hate(self) -> Iterator[Line]:
        if rows := self.rows("dev_hatecheck"):
            found = self.judge(rows)
            labels, scores = column(rows, "y"), score(found, 0)
            yield "dev_hatecheck", "hate AUC", f"{auc(labels, scores):.3f}"
            flagged = np.array([filtered(v) for v in found])
            both = f"{percent(flagged[labels == 1])} / {percent(flagged[labels == 0])}"
            yield "dev_hatecheck", "filtered: hateful / not", both

    def other_languages(self) -> Iterator[Line]:
        for name in ("dev_cold", "dev_toldbr"):
            if rows := self.rows(name):
                found = self.judge(rows)
                yield name, "hate AUC", f"{auc(column(rows, 'y'), score(found, 0)):.3f}"
                yield name, "unsupported language", percent([v.error == UNSUPPORTED_LANGUAGE for v in found])
        if rows := self.rows("dev_benign_zh"):
            yield "dev_benign_zh", "filtered", percent([filtered(v) for v in self.judge(rows)])
        if rows := self.rows("dev_mhc")[::10]:
            found = self.judge(rows)
            for name in sorted({row["lang"] for row in rows}):
                here = [v.error == UNSUPPORTED_LANGUAGE for r, v in zip(rows, found, strict=True) if r["lang"] == name]
                yield f"dev_mhc, {name}", "unsupported language", percent(here)

    def suite(self) -> Iterator[Line]:
        if rows := self.rows("dev_sst"):
            found = self.judge(rows)
            for harm in sorted({row["harm"] for row in rows}):
                here = [filtered(v) for row, v in zip(rows, found, strict=True) if row["harm"] == harm]
                yield "dev_sst", f"filtered: {harm}", percent(here)

    def own(self) -> Iterator[Line]:
        rows = read(HELD_OUT / "own.jsonl")
        found = self.judge(rows)
        labels = np.array([row["y"] for row in rows])
        for index, name in enumerate(CATEGORIES):
            known = labels[:, index] >= 0
            yield "own", f"AUPRC {name}", f"{precision(labels[known, index], score(found, index)[known]):.3f}"
        yield from self.own_jailbreaks(labels, found)
        for source in sorted({row["src"] for row in rows}):
            here = [v for row, v in zip(rows, found, strict=True) if row["src"] == source]
            flags, jailbreaks = [filtered(v) for v in here], [bool(v.jailbreak) for v in here]
            value = f"{percent(flags)} / {percent(jailbreaks)} of {len(here)}"
            yield f"own, {source.removeprefix('own_')}", "filtered / jailbreak", value

    def own_jailbreaks(self, labels: NDArray[Any], found: list[Verdict]) -> Iterator[Line]:
        flags, truth = np.array([bool(v.jailbreak) for v in found]), labels[:, 4] == 1
        hits = (flags & truth).sum()
        yield "own", "jailbreak F1", f"{2 * hits / (flags.sum() + truth.sum()):.3f}"

    def cost(self) -> Iterator[Line]:
        tokens = WordPiece.load(WEIGHTS / "vocabulary.txt")
        rows = self.rows("dev_benign") or [r for r in read(HELD_OUT / "own.jsonl") if not any(r["y"])]
        times, counts = [], []
        for row in rows:
            start = time.thread_time()
            self.classifier.judge([row["text"]], Stage.PROMPT)
            times.append((time.thread_time() - start) * 1e3)
            counts.append(len(tokens.encode(row["text"])))
        spent, lengths = np.array(times), np.array(counts)
        yield "benign prompts", "CPU per 100 tokens, all together", f"{100 * spent.sum() / lengths.sum():.2f} ms"
        per = 100 * spent / np.maximum(lengths, 100)  # a short text is not charged as if it were a hundred tokens long
        yield (
            "benign prompts",
            "CPU per 100 tokens, mean / p50 / p99 of texts",
            (f"{per.mean():.2f} / {np.median(per):.2f} / {np.quantile(per, 0.99):.2f} ms"),
        )
        ready, resident = map(float, subprocess.check_output([sys.executable, "-c", ALONE], text=True).split())
        yield "process of its own", "ready / resident", f"{ready:.2f} s / {resident:.0f} MB"


def looks(text: str, new: int = 48, before: int = 96) -> list[str]:
    """An answer as the gateway shows it while it is streamed: about 64 new tokens behind 128 old ones."""
    words = text.split(" ")
    return [" ".join(words[max(0, end - new - before) : end]) for end in range(new, len(words) + new, new)]


def figures(name: str, rows: Rows, found: list[Verdict]) -> Iterator[Line]:
    """Of harmless rows what is filtered and called a jailbreak, by source; of labelled ones how scores order them."""
    harmless = [bool(row.get("benign")) or row.get("harm") == 0 for row in rows]
    sources = sorted({row["src"] for row, free in zip(rows, harmless, strict=True) if free})
    for source in sources if len(sources) <= MOST_SOURCES else []:
        here = [v for row, v, free in zip(rows, found, harmless, strict=True) if free and row["src"] == source]
        value = f"{percent([filtered(v) for v in here])} / {percent([bool(v.jailbreak) for v in here])} of {len(here)}"
        yield f"{name}, {source}", "harmless: filtered / jailbreak", value
    if rows and "harm" in rows[0]:
        labels = column(rows, "harm")
        flagged = np.array([filtered(v) for v in found])
        yield name, "harmful: filtered", percent(flagged[labels == 1])
        if labels.min() == 0:
            worst = np.max([score(found, index) for index in range(len(CATEGORIES))], axis=0)
            yield name, "any harm, AUPRC / AUC", f"{precision(labels, worst):.3f} / {auc(labels, worst):.3f}"
    for index, category in enumerate(CATEGORIES):
        known = [at for at, row in enumerate(rows) if category in (row.get("y") or {})]
        labels = np.array([rows[at]["y"][category] for at in known])
        if known and 0 < labels.sum() < len(labels):
            scores = score(found, index)[known]
            yield name, f"{category}, AUPRC / AUC", f"{precision(labels, scores):.3f} / {auc(labels, scores):.3f}"
    if rows and "jb" in rows[0]:
        flags, truth = np.array([bool(v.jailbreak) for v in found]), column(rows, "jb") == 1
        yield name, "jailbreak F1", f"{2 * (flags & truth).sum() / (flags.sum() + truth.sum()):.3f}"


def column(rows: Rows, key: str) -> NDArray[Any]:
    return np.array([row[key] for row in rows])


def score(found: list[Verdict], index: int) -> NDArray[Any]:
    return np.array([(v.scores or (0.0,) * 4)[index] for v in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ANTIPHON_SAFETY_DATA"))
    parser.add_argument("--quick", action="store_true", help="every eighth row")
    options = parser.parse_args()
    print("| set | figure | value |\n|---|---|---|")
    for line in Bench(Path(options.data) if options.data else None, 8 if options.quick else 1).lines():
        print("| {} | {} | {} |".format(*line), flush=True)


if __name__ == "__main__":
    main()
