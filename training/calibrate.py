"""Cut points and the bar of the first stage, chosen on development sets; writes `calibration.json`.

Filtered means medium or worse. The cuts rise from a floor until no more benign texts pass than a budget allows, first
where that loses the fewest positives; prompts and answers have their own, and answers are read both whole and as they
are streamed. Harm amid harmless text counts among the positives. The cuts to low are chosen likewise, between 2.5 and
.02 below medium; where a text is brief they stay close to medium. Half of what is filtered lies above the cut to high.

    python -m training.calibrate --data SAFETY_DATA --weights src/antiphon/evaluators/weights [--cache FILE]
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antiphon.evaluators.embedded.calibration import Brief, Cuts
from antiphon.evaluators.embedded.cascade import Reader, cut
from antiphon.evaluators.embedded.language import Gate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.network import LABELS, Network
from antiphon.evaluators.embedded.ngrams import Head, windows
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import UNKNOWN, WordPiece
from training import probes
from training.data import OTHER_LANGUAGES, read_rows, read_set
from training.prepare import HELD_OUT

Found = tuple[NDArray[Any], int]  # of one text: logits of its windows, and how many tokens it has
Benign = list[NDArray[Any]]  # for each text the logits of its looks

ESCALATED = 0.125  # share of benign prompts' tokens that the encoder may read; 3.5 ms per 100 tokens depend on it
CARE = (1.0, 0.6, 0.6, 2.0, 1.2)  # the small network tells violence apart worst, self-harm and sex best
CROWD, MOST, JAILBREAK_CROWD = 0.5, 2.0, 1.0
# Budgets: share of benign texts that may be filtered, and that may be low or worse.
PROMPTS, LOW_PROMPTS = 0.0025, 0.012
ANSWERS, LOW_ANSWERS = 0.0078, 0.0145
STREAMS, LOW_STREAMS = 0.0145, 0.0145
JAILBREAKS = 0.006  # of all benign prompts that may be taken for one
LONG = 0.01  # of long technical ones (arena_hard)
LOW_BRIEF = 0.008  # of benign fragments of one to six words, and of usual brief answers
BRIEF = 8  # tokens
MARGIN = 0.05
# A cut to medium is never below: HateCheck asks for that of hate, contrast pairs for that of violence.
LOWEST = np.array([1.5, 0.5, 0.5, 1.0, 0.5])
WIDEST, NARROWEST = 2.5, 0.02  # between low and medium
STREAM_NEW, STREAM_BEFORE = 48, 96  # words; about 64 and 128 tokens
AMID = (300, 600, 2_000)  # characters of harmless text around harm


class Texts:
    """Texts to windows of tokens, and those to logits."""

    def __init__(self, folder: Path) -> None:
        self.tokens = WordPiece.load(folder / "vocabulary.txt")
        self.normalise = Normaliser(self.tokens.ids)
        self.gate = Gate.load(folder / "languages.npz")
        self.small, self.large = Network(folder / "cnn.onnx"), Network(folder / "encoder.onnx")

    def windows(self, text: str) -> list[list[int]]:
        part = self.gate.split(self.normalise(text)).texts.get(ENGLISH, "")
        return cut(self.tokens.encode(part)) or [[UNKNOWN]]

    def read(self, texts: list[str], sure: NDArray[Any]) -> list[Found]:
        read = Reader(self.small, self.large, sure)
        found = []
        for text in texts:
            pieces = self.windows(text)
            found.append((read(pieces), sum(map(len, pieces))))
        return found

    def bars(self, prompts: list[str]) -> NDArray[Any]:
        """The share of windows above each bar grows in step until the union is what may be escalated."""
        pieces = [piece for text in prompts for piece in self.windows(text)]
        tokens = [len(piece) for piece in pieces]
        small = np.stack([self.small(piece) for piece in pieces])
        for share in np.linspace(0.001, 0.3, 600):
            sure = np.array([np.quantile(small[:, label], 1 - share * CARE[label]) for label in range(len(CARE))])
            if np.average((small >= sure).any(axis=1), weights=tokens) >= ESCALATED:
                break
        return sure.round(3).astype(np.float32)


def looks(text: str) -> list[str]:
    """What the gateway shows of an answer while it is streamed."""
    words = text.split(" ")
    ends = range(STREAM_NEW, len(words) + STREAM_NEW, STREAM_NEW)
    return [" ".join(words[max(0, end - STREAM_NEW - STREAM_BEFORE) : end]) for end in ends]


def benign_answers(data: Path) -> list[str]:
    return [row["text"] for row in read_set(data, "dev_benign_resp") if "unsafe" not in row["src"]]


def surrounded(answers: list[str]) -> list[tuple[int, str]]:
    """Harm amid harmless answers, with its category."""
    made = []
    for category, sentences in enumerate(probes.HARM.values()):
        for index, sentence in enumerate(sentences.split("\n")):
            filler = "\n\n".join(answers[37 * index % len(answers) :][:40])
            made += [(category, probes.amid(sentence, filler, size, place)) for size in AMID for place in range(3)]
    return made


def collect(data: Path, folder: Path) -> tuple[NDArray[Any], dict[str, list[Found]]]:
    texts = Texts(folder)
    prompts, answers = [row["text"] for row in read_set(data, "dev_benign")], benign_answers(data)
    sure = texts.bars(prompts)
    sets = {
        "prompts": prompts,
        "answers": answers,
        "streams": [look for answer in answers[::3] for look in looks(answer)],
        "brief": probes.brief() + probes.fragments(prompts + answers, 3_000),
        "amid": [text for _, text in surrounded(answers)],
        "hatecheck": [row["text"] for row in read_set(data, "dev_hatecheck")],
        "sst": [row["text"] for row in read_set(data, "dev_sst")],
        "own": [row["text"] for row in own()],
    }
    return sure, {name: texts.read(many, sure) for name, many in sets.items()}


def own() -> list[dict[str, Any]]:
    with (HELD_OUT / "own.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def judged(found: Found) -> NDArray[Any]:
    logits, _ = found
    many = np.log(len(logits))
    bar = [min(CROWD * many, MOST)] * (len(LABELS) - 1) + [JAILBREAK_CROWD * many]
    return np.asarray(logits.max(axis=0) - np.array(bar))


def rising(
    chosen: NDArray[Any], sets: list[tuple[Benign, float]], positive: list[NDArray[Any]], most: NDArray[Any] | None
) -> NDArray[Any]:
    """Up until each set's budget is kept: the next cut to rise is the one that loses the fewest positives for each
    benign text that it lets go."""
    chosen = chosen.copy()
    for benign, budget in sets:
        while True:
            above = np.array([[(looks_[:, c] >= chosen[c]).any() for c in range(4)] for looks_ in benign])
            spare = int(above.any(axis=1).sum()) - int(budget * len(benign))
            if spare <= 0:
                break
            best = (np.inf, 0, 0.0)
            for c in np.flatnonzero(above.any(axis=0)):
                peaks = np.sort([looks_[:, c].max() for looks_, hit in zip(benign, above[:, c], strict=True) if hit])
                for count, peak in enumerate(peaks[:spare], start=1):
                    if most is not None and peak + MARGIN > most[c]:
                        break
                    lost = ((positive[c] >= chosen[c]) & (positive[c] < peak + MARGIN)).mean()
                    best = min(best, (lost / count, int(c), float(peak) + MARGIN))
            if not np.isfinite(best[0]):
                break
            chosen[best[1]] = best[2]
    return chosen


def cuts(sets: list[tuple[Benign, float, float]], positive: list[NDArray[Any]], jailbreak: float) -> list[list[float]]:
    """`sets`: benign texts, the budget of medium and that of low."""
    medium = rising(LOWEST[:4], [(benign, budget) for benign, budget, _ in sets], positive, None)
    lows = [(benign, budget) for benign, _, budget in sets]
    low = rising(medium - WIDEST, lows, positive, medium - NARROWEST)
    made = []
    for label, (least, middle) in enumerate(zip([*low, jailbreak - WIDEST], [*medium, jailbreak], strict=True)):
        above = positive[label][positive[label] > middle]
        high = max(float(np.median(above)), middle + 1.0)
        made.append([round(float(least), 3), round(float(middle), 3), round(high, 3)])
    return made


def gap(found: list[Found], stages: dict[str, list[list[float]]]) -> float:
    """The widest distance from low to medium of hate at which few enough of the brief texts are low."""
    read = [(judged(item), item[1]) for item in found]
    for wide in np.arange(1.5, 0.0, -0.05):
        brief = Brief(BRIEF, float(wide))
        shares = []
        for chosen in stages.values():
            hate, *others = [Cuts(*row) for row in chosen[:4]]
            lows = [[brief(hate, tokens).low, *(cut_.low for cut_ in others)] for _, tokens in read]
            shares.append(np.mean([(x[:4] >= low).any() for (x, _), low in zip(read, lows, strict=True)]))
        if max(shares) <= LOW_BRIEF:
            return round(float(wide), 2)
    return NARROWEST


def _above(logits: NDArray[Any], budget: float) -> float:
    """The lowest cut that no more than the budget reaches."""
    return float(np.sort(logits)[-int(budget * len(logits)) - 1]) + MARGIN


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    if options.cache and options.cache.exists():
        sure, found = pickle.loads(options.cache.read_bytes())  # noqa: S301 - our own file
    else:
        sure, found = collect(options.data, options.weights)
        if options.cache:
            options.cache.write_bytes(pickle.dumps((sure, found)))
    read = {name: np.array([judged(item) for item in many]) for name, many in found.items()}
    answers = benign_answers(options.data)
    rows = own()
    labels = np.array([row["y"] for row in rows])
    positive = [read["own"][labels[:, label] == 1, label] for label in range(5)]
    positive[0] = np.concatenate(
        [positive[0], read["hatecheck"][[r["y"] == 1 for r in read_set(options.data, "dev_hatecheck")], 0]]
    )
    harms = [row["harm"] for row in read_set(options.data, "dev_sst")]
    for label, harm in ((1, "Suicide"), (3, "Physical"), (2, "Child")):
        suite = read["sst"][[name.startswith(harm) for name in harms], label]
        positive[label] = np.concatenate([positive[label], *[suite] * (1 + len(positive[label]) // len(suite))])
    hidden = np.array([category for category, _ in surrounded(answers)])
    amid = [np.concatenate([positive[c], read["amid"][hidden == c, c]]) for c in range(4)] + [positive[4]]
    hard = np.array([row["src"] == "arena_hard" for row in read_set(options.data, "dev_benign")])
    every, long = read["prompts"][:, 4], read["prompts"][hard, 4]
    jailbreak = max(_above(every, JAILBREAKS), _above(long, LONG), float(LOWEST[4]))
    ends = np.cumsum([len(looks(answer)) for answer in answers[::3]])
    streamed = np.split(read["streams"], ends[:-1])
    chosen = {
        "prompt": cuts([([row[None] for row in read["prompts"]], PROMPTS, LOW_PROMPTS)], amid, jailbreak),
        "answer": cuts(
            [([row[None] for row in read["answers"]], ANSWERS, LOW_ANSWERS), (streamed, STREAMS, LOW_STREAMS)],
            amid,
            jailbreak,
        ),
    }
    stored = {
        "cuts": chosen, "heads": heads(options.data, options.weights), "sure": [round(float(x), 3) for x in sure],
        "crowd": CROWD, "most": MOST, "jailbreak_crowd": JAILBREAK_CROWD,
        "brief": {"tokens": BRIEF, "gap": gap(found["brief"], chosen)},
    }  # fmt: skip
    (options.weights / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n")
    print(json.dumps(stored["cuts"]), stored["sure"], stored["brief"])


if __name__ == "__main__":
    main()
