"""The small network learns further beside the encoder, from the windows of training/refine.py: convolutions and head.

python -m training.refine_small --weights WEIGHTS --cache FILE --out FOLDER       (writes cnn.onnx)
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch import Tensor, nn

from training.refine import batches, drawn, loss_of

SHAPES = ((128, 3, 1), (320, 5, 2), (320, 3, 4))  # inputs, width, dilation of the convolutions
OUTPUTS = 320
RATE = 6e-4


class Small(nn.Module):
    """Word embeddings stay as they are."""

    def __init__(self, stored: dict[str, np.ndarray]) -> None:
        super().__init__()
        zero = stored["words_zero_point"].astype(np.float32)
        words = (stored["words_quantized"].astype(np.float32) - zero) * stored["words_scale"]
        self.words = nn.Embedding.from_pretrained(torch.tensor(words), freeze=True)
        self.convolutions = nn.ModuleList()
        for index, (inputs, width, dilation) in enumerate(SHAPES, start=1):
            layer = nn.Conv1d(inputs, OUTPUTS, width, padding=dilation * (width - 1) // 2, dilation=dilation)
            flat = widened(stored, f"c{index}.w")
            layer.weight.data = torch.tensor(flat.reshape(width, inputs, OUTPUTS).transpose(2, 1, 0).copy())
            layer.bias.data = torch.tensor(stored[f"c{index}.b"].copy())
            self.convolutions.append(layer)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Sequential(nn.Linear(3 * OUTPUTS + 128, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 5))
        for linear, name in ((self.head[0], "head.0"), (self.head[3], "logits")):
            linear.weight.data = torch.tensor(stored[name + ".w"].T.copy())
            linear.bias.data = torch.tensor(stored[name + ".b"].copy())

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        held = mask[:, None].float()
        embedded = self.words(ids).transpose(1, 2) * held
        x, pooled = self.drop(embedded), []
        for layer in self.convolutions:
            x = F.relu(layer(x)) * held
            pooled.append(x.max(2).values)
        pooled.append(embedded.sum(2) / held.sum(2))
        return self.head(torch.cat(pooled, -1))


def widened(stored: dict[str, np.ndarray], name: str) -> np.ndarray:
    """int8 with one scale."""
    zero = stored[name + "_zero_point"].astype(np.float32)
    return np.asarray((stored[name + "_quantized"].astype(np.float32) - zero) * stored[name + "_scale"])


def batch(flat: np.ndarray, bounds: np.ndarray, index: np.ndarray) -> tuple[Tensor, Tensor]:
    longest = int((bounds[index + 1] - bounds[index]).max())
    ids = np.zeros((len(index), longest), dtype=np.int64)
    mask = np.zeros((len(index), longest), dtype=bool)
    for row, i in enumerate(index):
        part = flat[bounds[i] : bounds[i + 1]]
        ids[row, : len(part)], mask[row, : len(part)] = part, True
    return torch.from_numpy(ids), torch.from_numpy(mask)


def train(weights: Path, cache: Path, out: Path, epochs: int, seconds: float) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    random.seed(1)
    file = onnx.load(str(weights / "cnn.onnx"))
    model = Small({item.name: numpy_helper.to_array(item) for item in file.graph.initializer}).train()
    with np.load(cache) as data:  # not its layers' outputs, which are large
        labels, former = torch.tensor(data["y"].astype(np.float32)), torch.tensor(data["z"]).sigmoid()
        new, sources = torch.tensor(data["new"]), data["src"]
    ids = np.load(cache.with_suffix(".ids.npz"))
    flat, bounds = ids["f"], ids["o"]
    _, source = np.unique(sources, return_inverse=True)
    weight = torch.tensor(np.sqrt(np.minimum(1.0, 900 / np.bincount(source)))[source].astype(np.float32))
    balance = ((labels == 0).sum(0) / (labels == 1).sum(0)).sqrt().clamp(max=5)
    lengths, free = np.diff(bounds), np.flatnonzero(drawn(sources))
    tool = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, weight_decay=0.01)
    began, done, steps = time.time(), 0, epochs * (len(free) // 48)
    while done < steps and time.time() - began < seconds:
        for index in batches(free, lengths):
            at = max(done / steps, (time.time() - began) / seconds)
            if at >= 1:
                break
            for group in tool.param_groups:
                group["lr"] = RATE * min(1.0, (done + 1) / 60) * max(0.03, 1 - at)
            logits = model(*batch(flat, bounds, index))
            loss = loss_of(logits, labels[index], former[index], new[index], weight[index], balance)
            tool.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            tool.step()
            done += 1
            if done % 200 == 0:
                print(f"[{time.time() - began:.0f} s] {done} of {steps}, loss {loss.item():.3f}", flush=True)
    write(model.eval(), file, out / "cnn.onnx")


def write(model: Small, file: Any, path: Path) -> None:
    made: dict[str, np.ndarray] = {}
    for number, layer in enumerate(model.convolutions, start=1):
        weight = layer.weight.detach().numpy().transpose(2, 1, 0).reshape(-1, OUTPUTS)
        scale = np.float32(np.abs(weight).max() / 127)
        made[f"c{number}.w_scale"] = np.array(scale, dtype=np.float32)
        made[f"c{number}.w_quantized"] = np.round(weight / scale).clip(-127, 127).astype(np.int8)
        made[f"c{number}.w_zero_point"] = np.array(0, dtype=np.int8)
        made[f"c{number}.b"] = layer.bias.detach().numpy()
    for linear, name in ((model.head[0], "head.0"), (model.head[3], "logits")):
        made[name + ".w"], made[name + ".b"] = linear.weight.detach().numpy().T, linear.bias.detach().numpy()
    for item in file.graph.initializer:
        if item.name in made:
            item.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(made[item.name]), item.name))
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(file, str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("weights", "cache", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1_200)
    options = parser.parse_args()
    train(options.weights, options.cache, options.out, options.epochs, options.seconds)


if __name__ == "__main__":
    main()
