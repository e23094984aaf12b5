"""The work behind the workers: opens the store, ships the journal, prunes. For one process of each machine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from antiphon.accounts.journal.shipper import Shipper
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.stores.contract import Retention, Store, StoreError

SHIP: Final = 0.5  # seconds
PRUNE: Final = 60.0
PAUSE: Final = 0.02  # seconds between two steps of pruning
REOPEN: Final = 2.0


async def _nothing() -> None:
    return


def end_if_cancelled() -> None:
    """A driver that is cancelled may say that its connection failed instead. Raises CancelledError."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Upkeep:
    """`log` gets sentences for the error log: the beginning and the end of an outage."""

    def __init__(
        self,
        store: Store,
        shipper: Shipper,
        keep: Retention,
        log: Callable[[str], None],
        first: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """`first`: what has to be done before anything is shipped."""
        self._first = first or _nothing
        self._store = store
        self._shipper = shipper
        self._keep = keep
        self._log = log
        self._fault = ""

    async def run(self) -> None:
        """Until it is cancelled; then what is whole in the journal is shipped once more."""
        for work in (self._store.open, self._first):
            while not await self._tried(work):  # noqa: ASYNC110 (there is no event to wait for)
                await asyncio.sleep(REOPEN)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._ship())
                tasks.create_task(self._prune())
        finally:
            await asyncio.shield(self._tried(self._shipper.ship))
            await self._store.close()

    async def _ship(self) -> None:
        while True:
            await self._tried(self._shipper.ship)
            await asyncio.sleep(SHIP)

    async def _prune(self) -> None:
        while True:
            await self._tried(self._prune_all)
            await asyncio.sleep(PRUNE)

    async def _prune_all(self) -> None:
        while await self._store.prune(self._keep, wall_clock()):  # noqa: ASYNC110 (others use the store, too)
            await asyncio.sleep(PAUSE)

    async def _tried(self, work: Callable[[], Awaitable[object]]) -> bool:
        try:
            await work()
        except (StoreError, OSError) as error:
            end_if_cancelled()
            if not self._fault:
                self._fault = str(error)
                self._log(f"the store of accounts is out: {error}; entries wait in the journal")
            return False
        if self._fault:
            self._fault = ""
            self._log("the store of accounts is back")
        return True
