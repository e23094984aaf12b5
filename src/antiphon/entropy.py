"""Random bytes for ids, drawn from the system in pages: a system call per id would cost more than the id."""

from __future__ import annotations

import os

PAGE = 4096


class Entropy:
    __slots__ = ("_at", "_page")

    def __init__(self) -> None:
        self._page = b""
        self._at = PAGE

    def __call__(self, size: int) -> bytes:
        start = self._at
        end = start + size
        if end > PAGE:
            self._page = os.urandom(PAGE)
            start, end = 0, size
        self._at = end
        return self._page[start:end]
