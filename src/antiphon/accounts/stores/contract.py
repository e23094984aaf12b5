"""What every store does, and how it fails. The same tests run against each store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from antiphon.accounts.entry import LedgerEntry, Record
from antiphon.accounts.keys import Key, KeyChanges, KeyRecord, KeySecret
from antiphon.accounts.usage import UsageQuery, UsageRow
from antiphon.flow.stored import CompletionQuery as CompletionQuery
from antiphon.flow.stored import StoredCompletion as StoredCompletion

STEP: Final = 500  # rows that one step of pruning removes at most


class StoreError(Exception):
    """The store refused: asking again changes nothing. The message holds no secret."""


class StoreDown(StoreError):
    """The store cannot be used now: away, locked, full, too slow. Asking later may succeed."""


class NameTaken(StoreError):
    """A live key has this name."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long and how much is kept. Days, and bytes of entries and of stored completions. 0: without limit."""

    entry_days: int = 90
    hour_days: int = 90  # of hourly rollups
    day_days: int = 1830  # of daily rollups
    audit_days: int = 730
    completion_days: int = 30
    entry_bytes: int = 10 * 1024**3
    completion_bytes: int = 5 * 1024**3


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """Entries, newest first. `after`: the cursor of the last one of the page before."""

    key: str | None = None
    since: int = 0
    until: int = 2**62
    after: tuple[int, int] | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ListedEntry:
    cursor: tuple[int, int]  # time, and a number that orders entries of one time
    record: Record

    @property
    def entry(self) -> LedgerEntry:
        return self.record.entry


class AuditNote(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed what."""

    time: int
    actor: str
    action: str
    subject: str
    detail: dict[str, Any] = {}


class Keys(Protocol):
    """Issued keys. Every method here and below raises StoreDown where the store cannot be used."""

    async def add(self, key: Key, secret: KeySecret, note: AuditNote) -> None:
        """Raises NameTaken."""

    async def replace(self, key: Key, note: AuditNote) -> bool:
        """Changes all of a key but its secrets. False: there is none with this id. Raises NameTaken."""

    async def rotate(self, secret: KeySecret, others_end: int, note: AuditNote) -> bool:
        """Adds a secret; the key's others end at `others_end`, or earlier if they were to. False: no such live key."""

    async def find(self, digest: bytes) -> KeyRecord | None: ...

    async def find_named(self, name: str) -> KeyRecord | None:
        """By id, or by name: the live one of that name, else the one revoked last."""

    async def list(self, after: str = "", limit: int = 100, *, revoked: bool = False) -> Sequence[KeyRecord]:
        """In the order of their ids, from the one after `after`. `revoked`: with those that are."""

    async def version(self) -> tuple[int, int]:
        """(identity of the store, version of its keys). Every change of a key or secret raises the version."""

    async def changes(self, since: int) -> KeyChanges: ...

    async def notes(self, after: int = 0, limit: int = 100) -> Sequence[tuple[int, AuditNote]]:
        """The audit: (number, note) in the order in which they were made, from the one after number `after`."""


class LedgerStore(Protocol):
    async def post(self, records: Sequence[Record]) -> int:
        """Adds entries and counts them in the rollups, in one transaction. -> how many were new."""

    async def entries(self, query: EntryQuery) -> Sequence[ListedEntry]: ...

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Ordered by start, then name."""


class Completions(Protocol):
    """Stored completions. A key finds its own only."""

    async def keep(self, completion: StoredCompletion) -> bool:
        """False: there is one with this id."""

    async def find(self, key: str, id: str) -> StoredCompletion | None:
        """With its bodies."""

    async def list(self, query: CompletionQuery) -> Sequence[StoredCompletion]: ...

    async def label(self, key: str, id: str, metadata: dict[str, str]) -> bool:
        """Replaces its metadata. False: this key has no such completion."""

    async def remove(self, key: str, id: str) -> bool: ...


class Store(Protocol):
    @property
    def keys(self) -> Keys: ...

    @property
    def ledger(self) -> LedgerStore: ...

    @property
    def completions(self) -> Completions: ...

    async def open(self) -> None:
        """Connects, and brings the schema up to date. May be called again after StoreDown."""

    async def close(self) -> None: ...

    async def prune(self, keep: Retention, now: int) -> int:
        """One small step of removing what is too old or too much. -> how many rows went; 0: nothing is left to do."""
