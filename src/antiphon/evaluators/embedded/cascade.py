"""English text through the two networks: the small one reads every window, the encoder those it is not sure about."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from antiphon.evaluators.embedded.calibration import Calibration
from antiphon.evaluators.embedded.network import LABELS, Logits, Network
from antiphon.evaluators.embedded.wordpiece import CLS, SEP, WordPiece

WINDOW: Final = 190  # tokens; with the marks of start and end what the encoder was trained on
STEP: Final = 158
READ_AT_MOST: Final = 8  # windows of one text for the encoder: 200 kB cost 8 × 30 ms, not 300 ×
_FLOOR: Final = -12.0
_BENIGN: Final = -4.0  # the logit at which a window that the encoder did not read ends at most


class CascadeScores(NamedTuple):
    logits: list[float]
    tokens: int


class Cascade:
    def __init__(self, tokens: WordPiece, small: Network, encoder: Network, calibration: Calibration) -> None:
        self._tokens = tokens
        self._reader = Reader(small, encoder, np.array(calibration.sure, dtype=np.float32))
        self._calibration = calibration

    def __call__(self, text: str, sought: int = len(LABELS)) -> CascadeScores:
        """For each label the largest logit of all windows, less what many windows would reach by chance. `sought`: no
        window is read twice for a label behind the first so many."""
        ids = self._tokens.encode(text)
        windows = cut(ids)
        if not windows:
            return CascadeScores([_FLOOR] * len(LABELS), 0)
        largest = self._reader(windows, sought).max(axis=0) - self._calibration.bar(len(windows))
        return CascadeScores([float(logit) for logit in largest], len(ids))


class Reader:
    """Logits of windows. `sure`: for each label the logit of the small network under which a window is benign."""

    def __init__(self, small: Network, encoder: Network, sure: Logits) -> None:
        self._small = small
        self._encoder = encoder
        self._sure = sure

    def __call__(self, windows: list[list[int]], sought: int = len(LABELS)) -> Logits:
        first = np.stack([self._small(window) for window in windows]) - self._sure
        judged: Logits = (np.minimum(first, 0.0) + _BENIGN).astype(np.float32)
        doubt = first[:, :sought].max(axis=1)
        for index in np.argsort(-doubt, kind="stable")[:READ_AT_MOST]:
            if doubt[index] >= 0:
                judged[index] = self._encoder([CLS, *windows[index], SEP])
        return judged


def cut(ids: list[int]) -> list[list[int]]:
    """Windows that overlap; a rest that the window before has read almost whole gets none of its own."""
    if len(ids) <= WINDOW:
        return [ids] if ids else []
    return [ids[start : start + WINDOW] for start in range(0, len(ids) - (WINDOW - STEP), STEP)]
