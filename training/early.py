"""The network of the early look: causal convolutions that say after each token whether its sentence may end in harm.

Texts lie one behind the other, so each token is an example; between two of them is either nothing (the first is the
context of the second) or as many empty tokens as the network sees. Written out in numpy: it is so small that one core
trains it in minutes.

    python -m training.early --data FOLDER_OF_BEGINNINGS --weights src/antiphon/evaluators/weights
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.initializers import read_initializers

SIZE = 48  # of a token's embedding
WIDTH = 64
HIDDEN = 32
DILATIONS = (1, 2, 4, 8)
SEEN = 1 + 2 * sum(DILATIONS)  # tokens that one output depends on
UNKNOWN = 100
SEGMENT = 8192
HELD = 0.03  # of the texts, to report on
CUT_WEIGHT = 2.0  # of a text that ends within a word, of which one token counts
# Of a harmful sentence behind harmless text: most of what follows such text is harmless, and the network would learn no
# more than that.
BEHIND_WEIGHT = 4.0
ALONE = 0.3  # of the texts have nothing before them
Array = NDArray[Any]
Tensors = dict[str, Array]


class Corpus:
    def __init__(self, folder: Path) -> None:
        stored = np.load(folder / "beginnings.npz")
        self.ids, self.labels = stored["ids"].astype(np.int64), stored["labels"] > 0
        self.bounds, self.counts = stored["bounds"], stored["counts"]
        order = np.random.RandomState(0).permutation(len(self.counts))
        held = int(HELD * len(order))
        self.held, self.rows = order[:held], order[held:]

    def some(self, chance: np.random.RandomState) -> Array:
        """One epoch's texts: all that end in harm, of the others two thirds, a third of those cut within a word."""
        ends = self.labels[self.bounds[self.rows + 1] - 1]
        share = np.where(ends, 1.0, 0.65) * np.where(self.counts[self.rows] > 0, 0.35, 1.0)
        return chance.permutation(self.rows[chance.rand(len(self.rows)) < share])

    def stream(self, rows: Array, chance: np.random.RandomState) -> tuple[Array, Array, Array]:
        """Ids, labels and weights of texts one behind the other, those that end within a word behind all others."""
        rows = rows[np.argsort(self.counts[rows] > 0, kind="stable")]
        end = self.bounds[rows + 1]
        whole = end - self.bounds[rows]
        cut = self.counts[rows] > 0
        length = np.where(cut, np.minimum(whole, SEEN), whole)
        before = np.concatenate([[True], self.labels[end - 1][:-1] | cut[:-1]])  # harm, or half a word: no context
        gap = np.where(before | (chance.rand(len(rows)) < ALONE), SEEN - 1, 0)
        ends = np.cumsum(gap + length)
        place = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)  # within its text
        source, target = np.repeat(end - length, length) + place, np.repeat(ends - length, length) + place
        ids, labels = np.zeros(ends[-1], dtype=np.int64), np.zeros(ends[-1], dtype=np.float32)
        weights = np.zeros(ends[-1], dtype=np.float32)
        ids[target], labels[target] = self.ids[source], self.labels[source]
        is_last = place == np.repeat(length - 1, length)
        behind = np.repeat(gap == 0, length) & (labels[target] > 0)
        weights[target] = np.where(np.repeat(cut, length), CUT_WEIGHT * is_last, np.where(behind, BEHIND_WEIGHT, 1.0))
        return ids, labels, weights


def segments(stream: tuple[Array, Array, Array]) -> Iterator[tuple[Array, Array, Array]]:
    """Each overlaps the one before it by what the network sees; labels and weights are those of its outputs."""
    ids, labels, weights = stream
    for start in range(0, len(ids) - SEGMENT, SEGMENT - SEEN + 1):
        end = start + SEGMENT
        yield ids[start:end], labels[start + SEEN - 1 : end], weights[start + SEEN - 1 : end]


