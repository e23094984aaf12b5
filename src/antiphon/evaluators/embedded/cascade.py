"""English text through the two networks: the small one reads every window, the encoder those it is not sure about."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from antiphon.evaluators.embedded.calibration import Calibration
from antiphon.evaluators.embedded.network import LABELS, Logits, Network
from antiphon.evaluators.embedded.wordpiece import CLS, SEP, WordPiece

WINDOW: Final = 190  # tokens; with the marks of start and end what the encoder was trained on
STEP: Final = 158
_READ_AT_MOST: Final = 8  # windows of one text for the encoder: 200 kB cost 8 × 23 ms, not 300 ×
_FLOOR: Final = -12.0
_BENIGN: Final = -4.0  # the logit at which a window that the encoder did not read ends at most


class Cascade:
    def __init__(self, tokens: WordPiece, small: Network, encoder: Network, calibration: Calibration) -> None:
        self._tokens = tokens
        self._small = small
        self._encoder = encoder
        self._sure = np.array(calibration.sure, dtype=np.float32)
        self._crowd = calibration.crowd

    def __call__(self, text: str) -> list[float]:
        """For each label the largest logit of all windows, less what many windows would reach by chance."""
        windows = cut(self._tokens.encode(text))
        if not windows:
            return [_FLOOR] * len(LABELS)
        first = np.stack([self._small(window) for window in windows])
        doubt = (first - self._sure).max(axis=1)
        judged = np.minimum(first - self._sure, 0.0) + _BENIGN
        order = np.argsort(-doubt, kind="stable")
        for index in order[:_READ_AT_MOST]:
            if doubt[index] >= 0:
                judged[index] = self._read(windows[index])
        largest: Logits = judged.max(axis=0) - self._crowd * math.log(len(windows))
        return [float(logit) for logit in largest]

    def _read(self, window: list[int]) -> Logits:
        return self._encoder([CLS, *window, SEP])


def cut(ids: list[int]) -> list[list[int]]:
    """Windows that overlap; a rest that the window before has read almost whole gets none of its own."""
    if len(ids) <= WINDOW:
        return [ids] if ids else []
    return [ids[start : start + WINDOW] for start in range(0, len(ids) - (WINDOW - STEP), STEP)]
