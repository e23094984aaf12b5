"""Teachers on one GPU: copies of MPNet learn the labelled rows; what they think of many windows is what the students
of training/imitate.py learn. Eight minutes on an H200 with three teachers.

    python -m training.teach --data FOLDER_OF_PREPARE --mpnet mpnet.npz --out OUT
    python -m training.teach --data FOLDER_OF_PREPARE --shipped WEIGHTS --fresh own_persona --out OUT

With `--shipped` the shipped encoder is the teacher, and rows whose source begins with `--fresh`, which it has not seen,
say by their labels alone what is learnt: a student keeps what it knows and learns these.
"""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import torch
from torch import Tensor

from training.base import read_encoder, read_packed
from training.corpus import DEVICE, STARTED, WINDOW, Batch, Corpus, Texts, batches, joined, log, masked_loss, stacked
from training.learning import optimiser, predict, report, step
from training.networks import Encoder

BATCH = 256
RATE, HEAD_RATE, DECAY = 4e-5, 1e-3, 0.05
SMOOTH = 0.01  # a label is not quite certain
UNKNOWN = 100  # the id of what the vocabulary does not know
FIRM = 4.5  # the logit that a fresh row's label stands for
SHORT = [12, 16, 24, 32, 48, 64, 96]  # tokens of a piece as a stream shows it


