"""Entries and keys as tests need them."""

from __future__ import annotations

from typing import Any

from antiphon.accounts.entry import LedgerEntry, Record
from antiphon.accounts.keys import Issued, Key, issue, new_key_id
from antiphon.accounts.rollups import DAY, HOUR
from antiphon.accounts.stores.contract import AuditNote, Store

NOON = 20_000 * DAY + 12 * HOUR  # of a day in 2024


def entry(number: int = 1, time: int = NOON, **fields: Any) -> LedgerEntry:
    values: dict[str, Any] = {"model": "gpt-4o", "key": "app", "status": 200, "input_tokens": 10, "output_tokens": 5}
    return LedgerEntry(time=time, request_id=f"req_{number}", **{**values, "price": 7, **fields})


def record(sequence: int, boot: int = 1, worker: int = 0, **fields: Any) -> Record:
    return Record(boot, worker, sequence, entry(sequence, **fields))


def note(action: str = "create", time: int = NOON) -> AuditNote:
    return AuditNote(time=time, actor="test", action=action, subject="key")


async def add_key(store: Store, name: str = "app", **fields: Any) -> tuple[Key, Issued]:
    key, issued = Key(id=new_key_id(), name=name, created=NOON, **fields), issue()
    await store.keys.add(key, issued.for_key(key.id, NOON), note())
    return key, issued
