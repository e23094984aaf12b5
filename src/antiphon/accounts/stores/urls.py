"""Opens the store that a URL names: `memory:`, `sqlite:///PATH`, `postgresql://…` or `postgres://…`."""

from __future__ import annotations

from antiphon.accounts.places import MEMORY, SQLITE, sqlite_path
from antiphon.accounts.stores.contract import Store
from antiphon.accounts.stores.memory import MemoryStore
from antiphon.accounts.stores.sqlite import open_sqlite


def store_for(url: str) -> Store:
    """For a URL that `places.check_url` takes."""
    if url == MEMORY:
        return MemoryStore()
    if url.startswith(SQLITE):
        return open_sqlite(sqlite_path(url))
    from antiphon.accounts.stores.postgres import open_postgres  # noqa: PLC0415 (70 ms that others can do without)

    return open_postgres(url)
