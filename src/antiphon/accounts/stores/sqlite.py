"""SQLite: one file, two threads with a connection each, one that writes and one that reads.

Nothing here runs on the event loop. The file is in WAL mode, so reading never waits for writing. `synchronous = FULL`:
a committed batch survives a power cut, and its part of the journal is deleted after that.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import lru_cache, partial
from typing import Final, TypeVar

from antiphon.accounts.entry import Record
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import STEP, Retention, StoreDown, StoreError
from antiphon.accounts.stores.database import DatabaseConnection, Row, pending
from antiphon.accounts.stores.sql_ledger import COLUMNS, values_of
from antiphon.accounts.stores.sql_store import SqlStore

BUSY: Final = 5.0  # seconds to wait for another process that writes, such as `antiphon key create`
VALUE: Final = re.compile(r"\$(\d+)")
T = TypeVar("T")

INSERT: Final = (
    f"insert into entries ({', '.join(COLUMNS)}) "  # noqa: S608 (constants only)
    f"values ({', '.join('?' * len(COLUMNS))})"
)
HAVE: Final = "select sequence from entries where boot = $1 and worker = $2 and sequence between $3 and $4"
OLD: Final = "delete from entries where id in (select id from entries where time < $1 order by time, id limit $2)"
OLDEST: Final = "delete from entries where id in (select id from entries order by time, id limit $1)"
SPAN: Final = "select coalesce(max(id) - min(id) + 1, 0) from entries"  # nearly their number, and found at once
COMPLETION_BYTES: Final = "select value from meta where name = 'completion_bytes'"


def open_sqlite(path: str, *, busy: float = BUSY) -> SqlStore:
    database = SqliteDatabase(path, busy)
    return SqlStore(database, SqliteEntries(database))


class SqliteDatabase:
    def __init__(self, path: str, busy: float) -> None:
        self._connect = partial(_connect, path, busy)
        self._writer = _Thread("accounts-writer")
        self._reader = _Thread("accounts-reader")

    async def open(self) -> None:
        if self._reader.is_open:
            return
        try:
            await self._writer.open(self._connect)
            await self._writer.run(_migrate)
            await self._reader.open(self._connect)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()

    def reading(self) -> AbstractAsyncContextManager[DatabaseConnection]:
        return self._reader.transaction("begin")

    def writing(self) -> AbstractAsyncContextManager[DatabaseConnection]:
        return self._writer.transaction("begin immediate")

    async def used(self) -> int:
        """Bytes that are in use; free pages of the file are not."""
        async with self.reading() as connection:
            pages = [int((await connection.fetch(f"pragma {name}"))[0][0]) for name in PAGES]
        return (pages[0] - pages[1]) * pages[2]

    async def shrink(self) -> None:
        """Gives some free pages back to the file system. (`execute` would stop after the first.)"""
        await self._writer.alone(lambda connection: connection.executescript("pragma incremental_vacuum(256)"))


PAGES: Final = ("page_count", "freelist_count", "page_size")


class SqliteEntries:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def prepare(self, starts: Sequence[int]) -> None:
        """There are no partitions."""

    async def insert(self, connection: DatabaseConnection, records: Sequence[Record]) -> Sequence[Record]:
        """Nobody else writes meanwhile: what is not there now is not there when it is inserted."""
        have: set[tuple[int, int, int]] = set()
        for boot, worker in {record[:2] for record in records}:
            own = [record.sequence for record in records if record[:2] == (boot, worker)]
            rows = await connection.fetch(HAVE, boot, worker, min(own), max(own))
            have |= {(boot, worker, row[0]) for row in rows}
        new = [record for record in records if record[:3] not in have]
        await connection.execute_many(INSERT, [values_of(record) for record in new])
        return new

    async def prune(self, keep: Retention, now: int) -> int:
        gone = 0
        if keep.entry_days:
            async with self._database.writing() as connection:
                gone = await connection.execute(OLD, now - keep.entry_days * DAY, STEP)
        if not gone and keep.entry_bytes:
            gone = await self._prune_bytes(keep.entry_bytes)
        if gone:
            await self._database.shrink()
        return gone

    async def _prune_bytes(self, limit: int) -> int:
        used = await self._bytes()
        if used <= limit:
            return 0
        async with self._database.writing() as connection:
            count = int((await connection.fetch(SPAN))[0][0])
            excess = (used - limit) * count // used + 1
            return await connection.execute(OLDEST, min(STEP, excess))

    async def _bytes(self) -> int:
        async with self._database.reading() as connection:
            bodies = int((await connection.fetch(COMPLETION_BYTES))[0][0])
        return await self._database.used() - bodies


class _Thread:
    """A thread with a connection. One transaction at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._free = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    async def open(self, connect: Callable[[], sqlite3.Connection]) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        self._connection = await self._call(connect)

    async def close(self) -> None:
        async with self._free:
            connection, self._connection = self._connection, None
            if connection is not None:
                await self._call(connection.close)
            if self._thread is not None:
                self._thread.shutdown(wait=False)
                self._thread = None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection
        if connection is None:
            raise StoreDown("the store is not open")
        return await self._call(lambda: work(connection))

    async def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        async with self._free:
            return await self.run(work)

    @asynccontextmanager
    async def transaction(self, begin: str) -> AsyncIterator[DatabaseConnection]:
        async with self._free:
            try:
                await self.run(lambda connection: connection.execute(begin))
                yield _Statements(self)
                await self.run(lambda connection: connection.execute("commit"))
            except BaseException:
                await asyncio.shield(self.run(_undo))
                raise

    async def _call(self, work: Callable[[], T]) -> T:
        def guarded() -> T:
            with _mapped():
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, guarded)


