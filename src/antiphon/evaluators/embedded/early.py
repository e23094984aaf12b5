"""The early look: may the end of a text be the beginning of a harmful sentence?

English is read by a small network (training/early.py) over the last tokens: convolutions with dilations 1, 2, 4 and 8,
of which only what the last output depends on is computed. In numpy, since it is too small for anything else: 0.05 ms.
Chinese, Portuguese and German are read by their heads and phrases as they are: these know no beginnings. A language
that nobody reads is not risky by itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from antiphon.evaluators.embedded.language import LanguageGate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.ngrams import Head
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.phrases import JAILBREAK, said
from antiphon.evaluators.embedded.wordpiece import WordPiece

SEEN: Final = 31  # tokens that the answer depends on: 1 + 2 * (1 + 2 + 4 + 8)
EMPTY: Final = 0  # the token that stands for none
LAYERS: Final = ("c0", "c1", "c2", "c3", "hidden", "out")

Array = NDArray[np.float32]


class EarlyNetwork:
    def __init__(self, words: NDArray[np.int8], scales: Array, layers: Sequence[tuple[Array, Array]]) -> None:
        """`layers`: weights and biases of the convolutions, the hidden layer and the output."""
        self._words = words
        self._scales = scales
        *self._convolutions, self._hidden, self._out = layers

    @classmethod
    def load(cls, path: Path) -> EarlyNetwork:
        with np.load(path) as stored:
            layers = [
                (stored[f"{name}.weight"].astype(np.float32), stored[f"{name}.bias"].astype(np.float32))
                for name in LAYERS
            ]
            return cls(stored["words"], stored["scales"].astype(np.float32)[:, None], layers)

    def __call__(self, ids: Sequence[int]) -> float:
        """The logit of harm after the last of these tokens. After none there is none."""
        if not ids:
            return -math.inf
        last = ids[-SEEN:]
        read = np.array([EMPTY] * (SEEN - len(last)) + list(last))
        x = self._words[read] * self._scales[read]
        for index, (weight, bias) in enumerate(self._convolutions):
            x = _convolve(x, weight, bias, residual=index > 0)
        hidden = np.maximum(x[0] @ self._hidden[0] + self._hidden[1], 0)
        return float(hidden @ self._out[0][:, 0] + self._out[1][0])


def _convolve(x: Array, weight: Array, bias: Array, *, residual: bool) -> Array:
    """Each layer's inputs lie two steps of its dilation apart: of n rows every second one has an output, n // 2 in all.

    Rows 0, 1 and 2 make the first output, rows 2, 3 and 4 the next one."""
    count = len(x) // 2
    windows = np.concatenate((x[0 : 2 * count - 1 : 2], x[1 : 2 * count : 2], x[2 : 2 * count + 1 : 2]), axis=1)
    new: Array = np.maximum(windows @ weight + bias, 0)
    return new + x[2::2] if residual else new


class EarlyClassifier:
    """Shares nothing that changes with the classifier, so it may look while that judges in another thread."""

    def __init__(
        self,
        normaliser: Normaliser,
        gate: LanguageGate,
        tokens: WordPiece,
        network: EarlyNetwork,
        heads: Mapping[str, Head],
        risky: Mapping[str, float],
    ) -> None:
        """`risky`: for each language the logit from which on a text is."""
        self._normalise = normaliser
        self._gate = gate
        self._tokens = tokens
        self._network = network
        self._heads = heads
        self._risky = risky

    def __call__(self, text: str) -> bool:
        parts = self._gate.split(self._normalise(text))
        return any(self._is_risky(language, part) for language, part in parts.texts.items())

    def _is_risky(self, language: str, text: str) -> bool:
        if self.logit(language, text) >= self._risky[language]:
            return True
        return language != ENGLISH and not said(language, text) <= {JAILBREAK}

    def logit(self, language: str, text: str) -> float:
        """`text`: normalised."""
        if language == ENGLISH:
            return self._network(self._tokens.encode(text))
        return self._heads[language].logit(text)


def read_risky(path: Path) -> dict[str, float]:
    stored: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["risky"]
    return stored
