"""Keeps the work of one count bounded: of a very long text, evenly spaced slices stand for the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.chat.bounds import PIECE
from antiphon.chat.outline import LONG, Outline

CAP = 4_000_000  # characters; about a million tokens, more than any model's context
SLICES = 32


@dataclass(frozen=True, slots=True)
class TextSample:
    texts: list[str]
    taken: int  # characters in `texts`
    total: int  # characters they stand for

    def scale(self, count: int) -> int:
        """The count of the whole, from the count of the sample."""
        if self.taken == self.total:
            return count
        return round(count * self.total / self.taken)


async def sample_large(texts: Sequence[str], outline: Outline, cap: int = CAP) -> TextSample:
    """Of light texts. Others' turns go on meanwhile."""
    total = sum(map(outline.size, texts))
    share = min(1.0, cap / total) if total else 1.0
    kept: list[str] = []
    seen = taken = 0
    for text in texts:
        pieces = outline.expand(text, set())
        if share == 1.0 and outline.size(text) <= PIECE:  # cut nowhere, it has no token more
            pieces = iter(["".join(pieces)])
        for piece in pieces:
            seen += len(piece)
            if share == 1.0 or taken + len(piece) / 2 <= share * seen:
                kept.append(piece)
                taken += len(piece)
            if len(piece) > LONG:
                await asyncio.sleep(0)
    return TextSample(kept, taken, total)


def sample(texts: Sequence[str], cap: int = CAP) -> TextSample:
    total = sum(map(len, texts))
    if total <= cap:
        return TextSample(list(texts), total, total)
    whole = "".join(texts)
    width, step = max(1, cap // SLICES), total // SLICES
    taken = [whole[start : start + width] for start in range(0, step * SLICES, step)]
    return TextSample(taken, sum(map(len, taken)), total)
