"""What is learnt from, as tensors on the training machine: labelled rows, unlabelled texts, and windows of both."""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")  # the CPU for trying the scripts out
WINDOW = 190
STARTED = time.time()
# Public harmless prose has many rows of one kind; our own rows share templates. Both count less.
LIGHTER = {"own_": 0.8, "public_": 0.9}
Batch = tuple[Tensor, Tensor]  # ids, and where there is a token


def log(*words: object) -> None:
    print(f"[{time.time() - STARTED:.0f} s]", *words, flush=True)


class Texts:
    """Token ids of many texts in one tensor."""

    def __init__(self, flat: Tensor, start: Tensor, length: Tensor) -> None:
        self.flat, self.start, self.length = flat, start, length

    @classmethod
    def stored(cls, flat: np.ndarray, bounds: np.ndarray) -> Texts:
        start = torch.tensor(bounds[:-1].astype(np.int64), device=DEVICE)
        length = torch.tensor(np.diff(bounds).astype(np.int64), device=DEVICE)
        return cls(torch.tensor(flat.astype(np.int32), device=DEVICE), start, length)

    @classmethod
    def of(cls, batches: list[Batch]) -> Texts:
        length = torch.cat([mask.sum(1) for _, mask in batches])
        return cls(torch.cat([ids[mask].int() for ids, mask in batches]), torch.cumsum(length, 0) - length, length)

    def some(self, index: Tensor) -> Texts:
        return Texts(self.flat, self.start[index], self.length[index])

    def batch(self, index: Tensor, longest: int | Tensor, anywhere: bool = False, offset: int = 0) -> Batch:
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


def joined(first: Batch, second: Batch) -> Batch:
    """Row-wise first + second, cut to a window."""
    (a, am), (b, bm) = first, second
    n, m = am.sum(1), bm.sum(1)
    place = torch.arange(min(WINDOW, int((n + m).max())), device=DEVICE)[None].expand(len(n), -1)
    left = a.gather(1, place.clamp(max=a.shape[1] - 1))
    right = b.gather(1, (place - n[:, None]).clamp(0, b.shape[1] - 1))
    mask = place < (n + m)[:, None]
    return torch.where(mask, torch.where(place < n[:, None], left, right), 0), mask


def stacked(parts: list[Batch]) -> Batch:
    width = max(ids.shape[1] for ids, _ in parts)
    return (
        torch.cat([F.pad(ids, (0, width - ids.shape[1])) for ids, _ in parts]),
        torch.cat([F.pad(mask, (0, width - mask.shape[1])) for _, mask in parts]),
    )


class Corpus:
    def __init__(self, folder: Path, every: int = 1) -> None:
        stored = np.load(folder / "train.npz")
        self.texts = Texts.stored(stored["f"], stored["o"])
        self.labels = torch.tensor(stored["y"].astype(np.float32), device=DEVICE)
        source = torch.tensor(stored["s"].astype(np.int64), device=DEVICE)
        self.source = source
        self.names = [str(name) for name in stored["src"]]
        kinds = [next((w for k, w in LIGHTER.items() if str(name).startswith(k)), 1.0) for name in stored["src"]]
        rare = (1500 / torch.bincount(source, minlength=len(kinds)).float()).clamp(max=1).sqrt()
        self.weight = (rare * torch.tensor(kinds, device=DEVICE))[source]
        order = np.random.RandomState(0).permutation(len(self.labels))
        self.held = torch.tensor(order[:3000:every], device=DEVICE)
        self.rows = torch.tensor(order[3000::every], device=DEVICE)
        self.benign = torch.nonzero((self.labels == 0).all(1)).flatten()
        positive, negative = (self.labels == 1).sum(0), (self.labels == 0).sum(0)
        self.balance = (negative / positive).sqrt().clamp(max=6)
        stored = np.load(folder / "unlabelled.npz")
        unlabelled = Texts.stored(stored["f"], stored["o"])
        self.unlabelled = unlabelled.some(torch.arange(0, len(unlabelled.length), every, device=DEVICE))

    def is_of(self, prefixes: tuple[str, ...]) -> Tensor:
        """For each row whether its source begins with one of these."""
        return torch.tensor([name.startswith(prefixes) for name in self.names], device=DEVICE)[self.source]

    def filler(self, count: int, longest: int) -> Batch:
        pick = self.benign[torch.randint(len(self.benign), (count,), device=DEVICE)]
        return self.texts.batch(pick, longest, anywhere=True)

    def among_benign(self, batch: Batch, count: int) -> list[Batch]:
        """The first rows with harmless text before or after them."""
        filler = self.filler(count, random.choice([16, 32, 64, 96]))
        head = (batch[0][:count], batch[1][:count])
        mixed = joined(filler, head) if random.random() < 0.5 else joined(head, filler)
        return [mixed, (batch[0][count:], batch[1][count:])]


def masked_loss(logits: Tensor, labels: Tensor, weight: Tensor, balance: Tensor, smooth: float = 0.0) -> Tensor:
    """Unknown labels count nothing."""
    known = (labels >= 0).float() * weight[:, None]
    aim = labels.clamp(min=0) * (1 - 2 * smooth) + smooth
    each = F.binary_cross_entropy_with_logits(logits, aim, reduction="none", pos_weight=balance)
    return (each * known).sum() / known.sum().clamp(min=1)


def batches(lengths: Tensor, size: int) -> list[Tensor]:
    """Texts of about one length together."""
    order = torch.randperm(len(lengths), device=DEVICE)
    made: list[Tensor] = []
    for at in range(0, len(order), size * 40):
        chunk = order[at : at + size * 40]
        chunk = chunk[torch.argsort(lengths[chunk].clamp(max=WINDOW))]
        made += [chunk[i : i + size] for i in range(0, len(chunk) - size + 1, size)]
    random.shuffle(made)
    return made
