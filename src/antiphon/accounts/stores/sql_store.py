"""A store in a database: its parts, put together."""

from __future__ import annotations

from typing import Protocol

from antiphon.accounts.stores.contract import Retention
from antiphon.accounts.stores.database import Database
from antiphon.accounts.stores.sql_completions import SqlCompletions
from antiphon.accounts.stores.sql_keys import SqlKeys
from antiphon.accounts.stores.sql_ledger import EntryTable, SqlLedger


class OpenDatabase(Database, Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...


class SqlStore:
    def __init__(self, database: OpenDatabase, table: EntryTable) -> None:
        self._database = database
        self.keys = SqlKeys(database)
        self.ledger = SqlLedger(database, table)
        self.completions = SqlCompletions(database)

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    async def prune(self, keep: Retention, now: int) -> int:
        gone = 0
        for part in (self.keys, self.ledger, self.completions):
            gone += await part.prune(keep, now)
        return gone
