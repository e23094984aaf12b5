"""Training on one GPU: teachers on the labelled rows, then the encoder and the small network together, which imitate
the teachers on windows of labelled and unlabelled text (about ten minutes on an H200).

    python -m training.train --data FOLDER_OF_PREPARE --minilm minilm.safetensors --mpnet mpnet-*.safetensors --out OUT
"""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from training.networks import Convolutions, Encoder

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")  # the CPU for trying the script out
WINDOW = 190
BATCH = 256
STUDENT_BATCH = 512
PART = 15 << 20  # bytes of one file of weights
STARTED = time.time()


def log(*words: object) -> None:
    print(f"[{time.time() - STARTED:.0f} s]", *words, flush=True)


class Texts:
    """Token ids of many texts in one tensor."""

    def __init__(self, flat: np.ndarray, bounds: np.ndarray) -> None:
        self.flat = torch.tensor(flat.astype(np.int32), device=DEVICE)
        self.start = torch.tensor(bounds[:-1].astype(np.int64), device=DEVICE)
        self.length = torch.tensor(np.diff(bounds).astype(np.int64), device=DEVICE)

    def batch(
        self, index: Tensor, longest: int | Tensor, anywhere: bool = False, offset: Tensor | int = 0
    ) -> tuple[Tensor, Tensor]:
        start, length = self.start[index] + offset, self.length[index] - offset
        if anywhere:  # half of the windows begin at the beginning
            spare = (length - longest).clamp(min=0)
            moved = (torch.rand(len(index), device=DEVICE) * (spare + 1)).long()
            start = start + torch.where(torch.rand(len(index), device=DEVICE) < 0.5, 0, moved)
        length = torch.minimum(length, torch.as_tensor(longest, device=DEVICE))
        place = torch.arange(int(length.max()), device=DEVICE)[None]
        mask = place < length[:, None]
        ids = self.flat[(start[:, None] + place).clamp(max=len(self.flat) - 1)].long()
        return torch.where(mask, ids, 0), mask