def start(words: Array, chance: np.random.RandomState) -> Tensors:
    made: Tensors = {"words": words}
    size = SIZE
    for index in range(len(DILATIONS)):
        made[f"c{index}.weight"] = _random(chance, 3 * size, WIDTH, math.sqrt(2) if index == 0 else 0.7)
        made[f"c{index}.bias"] = np.zeros(WIDTH, dtype=np.float32)
        size = WIDTH
    made["hidden.weight"], made["hidden.bias"] = _random(chance, WIDTH, HIDDEN, 1.4), np.zeros(HIDDEN, dtype=np.float32)
    made["out.weight"], made["out.bias"] = _random(chance, HIDDEN, 1, 1.0), np.zeros(1, dtype=np.float32)
    return made


def _random(chance: np.random.RandomState, rows: int, columns: int, gain: float) -> Array:
    return (chance.randn(rows, columns) * gain / math.sqrt(rows)).astype(np.float32)


def forward(model: Tensors, ids: Array) -> tuple[Array, list[Array], list[Array]]:
    """-> logits, and what the way back needs: inputs and activations of each layer"""
    x = model["words"][ids]
    inputs, outputs = [], []
    for index, dilation in enumerate(DILATIONS):
        count = len(x) - 2 * dilation
        windows = np.concatenate([x[k * dilation : k * dilation + count] for k in range(3)], axis=1)
        new = np.maximum(windows @ model[f"c{index}.weight"] + model[f"c{index}.bias"], 0)
        inputs.append(windows)
        outputs.append(new)
        x = new + x[2 * dilation :] if index else new
    hidden = np.maximum(x @ model["hidden.weight"] + model["hidden.bias"], 0)
    inputs.append(x)
    outputs.append(hidden)
    return (hidden @ model["out.weight"] + model["out.bias"])[:, 0], inputs, outputs


def backward(model: Tensors, slope: Array, inputs: list[Array], outputs: list[Array]) -> tuple[Tensors, Array]:
    """`slope`: of the loss by each logit. -> gradients, and that of the embedded tokens"""
    grads: Tensors = {"out.weight": outputs[-1].T @ slope[:, None], "out.bias": slope.sum(keepdims=True)}
    back = (slope[:, None] * model["out.weight"].T) * (outputs[-1] > 0)
    grads["hidden.weight"], grads["hidden.bias"] = inputs[-1].T @ back, back.sum(0)
    x = back @ model["hidden.weight"].T
    for index in reversed(range(len(DILATIONS))):
        back = x * (outputs[index] > 0)
        grads[f"c{index}.weight"], grads[f"c{index}.bias"] = inputs[index].T @ back, back.sum(0)
        windows, dilation, count = back @ model[f"c{index}.weight"].T, DILATIONS[index], len(back)
        size = windows.shape[1] // 3
        before = np.zeros((count + 2 * dilation, size), dtype=np.float32)
        for k in range(3):
            before[k * dilation : k * dilation + count] += windows[:, k * size : (k + 1) * size]
        if index:
            before[2 * dilation :] += x
        x = before
    return grads, x


class Adam:
    """Of the embeddings only the rows move that were read."""

    def __init__(self, model: Tensors) -> None:
        self._model = model
        self._mean = {name: np.zeros_like(value) for name, value in model.items()}
        self._square = {name: np.zeros_like(value) for name, value in model.items()}
        self._step = 0

    def step(self, grads: Tensors, ids: Array, words: Array, rate: float) -> None:
        self._step += 1
        for name, grad in grads.items():
            self._move(name, slice(None), grad, rate)
        order = np.argsort(ids, kind="stable")
        rows, first = np.unique(ids[order], return_index=True)
        summed = np.add.reduceat(words[order], first, axis=0)
        self._move("words", rows[rows > 0], summed[rows > 0], rate)  # no token stays nothing

    def _move(self, name: str, rows: Any, grad: Array, rate: float) -> None:
        mean, square = self._mean[name], self._square[name]
        mean[rows] = 0.9 * mean[rows] + 0.1 * grad
        square[rows] = 0.99 * square[rows] + 0.01 * grad**2
        fix = math.sqrt(1 - 0.99**self._step) / (1 - 0.9**self._step)
        self._model[name][rows] -= rate * fix * mean[rows] / (np.sqrt(square[rows]) + 1e-8)


