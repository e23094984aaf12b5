"""PostgreSQL, by asyncpg. Batches travel by COPY; entries are partitioned by day, and a day is removed as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import asyncpg

from antiphon.accounts.entry import Record
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import Retention, StoreDown, StoreError
from antiphon.accounts.stores.database import DatabaseConnection, Row, pending
from antiphon.accounts.stores.sql_ledger import COLUMNS, values_of
from antiphon.accounts.stores.sql_store import SqlStore

CONNECTIONS: Final = 2  # one for what is posted, one for who asks
CONNECT: Final = 5.0  # seconds
COMMAND: Final = 30.0
LOCK: Final = 4_207_849_485  # of migrations: any number that others do not use

STAGE: Final = "create temporary table if not exists staged_entries (like entries) on commit delete rows"
UNSTAGE: Final = (
    f"insert into entries ({', '.join(COLUMNS)}) select {', '.join(COLUMNS)} from staged_entries "  # noqa: S608
    "on conflict do nothing returning boot, worker, sequence"
)
# Where a later try may succeed: no connection, a server that starts or stops, no room, a lock, too slow.
PASSING: Final = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.PostgresSystemError,
    asyncpg.QueryCanceledError,
)


def open_postgres(url: str) -> SqlStore:
    database = PostgresDatabase(url)
    return SqlStore(database, PostgresEntries(database))


class PostgresDatabase:
    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: Any = None

    async def open(self) -> None:
        if self._pool is not None:
            return
        with _mapped():
            pool = await asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=CONNECTIONS,
                timeout=CONNECT,
                command_timeout=COMMAND,
                statement_cache_size=0,  # so that PgBouncer may stand in between, in transaction mode
                max_inactive_connection_lifetime=300.0,
            )
        try:
            async with _transaction(pool, "read_committed", readonly=False) as connection:
                await _migrate(connection)
        except BaseException:
            pool.terminate()
            raise
        self._pool = pool

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[DatabaseConnection]:
        async with _transaction(self._pool, "repeatable_read", readonly=True) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[PostgresConnection]:
        async with _transaction(self._pool, "read_committed", readonly=False) as connection:
            yield connection


@asynccontextmanager
async def _transaction(pool: Any, isolation: str, *, readonly: bool) -> AsyncIterator[PostgresConnection]:
    if pool is None:
        raise StoreDown("the store is not open")
    with _mapped():
        async with (
            pool.acquire(timeout=CONNECT) as connection,
            connection.transaction(isolation=isolation, readonly=readonly),
        ):
            yield PostgresConnection(connection)


class PostgresConnection:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, statement: str, *values: object) -> Sequence[Row]:
        rows: list[Row] = [tuple(row) for row in await self._connection.fetch(statement, *values)]
        return rows

    async def execute(self, statement: str, *values: object) -> int:
        status: str = await self._connection.execute(statement, *values)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def execute_many(self, statement: str, rows: Sequence[Row]) -> None:
        await self._connection.executemany(statement, rows)

    async def copy(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        await self._connection.copy_records_to_table(table, columns=columns, records=rows)


class PostgresEntries:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._made: set[int] = set()

    async def prepare(self, starts: Sequence[int]) -> None:
        """In a transaction of its own: it locks the table for a moment."""
        lacking = [start for start in starts if start not in self._made]
        if not lacking:
            return
        async with self._database.writing() as connection:
            for start in lacking:
                await connection.execute("select antiphon_add_day($1)", start // DAY)
        self._made.update(lacking)

    async def insert(self, connection: DatabaseConnection, records: Sequence[Record]) -> Sequence[Record]:
        assert isinstance(connection, PostgresConnection)
        await connection.execute(STAGE)
        rows = [(0, *values_of(record)) for record in records]
        await connection.copy("staged_entries", ("id", *COLUMNS), rows)
        new = {tuple(row) for row in await connection.fetch(UNSTAGE)}
        return [record for record in records if record[:3] in new]

    async def prune(self, keep: Retention, now: int) -> int:
        """The oldest day, if it is too old or entries take too many bytes. The newest day always stays."""
        async with self._database.writing() as connection:
            parts = await connection.fetch("select day, bytes from antiphon_days()")
            if len(parts) < 2:
                return 0
            day = int(parts[0][0])
            is_old = keep.entry_days and (day + 1) * DAY <= now - keep.entry_days * DAY
            is_much = keep.entry_bytes and sum(int(part[1]) for part in parts) > keep.entry_bytes
            if not (is_old or is_much):
                return 0
            await connection.execute("set local lock_timeout = '2s'")
            await connection.execute("select antiphon_drop_day($1)", day)
        self._made.discard(day * DAY)
        return 1


async def _migrate(connection: PostgresConnection) -> None:
    """Of two replicas that start at once, one waits here for the other."""
    await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
    await connection.execute("create table if not exists schema_version (number bigint not null)")
    have = int((await connection.fetch("select coalesce(max(number), 0) from schema_version"))[0][0])
    for number, script in pending(have, "postgres"):
        await connection.execute(script)
        await connection.execute("insert into schema_version values ($1)", number)


@contextmanager
def _mapped() -> Iterator[None]:
    """Drivers' messages may name hosts and users, but never hold the password."""
    try:
        yield
    except PASSING as error:
        raise StoreDown(f"PostgreSQL: {str(error) or type(error).__name__}") from None
    except asyncpg.PostgresError as error:
        raise StoreError(f"PostgreSQL: {error}") from None
    except (ValueError, OverflowError) as error:  # of the URL, or of a value that does not fit its column
        raise StoreError(f"PostgreSQL: {error}") from None
