"""Blocks that must come back unchanged on the next turn, for clients that drop fields they do not know.

A vendor signs its thinking, and refuses a conversation in which a call comes back without it. A client that sends the
call's id alone gets the blocks from here. Each key has a memory of its own, bounded in calls and bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec

from antiphon.document import Document

MOST_CALLS: Final = 2048  # of one key
MOST_BYTES: Final = 4 * 1024 * 1024  # of one key
MOST_OF_ALL: Final = 32 * 1024 * 1024  # bytes of all keys; the one that was silent longest goes first
OVERHEAD: Final = 256  # bytes that an entry takes besides its blocks


class KeyMemory:
    """What was said before the calls of one key's answers. The calls that were asked for last stay."""

    __slots__ = ("_blocks", "size")

    def __init__(self) -> None:
        self._blocks: OrderedDict[str, bytes] = OrderedDict()
        self.size = 0

    def find(self, call_id: str) -> list[Document] | None:
        blocks = self._blocks.get(call_id)
        if blocks is None:
            return None
        self._blocks.move_to_end(call_id)
        return msgspec.json.decode(blocks, type=list[Document])

    def keep(self, call_ids: list[str], blocks: bytes) -> None:
        for call_id in call_ids:
            self._drop(call_id)
            self._blocks[call_id] = blocks
            self.size += len(blocks) + len(call_id) + OVERHEAD
        while self.size > MOST_BYTES or len(self._blocks) > MOST_CALLS:
            self._drop(next(iter(self._blocks)))

    def _drop(self, call_id: str) -> None:
        blocks = self._blocks.pop(call_id, None)
        if blocks is not None:
            self.size -= len(blocks) + len(call_id) + OVERHEAD


class CallMemory:
    """The memories of all keys of a worker."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str | None, KeyMemory] = OrderedDict()
        self._size = 0

    def of(self, key: str | None) -> KeyMemory | None:
        """None: nothing was kept for this key."""
        return self._keys.get(key)

    def keep(self, key: str | None, call_ids: list[str], blocks: list[Document]) -> None:
        try:
            written = msgspec.json.encode(blocks)
        except (ValueError, RecursionError):  # text cut within a character
            return
        memory = self._keys.setdefault(key, KeyMemory())
        self._keys.move_to_end(key)
        before = memory.size
        memory.keep(call_ids, written)
        self._size += memory.size - before
        while self._size > MOST_OF_ALL:
            self._size -= self._keys.popitem(last=False)[1].size