def train(corpus: Corpus, words: Array, epochs: int, seed: int, rate: float) -> Tensors:
    chance = np.random.RandomState(seed)
    model = start(words, chance)
    tools = Adam(model)
    began = time.time()
    for epoch in range(epochs):
        parts = list(segments(corpus.stream(corpus.some(chance), chance)))
        losses = []
        for number, (ids, labels, weights) in enumerate(parts):
            done = (epoch + number / len(parts)) / epochs
            ids = np.where((chance.rand(len(ids)) < 0.03) & (ids > 0), UNKNOWN, ids)
            logits, inputs, outputs = forward(model, ids)
            likely = 1 / (1 + np.exp(-logits))
            slope = ((likely - labels) * weights / weights.sum()).astype(np.float32)
            losses.append(_loss(logits, labels, weights))
            grads, embedded = backward(model, slope, inputs, outputs)
            tools.step(grads, ids, embedded, rate * min(1.0, done * 50) * max(0.02, math.cos(math.pi / 2 * done)))
        print(f"{time.time() - began:.0f} s, epoch {epoch}: {np.mean(losses):.4f}", flush=True)
        report(model, corpus)
    return model


def _loss(logits: Array, labels: Array, weights: Array) -> float:
    each = np.logaddexp(0, logits) - labels * logits
    return float((each * weights).sum() / weights.sum())


def report(model: Tensors, corpus: Corpus) -> None:
    found = [
        (forward(model, ids)[0], labels, weights)
        for ids, labels, weights in segments(corpus.stream(corpus.held, np.random.RandomState(0)))
    ]
    logits, labels, weights = (np.concatenate(each) for each in zip(*found, strict=True))
    truth, scores = labels[weights > 0] > 0, logits[weights > 0]
    order = np.argsort(-scores)
    hits, misses = np.cumsum(truth[order]) / truth.sum(), np.cumsum(~truth[order]) / (~truth).sum()
    print(f"  held texts: loss {_loss(logits, labels, weights):.4f}, AUC {np.trapezoid(hits, misses):.4f}")
    for share in (0.01, 0.02, 0.05, 0.1):
        at = int(np.searchsorted(misses, share))
        print(f"  {share:.1%} of harmless tokens risky: {hits[at]:.3f} of harmful ones, logit {scores[order[at]]:.2f}")


def embeddings(weights: Path) -> Array:
    """Those of the first stage, in fewer dimensions."""
    held = read_initializers(weights / "cnn.onnx")
    words = (held["words_quantized"].astype(np.float32) - held["words_zero_point"].astype(np.float32)) * held[
        "words_scale"
    ]
    words = words - words[999:].mean(0)
    axes = np.linalg.svd(words[999:], full_matrices=False)[2]
    made: Array = (words @ axes[:SIZE].T).astype(np.float32)
    made /= made.std()
    made[0] = 0
    return made


def save(model: Tensors, path: Path) -> None:
    words = model["words"]
    scales = np.maximum(np.abs(words).max(1), 1e-6) / 127
    stored = {name: value.astype(np.float16) for name, value in model.items() if name != "words"}
    stored["words"] = np.round(words / scales[:, None]).astype(np.int8)
    stored["scales"] = scales.astype(np.float16)
    np.savez_compressed(path, **stored)
    print(path, round(path.stat().st_size / 1e6, 2), "MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "weights"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--out", type=Path, help="a file; else early.npz beside the other weights")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=2e-3)
    options = parser.parse_args()
    model = train(Corpus(options.data), embeddings(options.weights), options.epochs, options.seed, options.rate)
    save(model, options.out or options.weights / "early.npz")


if __name__ == "__main__":
    main()
