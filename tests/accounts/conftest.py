"""Every store, for the tests of their contract; PostgreSQL is a real one, started once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from antiphon.accounts.stores.contract import Store
from antiphon.accounts.stores.memory import MemoryStore
from antiphon.accounts.stores.postgres import open_postgres
from antiphon.accounts.stores.sqlite import open_sqlite
from tests.support.postgres import Postgres, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = _make(request, tmp_path)
    await made.open()
    yield made
    await made.close()


def _make(request: pytest.FixtureRequest, folder: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "sqlite":
        return open_sqlite(str(folder / "accounts.db"))
    server: Postgres = request.getfixturevalue("postgres")
    return open_postgres(server.database())
