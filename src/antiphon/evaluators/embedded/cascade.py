"""English text through the two networks: the small one reads every window, the encoder those it is not sure about."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from antiphon.evaluators.embedded.calibration import Calibration
from antiphon.evaluators.embedded.network import LABELS, Logits, Network
from antiphon.evaluators.embedded.wordpiece import CLS, SEP, WordPiece

WINDOW: Final = 190  # tokens; with the marks of start and end what the encoder was trained on
STEP: Final = 158
CLOSE: Final = 64  # tokens of a closer look: about four sentences
_CLOSE_STEP: Final = 32
_NEAR: Final = -1.5  # a window that the encoder calls less likely than that gets no closer look
# What a closer look counts less, for each category: parts lack context. Jailbreaks are told by the whole.
_OUT_OF_CONTEXT: Final = np.array([0.0, 0.5, 1.0, 0.5], dtype=np.float32)
_CATEGORIES: Final = len(_OUT_OF_CONTEXT)
READ_AT_MOST: Final = 8  # windows of one text for the encoder: 200 kB cost 8 × 30 ms, not 300 ×
_FLOOR: Final = -12.0
_BENIGN: Final = -4.0  # the logit at which a window that the encoder did not read ends at most


class Reading(NamedTuple):
    logits: list[float]
    tokens: int


class Cascade:
    def __init__(self, tokens: WordPiece, small: Network, encoder: Network, calibration: Calibration) -> None:
        self._tokens = tokens
        self._reader = Reader(small, encoder, np.array(calibration.sure, dtype=np.float32))
        self._calibration = calibration

    def __call__(self, text: str) -> Reading:
        """For each label the largest logit of all windows, less what many windows would reach by chance."""
        ids = self._tokens.encode(text)
        windows = cut(ids)
        if not windows:
            return Reading([_FLOOR] * len(LABELS), 0)
        largest = self._reader(windows).max(axis=0) - self._calibration.bar(len(windows))
        return Reading([float(logit) for logit in largest], len(ids))


class Reader:
    """Logits of windows. `sure`: for each label the logit of the small network under which a window is benign."""

    def __init__(self, small: Network, encoder: Network, sure: Logits) -> None:
        self._small = small
        self._encoder = encoder
        self._sure = sure

    def __call__(self, windows: list[list[int]]) -> Logits:
        first = self._doubt(windows)
        judged: Logits = (np.minimum(first, 0.0) + _BENIGN).astype(np.float32)
        doubt = first.max(axis=1)
        for index in np.argsort(-doubt, kind="stable")[:READ_AT_MOST]:
            if doubt[index] >= 0:
                judged[index] = self.read(windows[index])
        return judged

    def _doubt(self, windows: list[list[int]]) -> Logits:
        return np.stack([self._small(window) for window in windows]) - self._sure

    def read(self, window: list[int]) -> Logits:
        """The whole window; and if that comes near to harm, its most suspicious part alone, which harmless words
        around it cannot dilute."""
        whole = self._encoder([CLS, *window, SEP])
        if len(window) <= CLOSE + _CLOSE_STEP or whole[:_CATEGORIES].max() < _NEAR:
            return whole
        parts = [window[start : start + CLOSE] for start in range(0, len(window) - _CLOSE_STEP, _CLOSE_STEP)]
        part = parts[int(self._doubt(parts)[:, :_CATEGORIES].max(axis=1).argmax())]
        close = self._encoder([CLS, *part, SEP])[:_CATEGORIES] - _OUT_OF_CONTEXT
        return np.concatenate([np.maximum(whole[:_CATEGORIES], close), whole[_CATEGORIES:]])


def cut(ids: list[int]) -> list[list[int]]:
    """Windows that overlap; a rest that the window before has read almost whole gets none of its own."""
    if len(ids) <= WINDOW:
        return [ids] if ids else []
    return [ids[start : start + WINDOW] for start in range(0, len(ids) - (WINDOW - STEP), STEP)]
