"""The store in memory: nothing is kept after the process. For tests, and for gateways that keep no accounts."""

from __future__ import annotations

import bisect
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from antiphon.accounts.entry import Record, clean, encode
from antiphon.accounts.keys import Key, KeyChanges, KeyRecord, KeySecret
from antiphon.accounts.rollups import DAY, Named, RollupKey, Sums, sum_up
from antiphon.accounts.stores.contract import (
    STEP,
    AuditNote,
    CompletionQuery,
    EntryQuery,
    ListedEntry,
    NameTaken,
    Retention,
    StoredCompletion,
)
from antiphon.accounts.usage import UsageQuery, UsageRow

Place = tuple[int, int]  # of an entry: its time, and its number in order of arrival


class MemoryKeys:
    def __init__(self) -> None:
        self._identity = secrets.randbits(62)
        self._version = 0
        self._keys: dict[str, tuple[int, Key]] = {}  # by id, with the version of the last change
        self._secrets: dict[bytes, KeySecret] = {}
        self._audit: list[tuple[int, AuditNote]] = []
        self._notes = 0

    async def notes(self, after: int = 0, limit: int = 100) -> list[tuple[int, AuditNote]]:
        return [row for row in self._audit if row[0] > after][:limit]

    async def add(self, key: Key, secret: KeySecret, note: AuditNote) -> None:
        self._check_name(key)
        self._secrets[secret.digest] = secret
        self._change(key, note)

    async def replace(self, key: Key, note: AuditNote) -> bool:
        if key.id not in self._keys:
            return False
        self._check_name(key)
        self._change(key, note)
        return True

    async def rotate(self, secret: KeySecret, others_end: int, note: AuditNote) -> bool:
        found = self._keys.get(secret.key_id)
        if found is None or found[1].revoked is not None:
            return False
        for other in self._record(found[1]).secrets:
            ends = others_end if other.expires is None else min(other.expires, others_end)
            self._secrets[other.digest] = msgspec.structs.replace(other, expires=ends)
        self._secrets[secret.digest] = secret
        self._change(found[1], note)
        return True

    async def find(self, digest: bytes) -> KeyRecord | None:
        secret = self._secrets.get(digest)
        return self._record(self._keys[secret.key_id][1]) if secret is not None else None

    async def find_named(self, name: str) -> KeyRecord | None:
        if name in self._keys:
            return self._record(self._keys[name][1])
        named = [key for _, key in self._keys.values() if key.name == name]
        named.sort(key=lambda key: (key.revoked is None, key.revoked or 0))
        return self._record(named[-1]) if named else None

    async def list(self, after: str = "", limit: int = 100, *, revoked: bool = False) -> list[KeyRecord]:
        keys = [key for id, (_, key) in sorted(self._keys.items()) if id > after and (revoked or key.revoked is None)]
        return [self._record(key) for key in keys[:limit]]

    async def version(self) -> tuple[int, int]:
        return self._identity, self._version

    async def changes(self, since: int) -> KeyChanges:
        changed = sorted((version, key.id) for version, key in self._keys.values() if version > since)
        records = tuple(self._record(self._keys[id][1]) for _, id in changed)
        return KeyChanges(self._identity, self._version, records)

    def _check_name(self, key: Key) -> None:
        if key.revoked is not None:
            return
        if any(other.name == key.name and other.id != key.id and not other.revoked for _, other in self._keys.values()):
            raise NameTaken(f"there is a key named {key.name!r}")

    def _change(self, key: Key, note: AuditNote) -> None:
        self._version += 1
        self._keys[key.id] = (self._version, key)
        self._notes += 1
        self._audit.append((self._notes, note))

    def _record(self, key: Key) -> KeyRecord:
        own = [secret for secret in self._secrets.values() if secret.key_id == key.id]
        return KeyRecord(key, tuple(sorted(own, key=lambda secret: (secret.created, secret.digest), reverse=True)))

    def prune(self, keep: Retention, now: int) -> int:
        kept = [row for row in self._audit if not keep.audit_days or row[1].time >= now - keep.audit_days * DAY]
        gone = len(self._audit) - len(kept)
        self._audit = kept
        return gone


