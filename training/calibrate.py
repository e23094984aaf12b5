"""Cut points and the bar of the first stage, chosen on development sets; writes `calibration.json`.

Filtered means medium or worse. The cuts to medium rise from a floor until each set of harmless texts keeps its budget,
first where that loses the fewest positives; prompts and answers have their own, and answers are read both whole and as
they are streamed. Low and high lie at the same distance from medium in every category, so that one score means one
risk; where a text is brief low of hate stays closer to medium.

    python -m training.calibrate --data SAFETY_DATA --weights src/antiphon/evaluators/weights [--cache FILE]
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from antiphon.evaluators.embedded.calibration import FEW, Brief, Cuts
from antiphon.evaluators.embedded.cascade import READ_AT_MOST, cut
from antiphon.evaluators.embedded.language import LanguageGate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.network import LABELS, Network
from antiphon.evaluators.embedded.ngrams import Head, windows
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import CLS, SEP, UNKNOWN, WordPiece
from training import probes
from training.data import OTHER_LANGUAGES, read_rows, read_set
from training.prepare import HELD_OUT, dev_sets

CATEGORIES = len(LABELS) - 1
# Share of the encoder's findings that the small network may hold for harmless, for each label.
LOST = (0.03, 0.01, 0.03, 0.01, 0.05)
LOOSEST = np.array([-2.5, -3.5, -3.0, -2.6, -5.0], dtype=np.float32)  # windows below are not read for calibration
FLOOR = -9.0  # of windows that the encoder did not read
CROWD, MOST, JAILBREAK_CROWD = 0.9, 3.0, 1.0
# Of each set: the share of harmless texts that may be filtered, by the beginning of the source's name.
PROMPTS = {
    "dev_benign": 0.0035, "fiction_books:fiction_violent": 0.06, "fiction_books:fiction_calm": 0.01,
    "fiction_litbank": 0.015, "news_agnews": 0.01, "war_wikitext": 0.02, "system_prompts": 0.011, "notinject": 0.012,
}  # fmt: skip
ANSWERS = {"dev_benign_resp": 0.008, "benign_answers_new": 0.008, "streams": 0.012}
JAILBREAKS = {"dev_benign": 0.006, "dev_benign:arena_hard": 0.008, "system_prompts": 0.012, "notinject": 0.03}
LOW_PROMPTS, LOW_ANSWERS = 0.012, 0.0145
LOW_BRIEF = 0.008  # of benign fragments of one to six words, and of usual brief answers
BRIEF, BRIEF_RISE = 5, 1.0  # tokens, logits
MARGIN = 0.05
LOWEST = np.array([1.2, 1.0, 1.0, 1.5, 1.0])  # a cut to medium is never below
WIDEST, HIGH = 2.0, 3.0  # logits from low to medium at most, from medium to high
STREAM_NEW, STREAM_BEFORE = 48, 96  # words; about 64 and 128 tokens
AMID = (300, 2_000)  # characters of harmless text around harm
EVERY = {"benign_answers_new": 3, "dev_benign_resp": 2, "fiction_litbank": 2, "dev_hatecheck": 3, "sdcnl_suicide": 4}
SUITE = {"Suicide": 1, "Child": 2, "Physical": 3}  # what dev_sst calls our categories
Rows = list[dict[str, Any]]


class Found(NamedTuple):
    """One text: what both networks think of its windows, and how long these are."""

    small: NDArray[Any]
    large: NDArray[Any]
    lengths: list[int]

    def judged(self, sure: NDArray[Any]) -> NDArray[Any]:
        """As the cascade puts them together."""
        doubt = (self.small - sure).max(axis=1)
        read = np.argsort(-doubt, kind="stable")[:READ_AT_MOST]
        logits = np.full(self.large.shape, FLOOR)
        logits[read] = np.where(doubt[read, None] >= 0, self.large[read], FLOOR)
        harm = min(CROWD * np.log(max(len(logits) / FEW, 1.0)), MOST)
        bar = [harm] * CATEGORIES + [JAILBREAK_CROWD * np.log(len(logits))]
        return np.asarray(logits.max(axis=0) - np.array(bar))


class Texts:
    """Texts to windows of tokens, and those to logits."""

    def __init__(self, folder: Path) -> None:
        self.tokens = WordPiece.load(folder / "vocabulary.txt")
        self.normalise = Normaliser(self.tokens.ids)
        self.gate = LanguageGate.load(folder / "languages.npz")
        self.small = Network(folder / "cnn.onnx")
        self.encoder = Network(folder / "encoder.onnx")

    def __call__(self, text: str) -> Found:
        part = self.gate.split(self.normalise(text)).texts.get(ENGLISH, "")
        pieces = cut(self.tokens.encode(part)) or [[UNKNOWN]]
        small = np.stack([self.small(piece) for piece in pieces])
        doubt = (small - LOOSEST).max(axis=1)
        large = np.full(small.shape, FLOOR, dtype=np.float32)
        for index in np.argsort(-doubt, kind="stable")[:READ_AT_MOST]:
            if doubt[index] >= 0:
                large[index] = self.encoder([CLS, *pieces[index], SEP])
        return Found(small, large, [len(piece) for piece in pieces])


def looks(text: str) -> list[str]:
    """What the gateway shows of an answer while it is streamed."""
    words = text.split(" ")
    ends = range(STREAM_NEW, len(words) + STREAM_NEW, STREAM_NEW)
    return [" ".join(words[max(0, end - STREAM_NEW - STREAM_BEFORE) : end]) for end in ends]


def collect(data: Path, folder: Path) -> tuple[dict[str, Rows], dict[str, list[Found]]]:
    """The development sets, brief texts, streamed answers, harm amid harmless text, and our held-out rows."""
    sets = {name: rows[:: EVERY.get(name, 1)] for name, rows in dev_sets(data).items() if name != "xsafety"}
    answers = [row["text"] for row in sets["dev_benign_resp"]]
    prompts = [row["text"] for row in sets["dev_benign"]]
    sets["streams"] = [{"text": look, "of": n} for n, text in enumerate(answers[::4]) for look in looks(text)]
    sets["brief"] = [{"text": text} for text in probes.brief() + probes.fragments(prompts + answers, 1_500)]
    sets["amid"] = list(surrounded(answers))
    with (HELD_OUT / "own.jsonl").open(encoding="utf-8") as lines:
        sets["own"] = [json.loads(line) for line in lines][::3]
    read = Texts(folder)
    found = {}
    for name, rows in sets.items():
        found[name] = [read(row["text"]) for row in rows]
        print("read", name, len(rows), flush=True)
    return sets, found


def surrounded(answers: list[str]) -> Rows:
    """Harm amid harmless answers, with its category."""
    made: Rows = []
    for category, sentences in enumerate(probes.HARM.values()):
        for index, sentence in enumerate(sentences.split("\n")[::2]):
            filler = "\n\n".join(answers[37 * index % len(answers) :][:40])
            for size in AMID:
                text = probes.amid(sentence, filler, size, index % 3)
                made.append({"text": text, "category": category, "size": size})
    return made


def bars(found: dict[str, list[Found]], folder: Path) -> NDArray[Any]:
    """For each label the logit of the small network under which few of the encoder's findings lie. A finding is what
    was medium until now: where that changes much, calibrate again."""
    stored = json.loads((folder / "calibration.json").read_text())["cuts"]["prompt"]
    small, large = (
        np.concatenate([getattr(text, name) for texts in found.values() for text in texts])
        for name in Found._fields[:2]
    )
    sure = [np.quantile(small[large[:, i] >= row[1], i], LOST[i]) for i, row in enumerate(stored)]
    benign = np.concatenate([text.small for text in found["dev_benign"]])
    lengths = [length for text in found["dev_benign"] for length in text.lengths]
    doubted = np.average((benign >= sure).any(axis=1), weights=lengths)
    print(f"the encoder reads {doubted:.3f} of the tokens of benign prompts")
    return np.maximum(sure, LOOSEST).round(3).astype(np.float32)


class Judged:
    """Logits of each text of each set, with its rows."""

    def __init__(self, sets: dict[str, Rows], found: dict[str, list[Found]], sure: NDArray[Any]) -> None:
        self.rows = sets
        self.logits = {name: np.array([text.judged(sure) for text in found[name]]) for name in found}

    def benign(self, name: str) -> list[NDArray[Any]]:
        """For each harmless text of a set, or of one of its sources, the logits of its looks."""
        name, _, source = name.partition(":")
        if name not in self.rows:
            return []
        if name == "streams":
            owners = np.array([row["of"] for row in self.rows[name]])
            return [self.logits[name][owners == owner] for owner in np.unique(owners)]
        chosen = [str(row.get("src", "")).startswith(source) for row in self.rows[name]]
        return [row[None] for row in self.logits[name][chosen]]

    def positive(self) -> list[NDArray[Any]]:
        """For each category what should be found."""
        made: list[list[NDArray[Any]]] = [[] for _ in LABELS]
        order = LABELS[:CATEGORIES]
        for name, rows in self.rows.items():
            for row, logits in zip(rows, self.logits[name], strict=True):
                for category in _harms(name, row, logits, order):
                    made[category].append(logits[category])
        return [np.array(many) for many in made]


def _harms(name: str, row: dict[str, Any], logits: NDArray[Any], order: tuple[str, ...]) -> list[int]:
    y = row.get("y")
    if name == "own":
        return [index for index, label in enumerate(row["y"]) if label == 1]
    if name == "amid":
        return [row["category"]]
    if name == "dev_hatecheck":
        return [0] if y == 1 else []
    if name == "dev_sst":
        return [category for start, category in SUITE.items() if row["harm"].startswith(start)]
    if isinstance(y, dict) and name != "sdcnl_suicide":
        return [order.index(key) for key, label in y.items() if label == 1]
    if row.get("harm") == 1 and "y" not in row and logits[: len(order)].max() > FLOOR:  # in a way that is not told
        return [int((logits[: len(order)] - LOWEST[: len(order)]).argmax())]
    return []


def rising(
    chosen: NDArray[Any], sets: list[tuple[list[NDArray[Any]], float]], positive: list[NDArray[Any]]
) -> NDArray[Any]:
    """Up until each set's budget is kept: the next cut to rise is the one that loses the fewest positives for each
    benign text that it lets go."""
    chosen = chosen.copy()
    for benign, budget in sets:
        while benign:
            above = np.array([[(seen[:, c] >= chosen[c]).any() for c in range(CATEGORIES)] for seen in benign])
            spare = int(above.any(axis=1).sum()) - int(budget * len(benign))
            if spare <= 0:
                break
            best = (np.inf, 0, 0.0)
            for c in np.flatnonzero(above.any(axis=0)):
                peaks = np.sort([seen[:, c].max() for seen, hit in zip(benign, above[:, c], strict=True) if hit])
                for count, peak in enumerate(peaks[:spare], start=1):
                    lost = ((positive[c] >= chosen[c]) & (positive[c] < peak + MARGIN)).mean()
                    best = min(best, (lost / count, int(c), float(peak) + MARGIN))
            chosen[best[1]] = best[2]
    return chosen


def low_gap(benign: list[NDArray[Any]], medium: NDArray[Any], budget: float) -> float:
    """The widest distance from low to medium at which few enough harmless texts are low."""
    for wide in np.arange(WIDEST, 0.0, -0.05):
        if np.mean([(seen[:, :CATEGORIES] >= medium[:CATEGORIES] - wide).any() for seen in benign]) <= budget:
            return float(wide)
    return 0.05


def brief_gap(found: list[Found], logits: NDArray[Any], stages: dict[str, list[list[float]]]) -> float:
    """The widest distance from low to medium of hate at which few enough of the brief texts are low."""
    for wide in np.arange(1.5, 0.0, -0.05):
        brief = Brief(BRIEF, float(wide), BRIEF_RISE)
        shares = []
        for rows in stages.values():
            hate, *others = [Cuts(*row) for row in rows[:CATEGORIES]]
            lows = [[brief(hate, sum(text.lengths)).low, *(each.low for each in others)] for text in found]
            shares.append(np.mean((logits[:, :CATEGORIES] >= np.array(lows)).any(axis=1)))
        if max(shares) <= LOW_BRIEF:
            return round(float(wide), 2)
    return 0.05


def _above(logits: NDArray[Any], budget: float) -> float:
    """The lowest cut that no more than the budget reaches."""
    return float(np.sort(logits)[-int(budget * len(logits)) - 1]) + MARGIN


def choose(read: Judged, found: dict[str, list[Found]]) -> dict[str, Any]:
    positive = read.positive()
    jailbreak = max(
        float(LOWEST[-1]),
        *(_above(np.array([seen[0, -1] for seen in read.benign(name)]), share) for name, share in JAILBREAKS.items()),
    )
    stages: dict[str, list[list[float]]] = {}
    prompts = rising(LOWEST[:CATEGORIES], [(read.benign(n), share) for n, share in PROMPTS.items()], positive)
    answers = rising(prompts, [(read.benign(n), share) for n, share in ANSWERS.items()], positive)
    for stage, medium, harmless, budget in (
        ("prompt", prompts, read.benign("dev_benign"), LOW_PROMPTS),
        ("answer", answers, read.benign("dev_benign_resp") + read.benign("streams"), LOW_ANSWERS),
    ):
        gap = low_gap(harmless, medium, budget)
        cuts = [(value - gap, value, value + HIGH) for value in (*medium, jailbreak)]
        stages[stage] = [[round(float(value), 3) for value in row] for row in cuts]
    for category, logits in enumerate(positive[:CATEGORIES]):
        print(LABELS[category], "found as prompts", round(float((logits >= prompts[category]).mean()), 3), len(logits))
    gap = brief_gap(found["brief"], read.logits["brief"], stages)
    return {"cuts": stages, "brief": {"tokens": BRIEF, "gap": gap, "rise": BRIEF_RISE}}


def heads(data: Path, folder: Path) -> dict[str, Any]:
    """The cut to medium: .8 % of benign Chinese prompts (they are far from the training tweets), else 3 % of the
    texts that are labelled as not hateful."""
    described: dict[str, Any] = json.loads((folder / "calibration.json").read_text())["heads"]
    rows = read_rows(data)
    for name, values in described.items():
        head = Head.load(folder / f"hate-{name}.npy", values["bias"], values["shortest"], values["longest"])
        tuned = {"zh": "dev_cold", "pt": "dev_toldbr"}.get(name)
        known = read_set(data, tuned) if tuned else [
            {"text": row["text"], "y": row["y"][0]}
            for row in [r for r in rows if r["src"] in OTHER_LANGUAGES[name] and r["y"][0] >= 0][::5]
        ]  # fmt: skip
        logits = np.array([max(map(head.logit, windows(row["text"]))) for row in known])
        label = np.array([row["y"] for row in known])
        medium = float(np.quantile(logits[label == 0], 0.97))
        if name == "zh":
            plain = [max(map(head.logit, windows(row["text"]))) for row in read_set(data, "dev_benign_zh")]
            medium = max(float(np.quantile(logits[label == 0], 0.93)), float(np.quantile(plain, 0.994)))
        high = max(float(np.quantile(logits[label == 1], 0.85)), medium + 1.0)
        values["cuts"] = [round(medium - 1.0, 3), round(medium, 3), round(high, 3)]
        print(name, values["cuts"], "recall at medium", round(float((logits[label == 1] >= medium).mean()), 3))
    return described


def self_harm(data: Path, folder: Path) -> dict[str, Any]:
    """The cut to medium: .2 % of benign Chinese prompts."""
    described: dict[str, Any] = json.loads((folder / "calibration.json").read_text())["self_harm"]
    for name, values in described.items():
        head = Head.load(folder / f"self-harm-{name}.npy", values["bias"], values["shortest"], values["longest"])
        plain = [max(map(head.logit, windows(row["text"]))) for row in read_set(data, f"dev_benign_{name}")]
        medium = float(np.quantile(plain, 0.998)) + MARGIN
        values["cuts"] = [round(medium - 1.0, 3), round(medium, 3), round(medium + HIGH, 3)]
    return described


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    if options.cache and options.cache.exists():
        sets, found = pickle.loads(options.cache.read_bytes())  # noqa: S301 - our own file
    else:
        sets, found = collect(options.data, options.weights)
        if options.cache:
            options.cache.write_bytes(pickle.dumps((sets, found)))
    sure = bars(found, options.weights)
    stored = {
        **choose(Judged(sets, found, sure), found), "heads": heads(options.data, options.weights),
        "self_harm": self_harm(options.data, options.weights),
        "sure": [round(float(value), 3) for value in sure],
        "crowd": CROWD, "most": MOST, "jailbreak_crowd": JAILBREAK_CROWD,
    }  # fmt: skip
    (options.weights / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n")
    print(json.dumps(stored["cuts"]), stored["sure"], stored["brief"])


if __name__ == "__main__":
    main()
