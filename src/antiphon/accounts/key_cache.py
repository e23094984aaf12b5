"""A copy of all live keys in memory, so that a request costs no question to the store. Pure: `now` is an argument.

The copy is current while the feed (`key_feed.py`) confirms it. When the store is out, keys that are known go on, until
the copy is older than `max_age`; a secret that is not known may be one that was issued meanwhile, so nobody can say
that it is wrong. The answer is then 503 (try again), never 401 (incorrect key).
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final

import msgspec

from antiphon.accounts.keys import Key, KeyChanges, KeyRecord, KeySecret
from antiphon.accounts.stores.contract import StoreDown

SECOND: Final = 1_000_000
CURRENT: Final = 5 * SECOND  # unconfirmed for longer: the store is out
MAX_AGE: Final = 24 * 3600 * SECOND


class Copy(msgspec.Struct, frozen=True):
    """The cache as bytes, for a process that starts while the store is out. It holds digests, no secrets."""

    store: int
    version: int
    confirmed: int
    records: tuple[KeyRecord, ...]


class KeyCache:
    def __init__(self, max_age: int = MAX_AGE) -> None:
        self.max_age = max_age
        self.store = 0
        self.version = -1
        self.confirmed: int | None = None  # when the copy was last known to be the store's keys
        self._found: dict[bytes, tuple[Key, KeySecret]] = {}
        self._records: dict[str, KeyRecord] = {}

    def find(self, digest: bytes, now: int) -> Key | None:
        """None: there is no such key, or it has ended. Raises StoreDown where that cannot be known."""
        found = self._found.get(digest)
        if found is not None and hmac.compare_digest(found[1].digest, digest):
            self._check(now, self.max_age, "the copy of the keys is too old")
            key, secret = found
            return key if key.is_live(now) and secret.is_live(now) else None
        self._check(now, CURRENT, "the store of the keys is out")
        return None

    def _check(self, now: int, limit: int, words: str) -> None:
        """A copy from the future: the clock was set back, so nobody knows how old it is. Known keys go on."""
        if self.confirmed is None or not -limit <= now - self.confirmed <= max(limit, CURRENT):
            raise StoreDown(words)

    def knows(self, key_id: str) -> bool:
        return key_id in self._records

    def get(self, key_id: str) -> Key | None:
        record = self._records.get(key_id)
        return None if record is None else record.key

    def __len__(self) -> int:
        """Keys."""
        return len(self._records)

    # The feed's side

    def confirm(self, now: int) -> None:
        """The store has no newer version."""
        self.confirmed = now

    def apply(self, changes: KeyChanges, now: int) -> None:
        """`changes` since `version`; of another store, or an older version: all its keys."""
        if changes.store != self.store or changes.version < self.version:
            self._found.clear()
            self._records.clear()
        self._put(changes.records)
        self.store, self.version = changes.store, changes.version
        self.confirm(now)

    def _put(self, records: Iterable[KeyRecord]) -> None:
        for record in records:
            old = self._records.pop(record.key.id, None)
            for secret in old.secrets if old is not None else ():
                self._found.pop(secret.digest, None)
            if record.key.revoked is None:
                self._records[record.key.id] = record
                self._found.update((secret.digest, (record.key, secret)) for secret in record.secrets)

    # A copy for later

    def dump(self) -> bytes:
        copy = Copy(self.store, self.version, self.confirmed or 0, tuple(self._records.values()))
        return msgspec.msgpack.encode(copy)

    def restore(self, data: bytes, now: int) -> bool:
        """Takes a copy over, if it is whole and not too old. It counts as old as it is."""
        try:
            copy = msgspec.msgpack.decode(data, type=Copy)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return False
        if now - copy.confirmed > self.max_age:
            return False
        self.version = copy.version + 1  # so that what is here is replaced, not added to
        self.apply(KeyChanges(copy.store, copy.version, copy.records), copy.confirmed)
        return True
