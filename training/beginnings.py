"""Beginnings of harmful sentences, for the early look: each token of a text, and whether its sentence ends in harm.

The shipped classifier is the teacher. A text is read sentence by sentence as a stream shows it; the first sentence with
whose end the text is of medium severity or worse is the harmful one, and what follows it does not count. So "I will
kill" is labelled by how its sentence goes on. Rows that their source calls harmless need no teacher: reading is dear.

    python -m training.beginnings --data SAFETY_DATA --weights src/antiphon/evaluators/weights --out FOLDER
"""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import argparse
import multiprocessing
import random
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from antiphon.evaluators.embedded import Classifier
from antiphon.evaluators.embedded.language import LanguageGate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import WordPiece
from antiphon.safety.verdict import Severity, Stage
from training.data import OTHER_LANGUAGES, read_rows, read_unlabelled
from training.prepare import own_rows
from training.rows import beginnings

LONGEST = 800  # characters of a text that are read
BEFORE = 600  # characters before the end of a sentence that the teacher is shown
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?…][\"')\]]*\s+|\n+|$)")
_WORD = re.compile(r"\w{3,}")


class Labelled(NamedTuple):
    ids: list[int]
    labels: list[int]  # for each token: bits of the categories that its sentence ends in; 0: none
    counts: int  # from which token on the labels count


class Labeller:
    def __init__(self, weights: Path) -> None:
        self._classifier = Classifier.load(weights)
        self._tokens = WordPiece.load(weights / "vocabulary.txt")
        self._normalise = Normaliser(self._tokens.ids)
        self._gate = LanguageGate.load(weights / "languages.npz")

    def __call__(self, text: str, harmless: bool) -> list[Labelled]:
        text = text.strip()[:LONGEST]
        parts = self._gate.split(self._normalise(text))
        if parts.unread or set(parts.texts) != {ENGLISH}:
            return []
        ids: list[int] = []
        labels: list[int] = []
        start = end = found = 0
        for sentence in sentences(text):
            start, end = end, end + len(sentence)
            found = 0 if harmless else self._judge(text[max(0, end - BEFORE) : end])
            new = self._encode(sentence)
            ids += new
            labels += [found] * len(new)
            if found:
                break
        if not ids:
            return []
        return [Labelled(ids, labels, 0), *self._cut(text, start if found else 0, end, found)]

    def _judge(self, text: str) -> int:
        [verdict] = self._classifier.judge([text], Stage.ANSWER)
        severities = verdict.severities or ()
        return sum(1 << label for label, severity in enumerate(severities) if severity >= Severity.MEDIUM)

    def _encode(self, text: str) -> list[int]:
        return self._tokens.encode(self._normalise(text))

    def _cut(self, text: str, start: int, end: int, found: int) -> list[Labelled]:
        """The text up to the middle of a word: a stream's pieces may end there."""
        words = list(_WORD.finditer(text, start, end))
        if not words:
            return []
        word = random.choice(words)
        ids = self._encode(text[: random.randint(word.start() + 1, word.end())])
        return [Labelled(ids, [found] * len(ids), len(ids) - 1)] if ids else []


def sentences(text: str) -> list[str]:
    return [match[0] for match in _SENTENCE.finditer(text) if match[0]]


def texts(data: Path, most: int) -> list[tuple[str, bool]]:
    """Texts, and whether they are known to be harmless. `most`: of those that are not; two thirds called harmful."""
    rows = read_rows(data)
    own, _ = own_rows(rows)
    foreign = {source for sources in OTHER_LANGUAGES.values() for source in sources}
    rows = [row for row in [*rows, *own] if row["src"] not in foreign]
    harmless = {row["text"] for row in rows if not any(row["y"][:4])}
    harmful = {row["text"] for row in rows if 1 in row["y"][:4]} - harmless
    unknown = {row["text"] for row in rows} | set(read_unlabelled(data))
    chance = random.Random(1)
    read = _some(harmful, 2 * most // 3, chance) + _some(unknown - harmful - harmless, most // 3, chance)
    return [(text, False) for text in [*read, *beginnings.texts()]] + [(text, True) for text in sorted(harmless)]


def _some(texts: set[str], most: int, chance: random.Random) -> list[str]:
    return chance.sample(sorted(texts), min(most, len(texts)))


_labeller: list[Labeller] = []  # of this process


def _open(weights: Path) -> None:
    random.seed(1)
    _labeller.append(Labeller(weights))


def _label(row: tuple[str, bool]) -> list[Labelled]:
    return _labeller[0](*row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "weights", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--most", type=int, default=24_000, help="texts that the teacher reads")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool(options.processes, _open, (options.weights,)) as pool:
        labelled = [each for found in pool.imap(_label, texts(options.data, options.most), 64) for each in found]
    bounds = np.cumsum([0] + [len(each.ids) for each in labelled])
    np.savez_compressed(
        options.out / "beginnings.npz",
        ids=np.concatenate([np.array(each.ids, dtype=np.uint16) for each in labelled]),
        labels=np.concatenate([np.array(each.labels, dtype=np.uint8) for each in labelled]),
        bounds=bounds.astype(np.int64),
        counts=np.array([each.counts for each in labelled], dtype=np.int64),
    )
    harmful = sum(each.labels[-1] > 0 for each in labelled)
    print(len(labelled), "texts,", harmful, "of them end in harm,", bounds[-1], "tokens")


if __name__ == "__main__":
    main()
