"""One network in an ONNX file: token ids in, five logits out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

LABELS: Final = ("hate", "self_harm", "sexual", "violence", "jailbreak")  # the order of the outputs

# A fusion whose kernel takes longer than what it replaces (training/quicken.py).
SLOW_FUSIONS: Final = ("SkipLayerNormFusion",)
REMEMBERED: Final = 4096  # windows: 3 MB at most

Logits = NDArray[np.float32]


class Network:
    """Runs row by row on one thread: int8 scales are set per run, so a batch would let texts change each other.

    What was read before is remembered: a text that has grown since, or comes in a join, costs its new windows only."""

    def __init__(self, path: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the memory of the longest text for good
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        self._new: dict[bytes, Logits] = {}  # two halves: of these windows, and of those before them
        self._old: dict[bytes, Logits] = {}
        self._session = ort.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )

    def __len__(self) -> int:
        """Windows that are remembered."""
        return len(self._new) + len(self._old)

    def __call__(self, ids: Sequence[int]) -> Logits:
        row = np.array([ids], dtype=np.int64)
        key = row.astype(np.uint16).tobytes()  # ids are below 2^16
        logits = self._new.get(key)
        if logits is None:
            logits = self._old.get(key)
            if logits is None:
                logits = self._session.run(None, {"ids": row})[0][0]
                logits.flags.writeable = False
            if len(self._new) >= REMEMBERED // 2:
                self._old, self._new = self._new, {}
            self._new[key] = logits
        return logits