def joined(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Row-wise first + second, cut to a window."""
    (a, am), (b, bm) = first, second
    n, m = am.sum(1), bm.sum(1)
    place = torch.arange(min(WINDOW, int((n + m).max())), device=DEVICE)[None].expand(len(n), -1)
    left = a.gather(1, place.clamp(max=a.shape[1] - 1))
    right = b.gather(1, (place - n[:, None]).clamp(0, b.shape[1] - 1))
    mask = place < (n + m)[:, None]
    return torch.where(mask, torch.where(place < n[:, None], left, right), 0), mask


def stacked(parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    width = max(ids.shape[1] for ids, _ in parts)
    return (
        torch.cat([F.pad(ids, (0, width - ids.shape[1])) for ids, _ in parts]),
        torch.cat([F.pad(mask, (0, width - mask.shape[1])) for _, mask in parts]),
    )


class Corpus:
    def __init__(self, folder: Path, every: int = 1) -> None:
        stored = np.load(folder / "train.npz")
        self.texts = Texts(stored["f"], stored["o"])
        self.labels = torch.tensor(stored["y"].astype(np.float32), device=DEVICE)
        source = torch.tensor(stored["s"].astype(np.int64), device=DEVICE)
        ours = torch.tensor([0.8 if str(name).startswith("own_") else 1.0 for name in stored["src"]], device=DEVICE)
        self.weight = ((1500 / torch.bincount(source).float()).clamp(max=1).sqrt() * ours)[source]
        order = np.random.RandomState(0).permutation(len(self.labels))
        self.held = torch.tensor(order[:3000:every], device=DEVICE)
        self.rows = torch.tensor(order[3000::every], device=DEVICE)
        self.benign = torch.nonzero((self.labels == 0).all(1)).flatten()
        positive, negative = (self.labels == 1).sum(0), (self.labels == 0).sum(0)
        self.balance = (negative / positive).sqrt().clamp(max=6)
        stored = np.load(folder / "unlabelled.npz")
        self.unlabelled = Texts(stored["f"], stored["o"])
        self.unlabelled.start, self.unlabelled.length = self.unlabelled.start[::every], self.unlabelled.length[::every]

    def loss(self, logits: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
        known = (labels >= 0).float() * weight[:, None]
        each = F.binary_cross_entropy_with_logits(
            logits, labels.clamp(min=0), reduction="none", pos_weight=self.balance
        )
        return (each * known).sum() / known.sum().clamp(min=1)

    def batches(self, lengths: Tensor, size: int = BATCH) -> list[Tensor]:
        """Texts of about one length together."""
        order = torch.randperm(len(lengths), device=DEVICE)
        made: list[Tensor] = []
        for at in range(0, len(order), size * 40):
            chunk = order[at : at + size * 40]
            chunk = chunk[torch.argsort(lengths[chunk].clamp(max=WINDOW))]
            made += [chunk[i : i + size] for i in range(0, len(chunk) - size + 1, size)]
        random.shuffle(made)
        return made

    def among_benign(self, batch: tuple[Tensor, Tensor], count: int) -> list[tuple[Tensor, Tensor]]:
        """The first rows with harmless text before or after them."""
        pick = self.benign[torch.randint(len(self.benign), (count,), device=DEVICE)]
        filler = self.texts.batch(pick, random.choice([16, 32, 64, 96]), anywhere=True)
        head = (batch[0][:count], batch[1][:count])
        mixed = joined(filler, head) if random.random() < 0.5 else joined(head, filler)
        return [mixed, (batch[0][count:], batch[1][count:])]


def optimiser(
    model: nn.Module, body: float, head: float, steps: int, progress: Callable[[int], float] | None = None
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for name, p in named if not name.startswith("head")], "lr": body},
        {"params": [p for name, p in named if name.startswith("head")], "lr": head},
    ]
    chosen = torch.optim.AdamW(groups, weight_decay=0.01, fused=DEVICE.type == "cuda")
    warm, at = 0.06 * steps + 1, progress or (lambda s: s / steps)
    return chosen, torch.optim.lr_scheduler.LambdaLR(chosen, lambda s: min(1, (s + 1) / warm) * max(0.02, 1 - at(s)))


def step(
    model: nn.Module, loss: Tensor, tools: tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]
) -> None:
    tools[0].zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    tools[0].step()
    tools[1].step()


def teach(corpus: Corpus, base: dict[str, Tensor], seed: int, epochs: int, rate: float) -> Encoder:
    torch.manual_seed(seed)
    random.seed(seed)
    model = Encoder(base).to(DEVICE).train()
    lengths = corpus.texts.length[corpus.rows]
    tools = optimiser(model, rate, 1e-3, epochs * (len(lengths) // BATCH))
    for epoch in range(epochs):
        for index in corpus.batches(lengths):
            rows = corpus.rows[index]
            batch = corpus.texts.batch(rows, WINDOW, anywhere=True)
            ids, mask = stacked(corpus.among_benign(batch, BATCH // 5))
            with torch.autocast(DEVICE.type, torch.bfloat16):
                logits = model(ids, mask)
            step(model, corpus.loss(logits.float(), corpus.labels[rows], corpus.weight[rows]), tools)
        log("teacher", seed, "epoch", epoch)
    return model.eval()


class Pool(NamedTuple):
    """Windows that the students read, with what the teachers think of them."""

    texts: Texts
    labels: Tensor
    weight: Tensor
    aim: Tensor


def pool(corpus: Corpus, teachers: list[Encoder]) -> Pool:
    """Rows as they are, rows amid harmless text, short windows of rows (their label may lie outside), unlabelled
    texts whole and in pieces. Made once: the teachers are four times as dear as the students."""
    parts: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    for index in corpus.rows.split(BATCH):
        labels, weight = corpus.labels[index], corpus.weight[index]
        unsure = labels.masked_fill(labels == 1, -1)
        parts.append((*corpus.texts.batch(index, WINDOW, anywhere=True), labels, weight))
        batch = corpus.texts.batch(index, random.choice([64, 96, 128]))
        ids, mask = corpus.among_benign(batch, len(index))[0]
        parts.append((ids, mask, unsure, weight))
        part = index[torch.rand(len(index), device=DEVICE) < 0.4]
        if len(part):
            short = random.choice([16, 24, 32, 48, 64, 96])
            free = corpus.labels[part].masked_fill(corpus.labels[part] == 1, -1)
            parts.append((*corpus.texts.batch(part, short, anywhere=True), free, corpus.weight[part]))
    for index in torch.arange(len(corpus.unlabelled.length), device=DEVICE).split(BATCH):
        unknown = torch.full((len(index), 5), -1.0, device=DEVICE)
        light = torch.full((len(index),), 0.7, device=DEVICE)
        parts.append((*corpus.unlabelled.batch(index, WINDOW), unknown, light))
        parts.append((*corpus.unlabelled.batch(index, random.choice([16, 32, 64]), anywhere=True), unknown, light))
    texts = Texts.__new__(Texts)
    texts.length = torch.cat([mask.sum(1) for _, mask, _, _ in parts])
    texts.flat = torch.cat([ids[mask].int() for ids, mask, _, _ in parts])
    texts.start = torch.cumsum(texts.length, 0) - texts.length
    aim = torch.tensor(predict(list(teachers), texts), device=DEVICE).sigmoid()
    return Pool(texts, torch.cat([p[2] for p in parts]), torch.cat([p[3] for p in parts]), aim)


def imitate(
    corpus: Corpus, read: Pool, base: dict[str, Tensor], epochs: int, seed: int, limit: float
) -> tuple[Encoder, Convolutions]:
    """Both students see the same windows. The rate falls with time where time is short, so that it always ends low."""
    torch.manual_seed(seed)
    random.seed(seed)
    encoder, small = Encoder(base).to(DEVICE).train(), Convolutions(base).to(DEVICE).train()
    steps, done, began = epochs * (len(read.labels) // STUDENT_BATCH), 0, time.time()
    progress = lambda s: max(s / steps, (time.time() - began) / max(1.0, limit - (began - STARTED)))  # noqa: E731
    tools, small_tools = (
        optimiser(encoder, 1.6e-4, 1.2e-3, steps, progress),
        optimiser(small, 1.3e-3, 1.3e-3, steps, progress),
    )
    while True:
        for index in corpus.batches(read.texts.length, STUDENT_BATCH):
            if progress(done) >= 1:
                log("students read", done, "of", steps, "batches")
                return encoder.eval(), small.eval()
            done += 1
            ids, mask = read.texts.batch(index, WINDOW)
            labels, weight, aim = read.labels[index], read.weight[index], read.aim[index]
            with torch.autocast(DEVICE.type, torch.bfloat16):
                logits, guess = encoder(ids, mask).float(), small(ids, mask).float()
            step(encoder, _loss(corpus, logits, aim, labels, weight, 0.75), tools)
            step(small, _loss(corpus, guess, aim, labels, weight, 0.8), small_tools)
        log("students,", done, "batches")


def _loss(corpus: Corpus, logits: Tensor, aim: Tensor, labels: Tensor, weight: Tensor, trust: float) -> Tensor:
    soft = (F.binary_cross_entropy_with_logits(logits, aim, reduction="none") * weight[:, None]).mean()
    return (1 - trust) * corpus.loss(logits, labels, weight) + trust * 2 * soft


@torch.no_grad()
def predict(models: list[nn.Module], texts: Texts) -> np.ndarray:
    """The largest logit of windows that overlap by 32 tokens."""
    found = torch.full((len(texts.length), 5), -99.0, device=DEVICE)
    offset = 0
    while True:
        left = torch.nonzero(texts.length > offset + (32 if offset else 0)).flatten()
        if not len(left):
            return found.cpu().numpy()
        left = left[torch.argsort(texts.length[left])]
        for index in left.split(512):
            ids, mask = texts.batch(index, WINDOW, offset=offset)
            with torch.autocast(DEVICE.type, torch.bfloat16):
                logits = torch.stack([model(ids, mask).float() for model in models]).mean(0)
            found[index] = torch.maximum(found[index], logits)
        offset += WINDOW - 32


def average_precision(labels: np.ndarray, scores: np.ndarray) -> float:
    hits = labels[np.argsort(-scores)]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1) * hits).sum() / max(1, hits.sum()))


def report(name: str, models: list[nn.Module], corpus: Corpus, dev: Texts, out: dict[str, np.ndarray]) -> None:
    """Average precision of rows that were held back; the logits of all windows of the development sets go to `out`."""
    held = Texts.__new__(Texts)
    held.flat, held.start, held.length = (
        corpus.texts.flat,
        corpus.texts.start[corpus.held],
        corpus.texts.length[corpus.held],
    )
    scores, labels = predict(models, held), corpus.labels[corpus.held].cpu().numpy()
    known = [labels[:, i] >= 0 for i in range(5)]
    log(name, "AP of held rows", [round(average_precision(labels[k, i], scores[k, i]), 4) for i, k in enumerate(known)])
    out[name] = predict(models, dev).astype(np.float16)


def save(model: nn.Module, prefix: Path, left_out: tuple[str, ...] = ()) -> None:
    part, size, number = {}, 0, 0
    for name, value in model.state_dict().items():
        if name in left_out:
            continue
        value = value.detach().half().cpu().contiguous()
        if size + value.numel() * 2 > PART:
            save_file(part, f"{prefix}_{number}.safetensors")
            part, size, number = {}, 0, number + 1
        part[name] = value
        size += value.numel() * 2
    save_file(part, f"{prefix}_{number}.safetensors")


def read_base(paths: list[Path]) -> dict[str, Tensor]:
    """Tensors of one base model; int8 rows with a `:scale` beside them are widened."""
    stored: dict[str, Tensor] = {}
    for path in paths:
        stored.update(load_file(path))
    scales = {name for name in stored if name.endswith(":scale")}
    return {
        name: value.float() * stored[name + ":scale"] if name + ":scale" in scales else value.float()
        for name, value in stored.items()
        if name not in scales
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--mpnet", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teachers", type=json.loads, default=[2, 0], help="how many of MPNet, of MiniLM")
    parser.add_argument("--epochs", type=json.loads, default=[3, 3, 8], help="MPNet, MiniLM, students")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds after which the students must be done")
    parser.add_argument("--every", type=int, default=1, help="train on every so many-th row, to try the script out")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(options.data, options.every)
    stored = np.load(options.data / "dev.npz")
    dev = Texts(stored["f"], stored["o"])
    log(len(corpus.rows), "rows", len(corpus.unlabelled.length), "unlabelled; balance", corpus.balance.tolist())
    minilm = read_base([options.minilm])
    large = read_base(options.mpnet) if options.mpnet else {}
    found: dict[str, np.ndarray] = {}
    teachers: list[Encoder] = []
    for seed in range(options.teachers[0] if large else 0):
        teachers.append(teach(corpus, large, seed, options.epochs[0], 4e-5))
        report(f"mpnet{seed}", [teachers[-1]], corpus, dev, found)
    for seed in range(options.teachers[1]):
        teachers.append(teach(corpus, minilm, 10 + seed, options.epochs[1], 6e-5))
        report(f"minilm{seed}", [teachers[-1]], corpus, dev, found)
    report("teachers", list(teachers), corpus, dev, found)
    np.savez_compressed(options.out / "logits.npz", **found)
    read = pool(corpus, teachers)
    log("pool of", len(read.labels), "windows")
    del teachers
    encoder, small = imitate(corpus, read, minilm, options.epochs[2], 20, options.limit)
    report("encoder", [encoder], corpus, dev, found)
    report("cnn", [small], corpus, dev, found)
    save(encoder, options.out / "L6", ("we.weight",))
    save(small, options.out / "CNN")
    np.savez_compressed(options.out / "logits.npz", **found)
    log("done")


if __name__ == "__main__":
    main()
