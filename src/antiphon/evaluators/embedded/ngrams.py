"""Character n-grams hashed into one table of weights: the heads for languages that the encoder does not read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 18
WINDOW: Final = 280  # characters; what the heads were trained on is about as long
STEP: Final = 200
_FACTOR: Final = np.uint32(0x9E3779B1)
_SPREAD: Final = np.uint32(0x85EBCA6B)


def features(text: str, shortest: int, longest: int) -> NDArray[np.int64]:
    """The distinct slots of a text's n-grams."""
    codes = np.frombuffer(f" {' '.join(text.lower().split())} ".encode("utf-32-le", "replace"), dtype=np.uint32)
    slots = []
    rolled = np.zeros(len(codes), dtype=np.uint32)
    for n in range(1, longest + 1):
        usable = len(codes) - n + 1
        if usable <= 0:
            break
        rolled = rolled[:usable] * _FACTOR + codes[n - 1 :] + np.uint32(n)
        if n >= shortest:
            mixed = (rolled ^ (rolled >> np.uint32(15))) * _SPREAD
            slots.append(mixed >> np.uint32(32 - BITS))
    return np.unique(np.concatenate(slots)).astype(np.int64) if slots else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Head:
    """The logit of one category in one language."""

    weights: NDArray[np.float16]
    bias: float
    shortest: int
    longest: int

    @classmethod
    def load(cls, path: Path, bias: float, shortest: int, longest: int) -> Head:
        return cls(np.load(path, mmap_mode="r"), bias, shortest, longest)

    def logit(self, text: str) -> float:
        slots = features(text, self.shortest, self.longest)
        if not len(slots):
            return self.bias
        return float(self.weights[slots].astype(np.float32).sum() / np.sqrt(len(slots))) + self.bias


def windows(text: str) -> list[str]:
    if len(text) <= WINDOW:
        return [text]
    return [text[start : start + WINDOW] for start in range(0, len(text) - WINDOW + STEP, STEP)]
