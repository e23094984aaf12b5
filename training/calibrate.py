"""Cut points and the bar of the first stage, chosen on development sets; writes `calibration.json`.

Filtered means medium or worse. The cuts to medium rise from a floor until no more benign texts are filtered than a
budget allows, first where that loses the fewest positives; prompts and answers have their own, and answers are read
both whole and as they are streamed. The cut to low is passed by 2 % of benign texts, or lies 2.5 below; half of what
is filtered lies above the cut to high.

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

from antiphon.evaluators.embedded.cascade import cut
from antiphon.evaluators.embedded.language import ENGLISH, Gate
from antiphon.evaluators.embedded.network import Network
from antiphon.evaluators.embedded.ngrams import Head, windows
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import CLS, SEP, UNKNOWN, WordPiece
from training.data import OTHER_LANGUAGES, read_rows, read_set
from training.prepare import HELD_OUT

Found = tuple[NDArray[Any], NDArray[Any]]  # logits of the windows of one text: small network, encoder

ESCALATED = 0.125  # share of benign prompts' tokens that the encoder may read; 3.5 ms per 100 tokens depend on it
CARE = (1.0, 0.6, 0.6, 2.0, 1.2)  # the small network tells violence apart worst, self-harm and sex best
CROWD = 0.5
PROMPTS = 0.0025  # budgets: share of benign texts that may be filtered
ANSWERS = 0.008
JAILBREAKS = 0.006  # of all benign prompts that may be taken for one
LONG = 0.01  # of long technical ones (arena_hard)
LOW = 0.02  # share of benign texts that may be low or worse, in one category
MARGIN = 0.05
# A cut to medium is never below: HateCheck asks for that of hate, contrast pairs for that of violence.
LOWEST = np.array([1.5, 0.5, 0.5, 1.0, 0.5])
STREAM_NEW, STREAM_BEFORE = 48, 96  # words; about 64 and 128 tokens


class Reader:
    def __init__(self, folder: Path) -> None:
        self.tokens = WordPiece.load(folder / "vocabulary.txt")
        self.normalise = Normaliser(self.tokens.ids)
        self.gate = Gate.load(folder / "languages.npz")
        self.small, self.large = Network(folder / "cnn.onnx"), Network(folder / "encoder.onnx")

    def windows(self, text: str) -> list[list[int]]:
        part = self.gate.split(self.normalise(text)).texts.get(ENGLISH, "")
        return cut(self.tokens.encode(part)) or [[UNKNOWN]]

    def __call__(self, text: str) -> Found:
        pieces = self.windows(text)
        small = np.stack([self.small(piece) for piece in pieces])
        return small, np.stack([self.large([CLS, *piece, SEP]) for piece in pieces])


def looks(text: str) -> list[str]:
    """What the gateway shows of an answer while it is streamed."""
    words = text.split(" ")
    ends = range(STREAM_NEW, len(words) + STREAM_NEW, STREAM_NEW)
    return [" ".join(words[max(0, end - STREAM_NEW - STREAM_BEFORE) : end]) for end in ends]


def collect(data: Path, folder: Path) -> dict[str, list[Found]]:
    read = Reader(folder)
    answers = [row for row in read_set(data, "dev_benign_resp") if "unsafe" not in row["src"]]
    texts = {
        "prompts": [row["text"] for row in read_set(data, "dev_benign")],
        "answers": [row["text"] for row in answers],
        "streams": [look for row in answers[::3] for look in looks(row["text"])],
        "hatecheck": [row["text"] for row in read_set(data, "dev_hatecheck")],
        "sst": [row["text"] for row in read_set(data, "dev_sst")],
        "own": [row["text"] for row in own()],
    }
    return {name: [read(text) for text in many] for name, many in texts.items()}


def streams(data: Path) -> list[tuple[int, int]]:
    """Which looks belong to which answer."""
    answers = [row for row in read_set(data, "dev_benign_resp") if "unsafe" not in row["src"]]
    ends = np.cumsum([len(looks(row["text"])) for row in answers[::3]]).tolist()
    return list(zip([0, *ends], ends, strict=False))


def own() -> list[dict[str, Any]]:
    with (HELD_OUT / "own.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def lengths(data: Path, folder: Path) -> NDArray[Any]:
    """Tokens of each window of the benign prompts."""
    read = Reader(folder)
    pieces = [read.windows(row["text"]) for row in read_set(data, "dev_benign")]
    return np.array([len(piece) for text in pieces for piece in text])


def bars(prompts: list[Found], tokens: NDArray[Any]) -> NDArray[Any]:
    """The share of windows above each bar grows in step until the union is what may be escalated."""
    small = np.concatenate([found[0] for found in prompts])
    for share in np.linspace(0.001, 0.3, 600):
        sure = np.array([np.quantile(small[:, label], 1 - share * CARE[label]) for label in range(len(CARE))])
        if np.average((small >= sure).any(axis=1), weights=tokens) >= ESCALATED:
            break
    return sure


def judged(found: Found, sure: NDArray[Any], crowd: float = CROWD) -> NDArray[Any]:
    """As the cascade does it, but without its limit on long texts."""
    small, large = found
    doubt = (small - sure).max(axis=1)
    logits = np.where(doubt[:, None] >= 0, large, np.minimum(small - sure, 0.0) - 4.0)
    return np.asarray(logits.max(axis=0) - crowd * np.log(len(small)))


def mediums(benign: list[NDArray[Any]], budget: float, positive: list[NDArray[Any]]) -> NDArray[Any]:
    """From zero up, until the budget is kept: the next cut to rise is the one that loses the fewest positives for each
    benign text that it lets go. `benign`: for each text its looks."""
    chosen = LOWEST[:4].copy()
    while True:
        above = np.array([[(looks_[:, c] >= chosen[c]).any() for c in range(4)] for looks_ in benign])
        if above.any(axis=1).mean() <= budget:
            return chosen
        best = (np.inf, 0, 0.0)
        for c in np.flatnonzero(above.any(axis=0)):
            peaks = np.sort([looks_[:, c].max() for looks_, hit in zip(benign, above[:, c], strict=True) if hit])
            for count, peak in enumerate(peaks, start=1):
                lost = ((positive[c] >= chosen[c]) & (positive[c] < peak + MARGIN)).mean()
                best = min(best, (lost / count, int(c), float(peak) + MARGIN))
        chosen[best[1]] = best[2]


def cuts(
    benign: list[NDArray[Any]], budget: float, positive: list[NDArray[Any]], jailbreak: float
) -> list[list[float]]:
    chosen = [*mediums(benign, budget, positive), jailbreak]
    peaks = np.array([looks_.max(axis=0) for looks_ in benign])
    made = []
    for label, medium in enumerate(chosen):
        low = float(np.clip(np.quantile(peaks[:, label], 1 - LOW), medium - 2.5, medium - 1.0))
        above = positive[label][positive[label] > medium]
        high = max(float(np.median(above)), medium + 1.0)
        made.append([round(low, 3), round(float(medium), 3), round(high, 3)])
    return made


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
        found = pickle.loads(options.cache.read_bytes())  # noqa: S301 - our own file
    else:
        found = collect(options.data, options.weights)
        if options.cache:
            options.cache.write_bytes(pickle.dumps(found))
    sure = bars(found["prompts"], lengths(options.data, options.weights))
    read = {name: np.array([judged(item, sure) for item in many]) for name, many in found.items()}
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
    hard = np.array([row["src"] == "arena_hard" for row in read_set(options.data, "dev_benign")])
    every, long = read["prompts"][:, 4], read["prompts"][hard, 4]
    jailbreak = max(_above(every, JAILBREAKS), _above(long, LONG), float(LOWEST[4]))
    whole = [row[None] for row in read["answers"]]
    for index, row in enumerate(streams(options.data)):  # a third of the answers is judged as streamed, too
        start, end = row
        whole[3 * index] = np.concatenate([whole[3 * index], read["streams"][start:end]])
    chosen = {
        "prompt": cuts([row[None] for row in read["prompts"]], PROMPTS, positive, jailbreak),
        "answer": cuts(whole, ANSWERS, positive, jailbreak),
    }
    stored = {
        "cuts": chosen, "heads": heads(options.data, options.weights), "sure": [round(float(x), 3) for x in sure],
        "crowd": CROWD,
    }  # fmt: skip
    (options.weights / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n")
    print(json.dumps(stored["cuts"]), stored["sure"])


if __name__ == "__main__":
    main()
