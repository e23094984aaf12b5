"""All rows as token ids, for the machine that trains: `train.npz`, `unlabelled.npz`, `dev.npz`.

python -m training.prepare --data SAFETY_DATA --vocabulary src/antiphon/evaluators/weights --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np

from antiphon.evaluators.embedded.language import Gate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import WordPiece
from training.data import OTHER_LANGUAGES, read_rows, read_set, read_unlabelled
from training.rows import build
from training.rows.harmless import BENIGN

GOAL_SOURCES = ("advbench", "harmbench", "strongreject", "catqa", "forbidden_q")
LONGEST = 480
HELD_OUT = Path(__file__).parent / "heldout"
_LEAD = re.compile(
    r"^(?:give|provide|write|create|develop|generate|explain|teach me|tell me|show me|describe|list|outline)\b"
    r"[^.]{0,60}?"
    r"\b(?:how to|instructions (?:for|on|to)|ways to|steps to|guide (?:on|for|to)|"
    r"how (?:can|do|could) (?:i|one|someone))\s+",
    re.I,
)
_QUESTION = re.compile(
    r"^(?:how (?:can|do|could|should|would) (?:i|one|you|someone|we)|what is the best way to|how to)\s+", re.I
)


def goals(rows: list[dict[str, Any]]) -> list[str]:
    """Harmful requests as imperatives: "How can I forge a cheque?" becomes "forge a cheque"."""
    found = []
    for row in rows:
        if row["src"] in GOAL_SOURCES and len(row["text"]) < 220:
            text = row["text"].strip().split("\n")[0]
            found.append(_QUESTION.sub("", _LEAD.sub("", text)).rstrip("?. "))
    return sorted({goal for goal in found if len(goal) > 12})


def own_rows(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Training rows and held-out rows; the goals and harmless tasks are split as well."""
    harmful = goals(rows)
    random.Random(5).shuffle(harmful)  # noqa: S311
    cut = len(harmful) // 6
    train = build(False, harmful[cut:], BENIGN[len(BENIGN) // 6 :])
    held = build(True, harmful[:cut], BENIGN[: len(BENIGN) // 6])
    return list(map(dict, train)), list(map(dict, held))


class Encoder:
    def __init__(self, folder: Path) -> None:
        self.tokens = WordPiece.load(folder / "vocabulary.txt")
        self.normalise = Normaliser(self.tokens.ids)
        self.gate = Gate.load(folder / "languages.npz")

    def __call__(self, texts: list[str], longest: int = LONGEST) -> tuple[np.ndarray, np.ndarray]:
        ids = [self.tokens.encode(self.normalise(text))[:longest] or [100] for text in texts]
        bounds = np.cumsum([0] + [len(row) for row in ids]).astype(np.int32)
        return np.concatenate([np.array(row, dtype=np.uint16) for row in ids]), bounds

    def english(self, text: str) -> bool:
        parts = self.gate.split(self.normalise(text))
        return not parts.unread and set(parts.texts) <= {ENGLISH}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "vocabulary", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    encode = Encoder(options.vocabulary)
    rows = read_rows(options.data)
    own, held = own_rows(rows)
    foreign = {source for sources in OTHER_LANGUAGES.values() for source in sources}
    rows = [
        row for row in rows if row["src"] not in foreign and (row["src"] != "multijail" or encode.english(row["text"]))
    ]
    rows += own
    HELD_OUT.mkdir(exist_ok=True)
    with (HELD_OUT / "own.jsonl").open("w", encoding="utf-8") as file:
        for row in held:
            file.write(json.dumps({"text": row["text"], "src": row["src"], "y": row["y"]}, ensure_ascii=False) + "\n")
    sources = sorted({row["src"] for row in rows})
    flat, bounds = encode([row["text"] for row in rows])
    labels = np.array([row["y"] for row in rows], dtype=np.int8)
    index = np.array([sources.index(row["src"]) for row in rows], dtype=np.uint8)
    np.savez_compressed(options.out / "train.npz", f=flat, o=bounds, y=labels, s=index, src=np.array(sources))
    unlabelled = [text for text in read_unlabelled(options.data) if encode.english(text)]
    flat, bounds = encode(unlabelled, 256)
    np.savez_compressed(options.out / "unlabelled.npz", f=flat, o=bounds)
    dev: dict[str, np.ndarray] = {}
    for name in ("dev_benign", "dev_benign_resp", "dev_hatecheck", "dev_sst"):
        dev[name + "_f"], dev[name + "_o"] = encode([row["text"] for row in read_set(options.data, name)], 1200)
    dev["held_f"], dev["held_o"] = encode([row["text"] for row in held], 1200)
    np.savez_compressed(options.out / "dev.npz", **dev)
    print(len(rows), "rows, of them own", len(own), "| held out", len(held), "| unlabelled", len(unlabelled))


if __name__ == "__main__":
    main()
