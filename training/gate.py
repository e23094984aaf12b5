"""The small network on one GPU, made for its work: to say which windows the encoder would find something in. It
imitates the encoder that stands behind it, on windows of every kind, most finely where the encoder's findings begin.

    python -m training.gate --data FOLDER_OF_PREPARE --weights WEIGHTS --encoder OUT/L6 --out OUT --limit 270

FOLDER_OF_PREPARE also holds `bulk.npz` of training/bulk.py. WEIGHTS: the shipped encoder and its calibration.
`--encoder`: tensors of a newer one.
"""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from training.base import read_encoder
from training.corpus import DEVICE, WINDOW, Batch, Corpus, Texts, batches, joined, log
from training.imitate import save
from training.learning import optimiser, predict, report, step
from training.networks import Convolutions, Encoder
from training.teach import SHORT, shipped

BATCH = 1024
RATE = 1.5e-3
ROUNDS = 3  # times that each text is cut into windows, at other places and amid other text
NEAR = 0.1  # weight of the distance in logits
DEEP, TALL = -6.0, 5.0  # logits beyond which the encoder's opinion makes no difference


def starts(weights: Path) -> Tensor:
    """Logits of the encoder where findings begin: low of each category; of jailbreaks shortly before medium."""
    cuts = json.loads((weights / "calibration.json").read_text())["cuts"]["prompt"]
    low = [row[0] for row in cuts[:-1]] + [cuts[-1][1] - 1.0]
    return torch.tensor(low, device=DEVICE)


def behind(weights: Path, newer: Path | None) -> Encoder:
    """The encoder that reads what the small network doubts."""
    model = shipped(weights)
    for part in (0, 1) if newer else ():
        tensors = {name: value.float() for name, value in load_file(f"{newer}_{part}.safetensors").items()}
        model.load_state_dict(tensors, strict=False)
    return model


def windows(corpus: Corpus, bulk: Texts) -> list[Batch]:
    """Rows whole, in pieces, amid harmless text and amid code; unlabelled texts; code."""
    made: list[Batch] = []
    for _ in range(ROUNDS):
        for texts, chosen in (
            (corpus.texts, corpus.rows),
            (corpus.unlabelled, torch.arange(len(corpus.unlabelled.length), device=DEVICE)),
            (bulk, torch.arange(len(bulk.length), device=DEVICE)),
        ):
            for index in chosen[torch.randperm(len(chosen), device=DEVICE)].split(512):
                made.append(texts.batch(index, WINDOW, anywhere=True))
                made.append(texts.batch(index[::2], random.choice(SHORT), anywhere=True))
                piece = texts.batch(index, random.choice([32, 48, 64, 96, 128]), anywhere=True)
                made.append(amid(corpus, bulk, piece))
    return made


def amid(corpus: Corpus, bulk: Texts, piece: Batch) -> Batch:
    count = len(piece[0])
    spare = random.randint(8, max(16, WINDOW - piece[0].shape[1]))
    if random.random() < 0.15:
        other = bulk.batch(torch.randint(len(bulk.length), (count,), device=DEVICE), spare, anywhere=True)
    else:
        other = corpus.filler(count, spare)
    return joined(other, piece) if random.random() < 0.5 else joined(piece, other)


def learn(model: Convolutions, texts: Texts, aim: Tensor, limit: float) -> None:
    model.train()
    began, done = time.time(), 0
    at = lambda _: (time.time() - began) / limit  # noqa: E731
    tools = optimiser(model, RATE, RATE, 20 * len(aim) // BATCH, at)
    while at(0) < 1:
        for index in batches(texts.length, BATCH):
            if at(0) >= 1:
                break
            done += 1
            ids, mask = texts.batch(index, WINDOW)
            with torch.autocast(DEVICE.type, torch.bfloat16):
                logits = model(ids, mask).float()
            each = F.binary_cross_entropy_with_logits(logits, aim[index].sigmoid(), reduction="none")
            near = F.smooth_l1_loss(logits, aim[index], reduction="none")
            step(model, (each + NEAR * near).mean(), tools)
        log("gate", done, "batches")
    model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "weights", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--width", type=int, default=208)
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--limit", type=float, default=400, help="seconds of training")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    corpus = Corpus(options.data, options.every)
    stored = np.load(options.data / "bulk.npz")
    with torch.no_grad():
        texts = Texts.of(windows(corpus, Texts.stored(stored["f"], stored["o"])))
        log(len(texts.length), "windows")
        aim = (predict([behind(options.weights, options.encoder)], texts) - starts(options.weights)).clamp(DEEP, TALL)
    log("findings", [round(float(share), 4) for share in (aim >= 0).float().mean(0)])
    model = Convolutions(read_encoder(options.weights / "encoder.onnx"), width=options.width).to(DEVICE)
    learn(model, texts, aim, options.limit)
    save(model, options.out / f"CNN{options.width}")
    report(f"CNN{options.width}", [model], corpus, options.data / "dev.npz", options.out)
    log("done")


if __name__ == "__main__":
    main()
