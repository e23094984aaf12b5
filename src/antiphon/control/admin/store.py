"""The accounts' store, opened when it is first asked for and again after it was away."""

from __future__ import annotations

import asyncio

from antiphon.accounts.places import MEMORY
from antiphon.accounts.stores.contract import Store
from antiphon.accounts.stores.urls import store_for
from antiphon.control.admin.endpoint import AdminError


class OpenStore:
    def __init__(self, url: str | None) -> None:
        """None: accounts are off."""
        self._url = url
        self._store: Store | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> Store:
        """Raises StoreDown; AdminError where there is no store that processes share."""
        if self._url is None or self._url == MEMORY:
            raise AdminError(
                409, "no_store", "Accounts are off, or kept in the memory of another process ([accounts] store)."
            )
        async with self._opening:
            if self._store is None:
                store = store_for(self._url)
                try:
                    await store.open()
                except BaseException:
                    await store.close()
                    raise
                self._store = store
            return self._store

    async def close(self) -> None:
        if self._store is not None:
            await self._store.close()
