"""One network in an ONNX file: token ids in, five logits out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

LABELS: Final = ("hate", "self_harm", "sexual", "violence", "jailbreak")  # the order of the outputs

Logits = NDArray[np.float32]


class Network:
    """Runs row by row on one thread: int8 scales are set per run, so a batch would let texts change each other."""

    def __init__(self, path: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the memory of the longest text for good
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def __call__(self, ids: Sequence[int]) -> Logits:
        row = np.array([ids], dtype=np.int64)
        logits: Logits = self._session.run(None, {"ids": row})[0][0]
        return logits
