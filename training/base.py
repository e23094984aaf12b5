"""Tensors to start from: MPNet, packed into few bits for a narrow way to the training machine (four bits a number, six
for word embeddings; training mends the rest), and the shipped encoder, read from its ONNX file.

    python -m training.base --mpnet MPNET/model.safetensors --out FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor

from training.initializers import read_initializers
from training.networks import MINILM

BLOCK = 64  # numbers that share a scale
SMALL = 100_000  # tensors of fewer numbers stay at sixteen bits
# Sixteen levels at the quantiles of a normal distribution.
LEVELS = np.array(
    [-1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
     0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1.0],
    dtype=np.float32,
)  # fmt: skip
Array = NDArray[Any]


def pack4(value: Array) -> tuple[Array, Array]:
    rows = value.astype(np.float32).reshape(-1, BLOCK)
    scale = np.abs(rows).max(1, keepdims=True).astype(np.float16).astype(np.float32) + 1e-8
    level = np.searchsorted((LEVELS[1:] + LEVELS[:-1]) / 2, (rows / scale).ravel()).astype(np.uint8)
    return level[0::2] | (level[1::2] << 4), scale.astype(np.float16).ravel()


def unpack4(packed: Array, scale: Array, shape: list[int]) -> Array:
    level = np.stack([packed & 15, packed >> 4], axis=1).ravel()
    wide: Array = (LEVELS[level].reshape(-1, BLOCK) * scale.astype(np.float32)[:, None]).reshape(shape)
    return wide


def pack6(value: Array) -> tuple[Array, Array]:
    rows = value.astype(np.float32).reshape(-1, BLOCK)
    scale = (np.abs(rows).max(1, keepdims=True) / 31).astype(np.float16).astype(np.float32) + 1e-8
    four = (np.round(rows / scale).clip(-31, 31) + 32).astype(np.uint32).reshape(-1, 4)
    word = four[:, 0] | (four[:, 1] << 6) | (four[:, 2] << 12) | (four[:, 3] << 18)
    three = np.stack([word & 255, (word >> 8) & 255, word >> 16], axis=1)
    return three.astype(np.uint8).ravel(), scale.astype(np.float16).ravel()


def unpack6(packed: Array, scale: Array, shape: list[int]) -> Array:
    three = packed.reshape(-1, 3).astype(np.uint32)
    word = three[:, 0] | (three[:, 1] << 8) | (three[:, 2] << 16)
    four = np.stack([word & 63, (word >> 6) & 63, (word >> 12) & 63, word >> 18], axis=1).astype(np.float32) - 32
    wide: Array = (four.reshape(-1, BLOCK) * scale.astype(np.float32)[:, None]).reshape(shape)
    return wide


def pack(tensors: dict[str, Array], path: Path) -> None:
    stored: dict[str, Array] = {}
    names = []
    for name, value in tensors.items():
        bits = 16 if value.ndim != 2 or value.size < SMALL or value.size % BLOCK else 6 if "word_emb" in name else 4
        at = len(names)
        if bits == 16:
            stored[f"a{at}"] = value.astype(np.float16)
        else:
            stored[f"a{at}"], stored[f"s{at}"] = (pack6 if bits == 6 else pack4)(value)
        names.append((name, bits, list(value.shape)))
    np.savez(path, names=np.array(json.dumps(names)), **stored)


def read_packed(path: Path) -> dict[str, Tensor]:
    stored = np.load(path)
    made = {}
    for at, (name, bits, shape) in enumerate(json.loads(str(stored["names"]))):
        value = stored[f"a{at}"]
        if bits != 16:
            value = (unpack6 if bits == 6 else unpack4)(value, stored[f"s{at}"], shape)
        made[name] = torch.tensor(value.astype(np.float32))
    return made


def read_encoder(path: Path) -> dict[str, Tensor]:
    """The shipped encoder under the names of its base, with its `head.`"""
    stored = read_initializers(path)
    made = {
        "embeddings.word_embeddings.weight": _wide(stored, "words"),
        "embeddings.position_embeddings.weight": stored["positions"],
        "embeddings.token_type_embeddings.weight": np.zeros((1, stored["ln.w"].size)),
        "embeddings.LayerNorm.weight": stored["ln.w"],
        "embeddings.LayerNorm.bias": stored["ln.b"],
    }
    for layer in range(sum(name.endswith(".l2.w") for name in stored)):
        ours, theirs = f"L.{layer}.", f"encoder.layer.{layer}."
        weights = np.split(_wide(stored, ours + "qkv.w"), 3, axis=1)
        biases = np.split(stored[ours + "qkv.b"], 3)
        for kind, weight, bias in zip("qkv", weights, biases, strict=True):
            made[theirs + MINILM[kind] + ".weight"], made[theirs + MINILM[kind] + ".bias"] = weight.T, bias
        for kind, bias in (("o", "o.bias"), ("i", "i.b"), ("w", "w.bias")):
            made[theirs + MINILM[kind] + ".weight"] = _wide(stored, f"{ours}{kind}.w").T
            made[theirs + MINILM[kind] + ".bias"] = stored[ours + bias]
        for kind in ("l1", "l2"):
            made[theirs + MINILM[kind] + ".weight"] = stored[f"{ours}{kind}.w"]
            made[theirs + MINILM[kind] + ".bias"] = stored[f"{ours}{kind}.b"]
    return _tensors(made | _head(stored))


def _head(stored: dict[str, Array]) -> dict[str, Array]:
    pairs = {"head.0": "head.0", "head.3": "logits"}
    weights = {ours + ".weight": _wide(stored, theirs + ".w").T for ours, theirs in pairs.items()}
    return weights | {ours + ".bias": stored[theirs + ".b"] for ours, theirs in pairs.items()}


def _wide(stored: dict[str, Array], name: str) -> Array:
    if name in stored:
        return stored[name]
    return (stored[name + "_quantized"].astype(np.float32) - stored[name + "_zero_point"]) * stored[name + "_scale"]


def _tensors(arrays: dict[str, Array]) -> dict[str, Tensor]:
    return {name: torch.tensor(np.ascontiguousarray(value, dtype=np.float32)) for name, value in arrays.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpnet", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tensors = load_file(options.mpnet)
    kept = {k: v for k, v in tensors.items() if k.startswith(("embeddings.", "encoder.")) and "position_ids" not in k}
    pack(kept, options.out / "mpnet.npz")


if __name__ == "__main__":
    main()
