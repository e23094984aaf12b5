"""Steps that teachers and students share: the optimiser, one step, predictions, average precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.corpus import DEVICE, WINDOW, Corpus, Texts, log

Tools = tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]


def optimiser(
    model: nn.Module, body: float, head: float, steps: int, at: Callable[[int], float], decay: float = 0.01
) -> Tools:
    """The rate rises over the first steps and falls to almost nothing; `at` says how far a step is, from 0 to 1."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for name, p in named if not name.startswith("head")], "lr": body},
        {"params": [p for name, p in named if name.startswith("head")], "lr": head},
    ]
    chosen = torch.optim.AdamW(groups, weight_decay=decay, fused=DEVICE.type == "cuda")
    warm = 0.06 * steps + 1
    return chosen, torch.optim.lr_scheduler.LambdaLR(chosen, lambda s: min(1, (s + 1) / warm) * max(0.02, 1 - at(s)))


def step(model: nn.Module, loss: Tensor, tools: Tools) -> None:
    tools[0].zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    tools[0].step()
    tools[1].step()


@torch.no_grad()
def predict(models: Sequence[nn.Module], texts: Texts, size: int = 512) -> Tensor:
    """Mean logits of windows."""
    found = torch.zeros((len(texts.length), 5), device=DEVICE)
    for index in torch.argsort(texts.length).split(size):
        ids, mask = texts.batch(index, WINDOW)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            found[index] = torch.stack([model(ids, mask).float() for model in models]).mean(0)
    return found


def average_precision(labels: np.ndarray, scores: np.ndarray) -> float:
    hits = labels[np.argsort(-scores)]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1) * hits).sum() / max(1, hits.sum()))


def report(name: str, models: Sequence[nn.Module], corpus: Corpus, dev: Path, out: Path) -> None:
    """Average precision of rows that were held back; logits of all windows of the development sets go to a file."""
    scores = predict(models, corpus.texts.some(corpus.held)).cpu().numpy()
    labels = corpus.labels[corpus.held].cpu().numpy()
    known = [labels[:, i] >= 0 for i in range(5)]
    log(name, "AP of held rows", [round(average_precision(labels[k, i], scores[k, i]), 4) for i, k in enumerate(known)])
    stored = np.load(dev)
    logits = predict(models, Texts.stored(stored["f"], stored["o"])).cpu().numpy()
    np.save(out / f"dev-{name}.npy", logits.astype(np.float16))