class MemoryLedger:
    def __init__(self) -> None:
        self._ids: set[tuple[int, int, int]] = set()
        self._posted = 0
        self._entries: dict[Place, Record] = {}
        self._order: list[Place] = []  # sorted
        self._sizes: dict[Place, int] = {}
        self._rollups: dict[RollupKey, Sums] = {}

    async def post(self, records: Sequence[Record]) -> int:
        new: dict[tuple[int, int, int], Record] = {}
        for record in records:
            if record[:3] not in self._ids:
                new.setdefault(record[:3], record._replace(entry=clean(record.entry)))
        for record in new.values():
            self._posted += 1
            place = (record.entry.time, self._posted)
            self._ids.add(record[:3])
            self._entries[place], self._sizes[place] = record, len(encode(record.entry))
            bisect.insort(self._order, place)
        for key, sums in sum_up((record.entry for record in new.values()), self._names()):
            have = self._rollups.get(key)
            self._rollups[key] = sums if have is None else _add(have, sums)
        return len(new)

    def _names(self) -> dict[Named, set[str]]:
        names: dict[Named, set[str]] = {}
        for key in self._rollups:
            if key.grain == "day" and key.scope == "":
                names.setdefault((key.start, key.dimension), set()).add(key.name)
        return names

    async def entries(self, query: EntryQuery) -> list[ListedEntry]:
        found: list[ListedEntry] = []
        for place in reversed(self._order):
            record = self._entries[place]
            fits = query.key is None or record.entry.key == query.key
            if fits and query.since <= place[0] < query.until and (query.after is None or place < query.after):
                found.append(ListedEntry(place, record))
                if len(found) == query.limit:
                    break
        return found

    async def usage(self, query: UsageQuery) -> list[UsageRow]:
        by_key = query.split == "key"
        sums: dict[tuple[int, str], Sums] = {}
        for key, added in self._rollups.items():
            if key.grain != query.grain or key.dimension != query.dimension:
                continue
            if not query.since <= key.start < query.until or query.name not in (None, key.name):
                continue
            if key.scope == "" if by_key else key.scope != (query.key or ""):
                continue
            name = key.scope if by_key else key.name if query.split else ""
            at = (0 if query.period == "total" else key.start, name)
            sums[at] = _add(sums[at], added) if at in sums else added
        rows = [UsageRow(*at, sums[at]) for at in sorted(sums) if query.after is None or at > query.after]
        return rows[: query.limit]

    def prune(self, keep: Retention, now: int) -> int:
        gone = self._prune_entries(keep, now)
        for grain, limit in (("hour", keep.hour_days), ("day", keep.day_days)):
            old = [key for key in self._rollups if key.grain == grain and limit and key.start < now - limit * DAY]
            gone += _remove(self._rollups, old)
        return gone

    def _prune_entries(self, keep: Retention, now: int) -> int:
        gone = 0
        excess = sum(self._sizes.values()) - keep.entry_bytes if keep.entry_bytes else 0
        for place in self._order[:STEP]:
            if not (excess > 0 or (keep.entry_days and place[0] < now - keep.entry_days * DAY)):
                break
            excess -= self._sizes.pop(place)
            self._ids.discard(self._entries.pop(place)[:3])
            gone += 1
        del self._order[:gone]
        return gone


class MemoryCompletions:
    def __init__(self) -> None:
        self._completions: dict[str, StoredCompletion] = {}

    async def keep(self, completion: StoredCompletion) -> bool:
        if completion.id in self._completions:
            return False
        self._completions[completion.id] = completion
        return True

    async def find(self, key: str, id: str) -> StoredCompletion | None:
        found = self._completions.get(id)
        return found if found is not None and found.key == key else None

    async def list(self, query: CompletionQuery) -> list[StoredCompletion]:
        rows = [row for row in self._completions.values() if (row.key, row.kind) == (query.key, query.kind)]
        rows = [row for row in rows if query.model is None or row.model == query.model]
        rows = [row for row in rows if query.metadata_fits(row)]
        rows.sort(key=lambda row: (row.time, row.id), reverse=query.descending)
        if query.after is not None:
            after = query.after
            rows = [
                row for row in rows if ((row.time, row.id) < after if query.descending else (row.time, row.id) > after)
            ]
        return [msgspec.structs.replace(row, request=b"", answer=b"") for row in rows[: query.limit]]

    async def label(self, key: str, id: str, metadata: dict[str, str]) -> bool:
        found = await self.find(key, id)
        if found is not None:
            self._completions[id] = msgspec.structs.replace(found, metadata=dict(metadata))
        return found is not None

    async def remove(self, key: str, id: str) -> bool:
        found = await self.find(key, id)
        if found is not None:
            del self._completions[id]
        return found is not None

    def prune(self, keep: Retention, now: int) -> int:
        rows = sorted(self._completions.values(), key=lambda row: (row.time, row.id))
        excess = sum(map(_size, rows)) - keep.completion_bytes if keep.completion_bytes else 0
        old = []
        for row in rows[:STEP]:
            if not (excess > 0 or (keep.completion_days and row.time < now - keep.completion_days * DAY)):
                break
            excess -= _size(row)
            old.append(row.id)
        return _remove(self._completions, old)


class MemoryStore:
    def __init__(self) -> None:
        self.keys = MemoryKeys()
        self.ledger = MemoryLedger()
        self.completions = MemoryCompletions()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def prune(self, keep: Retention, now: int) -> int:
        return self.keys.prune(keep, now) + self.ledger.prune(keep, now) + self.completions.prune(keep, now)


def _size(row: StoredCompletion) -> int:
    return len(row.request) + len(row.answer)


def _add(one: Sums, other: Sums) -> Sums:
    return tuple(left + right for left, right in zip(one, other, strict=True))


def _remove(table: dict[Any, Any], keys: Iterable[object]) -> int:
    return sum(table.pop(key, None) is not None for key in keys)
