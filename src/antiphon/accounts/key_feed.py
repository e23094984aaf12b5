"""Keeps a `KeyCache` current: asks the store for the version of its keys, and for what has changed.

One question of one row every POLL seconds; a change is known after POLL and the time of two questions, less than 1 s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from antiphon.accounts.key_cache import KeyCache
from antiphon.accounts.stores.contract import Keys, StoreError

POLL: Final = 0.5  # seconds
PATIENCE: Final = 5.0  # seconds for the store's answer


def wall_clock() -> int:
    return time.time_ns() // 1000


class KeyFeed:
    """`log` gets sentences for the error log: once when the store goes out, once when it is back."""

    def __init__(
        self, keys: Keys, cache: KeyCache, log: Callable[[str], None], clock: Callable[[], int] = wall_clock
    ) -> None:
        self._keys = keys
        self._cache = cache
        self._log = log
        self._clock = clock
        self._is_out = False

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.poll()
            await asyncio.sleep(POLL)

    async def poll(self) -> bool:
        """-> the cache is current"""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._poll()
        except (StoreError, TimeoutError) as error:
            if not self._is_out:
                self._log(f"the store of the keys is out: {error or 'no answer'}; known keys go on")
            self._is_out = True
            return False
        if self._is_out:
            self._log("the store of the keys is back")
        self._is_out = False
        return True

    async def _poll(self) -> None:
        asked = self._clock()  # what the store says is no newer than this
        store, version = await self._keys.version()
        cache = self._cache
        if (store, version) == (cache.store, cache.version):
            cache.confirm(asked)
            return
        is_successor = store == cache.store and version > cache.version
        cache.apply(await self._keys.changes(cache.version if is_successor else -1), asked)