def teach(corpus: Corpus, base: dict[str, Tensor], seed: int, epochs: int, limit: float) -> Encoder:
    torch.manual_seed(seed)
    random.seed(seed)
    model = Encoder(base).to(DEVICE).train()
    lengths = corpus.texts.length[corpus.rows]
    steps, began = epochs * (len(lengths) // BATCH), time.time()
    tools = optimiser(
        model, RATE, HEAD_RATE, steps, lambda s: max(s / steps, (time.time() - began) / limit), decay=DECAY
    )
    for epoch in range(epochs):
        for index in batches(lengths, BATCH):
            if time.time() - began > limit:
                break
            rows = corpus.rows[index]
            ids, mask = stacked(corpus.among_benign(corpus.texts.batch(rows, WINDOW, anywhere=True), BATCH // 4))
            with torch.autocast(DEVICE.type, torch.bfloat16):
                logits = model(ids, mask)
            labels, weight = corpus.labels[rows], corpus.weight[rows]
            step(model, masked_loss(logits.float(), labels, weight, corpus.balance, SMOOTH), tools)
        log("teacher", seed, "epoch", epoch)
    return model.eval()


def shipped(weights: Path) -> Encoder:
    base = read_encoder(weights / "encoder.onnx")
    model = Encoder(base)
    model.head.load_state_dict({name[5:]: base[name] for name in base if name.startswith("head.")})
    return model.to(DEVICE).eval()


class Pool:
    """Windows that the students read, with what the teachers think of them."""

    def __init__(self) -> None:
        self.windows: list[Batch] = []
        self.parts: list[tuple[Batch, ...]] = []  # what the teachers read instead: a window is as bad as its worst part
        self.labels: list[Tensor] = []
        self.weight: list[Tensor] = []
        self.fresh: list[Tensor] = []  # the label says what is learnt, not the teachers

    def add(
        self, window: Batch, parts: tuple[Batch, ...], labels: Tensor, weight: Tensor, fresh: Tensor | None = None
    ) -> None:
        self.windows.append(window)
        self.parts.append(parts)
        self.labels.append(labels)
        self.weight.append(weight)
        self.fresh.append(torch.zeros(len(labels), dtype=torch.bool, device=DEVICE) if fresh is None else fresh)

    def save(self, teachers: list[Encoder], path: Path) -> None:
        whole = Texts.of(self.windows)
        aim = predict(teachers, Texts.of([parts[0] for parts in self.parts]))
        at = torch.cumsum(torch.tensor([0] + [len(mask) for _, mask in self.windows]), 0).tolist()
        several = [n for n, parts in enumerate(self.parts) if len(parts) > 1]
        further = predict(teachers, Texts.of([self.parts[n][1] for n in several]))
        for n, found in zip(several, further.split([at[n + 1] - at[n] for n in several]), strict=True):
            aim[at[n] : at[n + 1]] = torch.maximum(aim[at[n] : at[n + 1]], found)
        labels = torch.cat(self.labels)
        told = torch.cat(self.fresh)[:, None] & (labels >= 0)
        aim = torch.where(told, (2 * labels - 1) * FIRM, aim)
        stored = {"flat": whole.flat.to(torch.int16), "start": whole.start, "length": whole.length, "aim": aim}
        stored |= {"labels": labels, "weight": torch.cat(self.weight)}
        torch.save({name: value.cpu() for name, value in stored.items()}, path)
        log("pool of", len(aim), "windows")


def fill(corpus: Corpus, pool: Pool, fresh: Tensor) -> None:
    """Rows as they are; rows amid harmless text; short pieces of rows, whose label may lie outside; unlabelled texts
    whole, in pieces and amid harmless text."""
    for index in corpus.rows.split(BATCH):
        labels, weight = corpus.labels[index], corpus.weight[index]
        unsure = labels.masked_fill(labels == 1, -1)
        window = corpus.texts.batch(index, WINDOW, anywhere=True)
        pool.add(window, (window,), labels, weight, fresh[index])
        row = corpus.texts.batch(index, random.choice([48, 64, 96, 128]))
        told = torch.where((corpus.texts.length[index] <= row[1].sum(1))[:, None], labels, unsure)
        _surround(corpus, pool, row, told, weight, fresh[index])
        some = index[torch.rand(len(index), device=DEVICE) < 0.4]
        if len(some):
            _amid_noise(corpus, pool, some, fresh[some])
            piece = corpus.texts.batch(some, random.choice(SHORT), anywhere=True)
            known = corpus.labels[some]
            pool.add(piece, (piece,), known.masked_fill(known == 1, -1), corpus.weight[some])
    for index in torch.arange(len(corpus.unlabelled.length), device=DEVICE).split(BATCH):
        unknown = torch.full((len(index), 5), -1.0, device=DEVICE)
        light = torch.full((len(index),), 0.7, device=DEVICE)
        for longest in (WINDOW, random.choice(SHORT)):
            window = corpus.unlabelled.batch(index, longest, anywhere=True)
            pool.add(window, (window,), unknown, light)
        _surround(corpus, pool, corpus.unlabelled.batch(index, 96), unknown, light, None)


def _amid_noise(corpus: Corpus, pool: Pool, rows: Tensor, fresh: Tensor) -> None:
    """Emoji and boxes, which the vocabulary does not know, say nothing: the row is as bad as it is alone."""
    row = corpus.texts.batch(rows, random.choice([32, 64, 96]))
    labels = corpus.labels[rows]
    told = torch.where(
        (corpus.texts.length[rows] <= row[1].sum(1))[:, None], labels, labels.masked_fill(labels == 1, -1)
    )
    length = random.randint(8, 90)
    noise = torch.full((len(rows), length), UNKNOWN, device=DEVICE)
    signs = noise, torch.ones_like(noise, dtype=torch.bool)
    whole = random.choice([joined(signs, row), joined(row, signs), joined(joined(signs, row), signs)])
    pool.add(whole, (row,), told, corpus.weight[rows], fresh)


def _surround(corpus: Corpus, pool: Pool, row: Batch, labels: Tensor, weight: Tensor, fresh: Tensor | None) -> None:
    """Harmless text before, after, or on both sides, up to a whole window."""
    spare = max(16, WINDOW - row[0].shape[1])
    one, two = (corpus.filler(len(labels), random.randint(8, spare)) for _ in range(2))
    dice = random.random()
    whole = joined(one, row) if dice < 0.35 else joined(row, one) if dice < 0.7 else joined(joined(one, row), two)
    pool.add(whole, (row, one), labels, weight, fresh)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mpnet", type=Path)
    parser.add_argument("--shipped", type=Path, help="folder of the shipped weights, instead of teachers")
    parser.add_argument("--fresh", nargs="*", default=[], help="how sources begin that the shipped encoder did not see")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=480, help="seconds until the teachers must be done")
    parser.add_argument("--every", type=int, default=1, help="train on every so many-th row, to try the script out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(options.data, options.every)
    log(len(corpus.rows), "rows", len(corpus.unlabelled.length), "unlabelled; balance", corpus.balance.tolist())
    teachers = [shipped(options.shipped)] if options.shipped else []
    base = {} if options.shipped else read_packed(options.mpnet)
    for number, seed in enumerate([] if options.shipped else options.seeds):
        share = (options.limit - (time.time() - STARTED)) / (len(options.seeds) - number)
        teachers.append(teach(corpus, base, seed, options.epochs, share))
        report(f"mpnet{seed}", [teachers[-1]], corpus, options.data / "dev.npz", options.out)
    report("teachers", teachers, corpus, options.data / "dev.npz", options.out)
    pool = Pool()
    with torch.no_grad():
        fill(corpus, pool, corpus.is_of(tuple(options.fresh)))
        pool.save(teachers, options.out / "pool.pt")
    log("done")


if __name__ == "__main__":
    main()
