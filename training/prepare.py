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

from antiphon.evaluators.embedded.cascade import cut
from antiphon.evaluators.embedded.language import LanguageGate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import WordPiece
from training.data import OTHER_LANGUAGES, read_gathered, read_rows, read_set, read_unlabelled
from training.rows import build
from training.rows.harmless import BENIGN

GOAL_SOURCES = ("advbench", "harmbench", "strongreject", "catqa", "forbidden_q")
LONGEST = 480
# How development sets in other languages begin.
FOREIGN = ("dev_mhc", "dev_cold", "dev_toldbr", "dev_benign_zh", "jade", "pt_", "zh_")
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


def own_rows(rows: list[dict[str, Any]], documents: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Training rows and held-out rows; the goals and harmless tasks are split as well."""
    harmful = goals(rows)
    random.Random(5).shuffle(harmful)  # noqa: S311
    cut = len(harmful) // 6
    train = build(False, harmful[cut:], BENIGN[len(BENIGN) // 6 :], documents[len(documents) // 6 :])
    held = build(True, harmful[:cut], BENIGN[: len(BENIGN) // 6], documents[: len(documents) // 6])
    return list(map(dict, train)), list(map(dict, held))


class Encoder:
    def __init__(self, folder: Path) -> None:
        self.tokens = WordPiece.load(folder / "vocabulary.txt")
        self.normalise = Normaliser(self.tokens.ids)
        self.gate = LanguageGate.load(folder / "languages.npz")

    def __call__(self, texts: list[str], longest: int = LONGEST) -> tuple[np.ndarray, np.ndarray]:
        ids = [self.tokens.encode(self.normalise(text))[:longest] or [100] for text in texts]
        bounds = np.cumsum([0] + [len(row) for row in ids]).astype(np.int32)
        return np.concatenate([np.array(row, dtype=np.uint16) for row in ids]), bounds

    def english(self, text: str) -> bool:
        parts = self.gate.split(self.normalise(text))
        return not parts.unread and set(parts.texts) <= {ENGLISH}


def dev_sets(data: Path) -> dict[str, list[dict[str, Any]]]:
    """The development sets in English, by name."""
    found = sorted(data.glob("dev_*.jsonl.gz")) + sorted(data.glob("dev2/*.jsonl.gz"))
    named = {path.name.split(".")[0]: read_set(path.parent, path.name.split(".")[0]) for path in found}
    return {
        name: [row for row in rows if row.get("lang", "en") == "en" and row.get("src") != "xstest_gpt4_unsafe"]
        for name, rows in named.items()
        if not name.startswith(FOREIGN)
    }


def windows(
    encode: Encoder, sets: dict[str, list[dict[str, Any]]], held: list[dict[str, Any]]
) -> dict[str, np.ndarray]:
    """Every window of every text; `t`: the number of its text among all of `names` in their order."""
    ids: list[list[int]] = []
    texts: list[int] = []
    every = {**sets, "own": held}
    for number, row in enumerate(row for rows in every.values() for row in rows):
        part = encode.gate.split(encode.normalise(row["text"])).texts.get(ENGLISH, "")
        pieces = cut(encode.tokens.encode(part)) or [[100]]
        ids += pieces
        texts += [number] * len(pieces)
    bounds = np.cumsum([0] + [len(row) for row in ids]).astype(np.int32)
    flat = np.concatenate([np.array(row, dtype=np.uint16) for row in ids])
    counts = np.array([len(rows) for rows in every.values()], dtype=np.int32)
    return {"f": flat, "o": bounds, "t": np.array(texts, dtype=np.int32), "names": np.array(list(every)), "n": counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "vocabulary", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--gathered", type=Path, help="folder of gathered.jsonl.gz, if not that of the data")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    encode = Encoder(options.vocabulary)
    rows = read_rows(options.data)
    gathered = read_gathered(options.gathered or options.data)
    own, held = own_rows(rows, [row["text"] for row in gathered if row["src"] == "public_documents"])
    foreign = {source for sources in OTHER_LANGUAGES.values() for source in sources}
    rows = [
        row for row in rows if row["src"] not in foreign and (row["src"] != "multijail" or encode.english(row["text"]))
    ]
    rows += own + gathered
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
    np.savez_compressed(options.out / "dev.npz", **windows(encode, dev_sets(options.data), held))
    print(len(rows), "rows, of them own", len(own), "| held out", len(held), "| unlabelled", len(unlabelled))


if __name__ == "__main__":
    main()
