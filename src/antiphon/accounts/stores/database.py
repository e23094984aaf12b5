"""What the statements of `sql_*.py` run on. They are written once, with $1, $2 … for values, for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from importlib import resources
from typing import Any, Protocol

from antiphon.accounts.stores.contract import StoreError

Row = Sequence[Any]


class DatabaseConnection(Protocol):
    """Inside one transaction."""

    async def fetch(self, statement: str, *values: object) -> Sequence[Row]: ...

    async def execute(self, statement: str, *values: object) -> int:
        """-> how many rows it changed"""

    async def execute_many(self, statement: str, rows: Sequence[Row]) -> None: ...


class Database(Protocol):
    """Maps the driver's exceptions: StoreDown where a later try may succeed, else StoreError."""

    def reading(self) -> AbstractAsyncContextManager[DatabaseConnection]:
        """A transaction that sees one state of the store."""

    def writing(self) -> AbstractAsyncContextManager[DatabaseConnection]:
        """A transaction that is committed at its end, and undone by an exception."""


def migrations(dialect: str) -> list[tuple[int, str]]:
    """(number, script), in order. The files are named 0001_….sql, 0002_….sql and so on."""
    folder = resources.files("antiphon.accounts.stores") / "migrations" / dialect
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files)


def pending(have: int, dialect: str) -> list[tuple[int, str]]:
    """What a store with schema `have` lacks."""
    known = migrations(dialect)
    if have > known[-1][0]:
        raise StoreError(
            f"the store was made by a newer version (its schema is {have}; this version knows {known[-1][0]})"
        )
    return [(number, script) for number, script in known if number > have]
