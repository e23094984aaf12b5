"""What the compiler has answered, within bounds of memory and, where it may be another answer later, of time."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from typing import Final

from antiphon.engine.compiler import Answer

MOST_REMEMBERED: Final = 8_000_000  # bytes
OVERHEAD: Final = 300  # bytes that remembering costs beside the text


class Remembered:
    """Answers by the digests of their jobs; those asked for longest ago are forgotten first."""

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, tuple[Answer, float]] = OrderedDict()
        self._size = 0

    def find(self, key: bytes) -> Answer | None:
        if key not in self._answers:
            return None
        answer, until = self._answers[key]
        if until < time.monotonic():
            self._forget(key)
            return None
        self._answers.move_to_end(key)
        return answer

    def keep(self, key: bytes, answer: Answer, seconds: float = math.inf) -> None:
        if key in self._answers or size(answer) > MOST_REMEMBERED:
            return
        self._answers[key] = answer, time.monotonic() + seconds
        self._size += size(answer)
        while self._size > MOST_REMEMBERED:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: bytes) -> None:
        answer, _ = self._answers.pop(key)
        self._size -= size(answer)


def size(answer: Answer) -> int:
    return OVERHEAD + sum(len(part or "") for part in (answer.rule, answer.found, answer.fault))