class _Statements:
    def __init__(self, thread: _Thread) -> None:
        self._thread = thread

    async def fetch(self, statement: str, *values: object) -> Sequence[Row]:
        text = spelled(statement)
        return await self._thread.run(lambda connection: connection.execute(text, values).fetchall())

    async def execute(self, statement: str, *values: object) -> int:
        text = spelled(statement)
        return await self._thread.run(lambda connection: connection.execute(text, values).rowcount)

    async def execute_many(self, statement: str, rows: Sequence[Row]) -> None:
        text = spelled(statement)
        await self._thread.run(lambda connection: connection.executemany(text, rows))


@lru_cache
def spelled(statement: str) -> str:
    """$1 as SQLite spells it: ?1."""
    return VALUE.sub(r"?\1", statement)


def _connect(path: str, busy: float) -> sqlite3.Connection:
    """A file that is there is not opened by us: to close it again would drop the locks that this process has on it
    (fcntl(2)), and whoever closes the database elsewhere would take himself for the last one and delete its WAL."""
    folder = os.path.dirname(path)
    try:
        if folder:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if not os.path.lexists(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreDown(f"{path}: {(error.strerror or 'cannot be opened').lower()}") from None
    connection = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    connection.execute("pragma auto_vacuum = incremental")  # of a new file; others stay as they are
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("pragma foreign_keys = on")
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    """Of two processes that start at once, one waits here for the other."""
    connection.execute("begin immediate")
    try:
        connection.execute("create table if not exists schema_version (number integer not null)")
        have = connection.execute("select coalesce(max(number), 0) from schema_version").fetchone()[0]
        for number, script in pending(have, "sqlite"):
            for statement in _split(script):
                connection.execute(statement)
            connection.execute("insert into schema_version values (?)", (number,))
        connection.execute("commit")
    except BaseException:
        _undo(connection)
        raise


def _split(script: str) -> Iterator[str]:
    """`executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _undo(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("rollback")


@contextmanager
def _mapped() -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.InternalError) as error:
        raise StoreDown(f"SQLite: {error}") from None
    except sqlite3.Error as error:  # integrity, a value that does not fit, a file that is no database
        raise StoreError(f"SQLite: {error}") from None
    except OverflowError:
        raise StoreError("SQLite: an integer is too large") from None
