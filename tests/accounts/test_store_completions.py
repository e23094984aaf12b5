"""Stored completions in every store: a key finds its own only; lists with filters and pages; retention."""

from __future__ import annotations

import os
from typing import Any

from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import CompletionQuery, Retention, Store, StoredCompletion
from tests.accounts.made import NOON


def completion(number: int, key: str = "k", **fields: Any) -> StoredCompletion:
    values: dict[str, Any] = {"model": "gpt-4o", "request": b'{"messages":[]}', "answer": b'{"choices":[]}'}
    return StoredCompletion(id=f"chatcmpl-{number:03}", key=key, **{"time": NOON + number, **values, **fields})


async def test_a_completion_comes_back_as_it_was_kept(store: Store) -> None:
    kept = completion(1, metadata={"a": "é", "b": ""}, answer=os.urandom(100_000))
    assert await store.completions.keep(kept)
    assert await store.completions.find("k", kept.id) == kept
    assert not await store.completions.keep(completion(1, "other"))
    assert await store.completions.find("k", kept.id) == kept


async def test_a_key_finds_its_own_only(store: Store) -> None:
    await store.completions.keep(completion(1, "mine"))
    for key in ("other", "", "' or key = 'mine"):
        assert await store.completions.find(key, "chatcmpl-001") is None
        assert await store.completions.list(CompletionQuery(key)) == []
        assert not await store.completions.label(key, "chatcmpl-001", {"x": "y"})
        assert not await store.completions.remove(key, "chatcmpl-001")
    assert await store.completions.find("mine", "chatcmpl-001") == completion(1, "mine")


async def test_lists_in_both_directions_with_filters_and_pages(store: Store) -> None:
    for number in range(30):
        metadata = {"env": "prod" if number % 3 else "dev", "n": str(number)}
        await store.completions.keep(completion(number, model=f"m{number % 2}", metadata=metadata))
    for descending in (False, True):
        for filters in (
            {},
            {"model": "m1"},
            {"metadata": (("env", "dev"),)},
            {"metadata": (("env", "dev"), ("n", "9"))},
        ):
            found: list[StoredCompletion] = []
            while page := await store.completions.list(_query(found, descending, filters)):
                found += page
            wanted = [number for number in range(30) if _fits(number, filters)]
            ids = [f"chatcmpl-{number:03}" for number in (reversed(wanted) if descending else wanted)]
            assert [row.id for row in found] == ids
            assert all(row.request == row.answer == b"" for row in found)


def _query(found: list[StoredCompletion], descending: bool, filters: dict[str, Any]) -> CompletionQuery:
    after = (found[-1].time, found[-1].id) if found else None
    return CompletionQuery("k", after=after, descending=descending, limit=4, **filters)


def _fits(number: int, filters: dict[str, Any]) -> bool:
    metadata = {"env": "prod" if number % 3 else "dev", "n": str(number)}
    if filters.get("model", f"m{number % 2}") != f"m{number % 2}":
        return False
    return all(metadata[name] == value for name, value in filters.get("metadata", ()))


async def test_metadata_is_replaced_and_a_completion_removed(store: Store) -> None:
    await store.completions.keep(completion(1, metadata={"a": "1"}))
    assert await store.completions.label("k", "chatcmpl-001", {"b": "2"})
    [found] = await store.completions.list(CompletionQuery("k", metadata=(("b", "2"),)))
    assert found.metadata == {"b": "2"}
    assert await store.completions.remove("k", "chatcmpl-001")
    assert await store.completions.find("k", "chatcmpl-001") is None
    assert not await store.completions.remove("k", "chatcmpl-001")


async def test_completions_too_old_or_too_many_are_pruned_from_the_oldest(store: Store) -> None:
    for number in range(20):
        body = b"x" * 1000
        await store.completions.keep(completion(number, time=NOON + number * DAY, request=body, answer=body))
    now = NOON + 20 * DAY
    assert await store.prune(Retention(completion_days=15, completion_bytes=0), now) == 5
    assert await store.prune(Retention(completion_days=0, completion_bytes=21_000), now) == 5
    assert await store.prune(Retention(completion_days=0, completion_bytes=21_000), now) == 0
    left = await store.completions.list(CompletionQuery("k", limit=100))
    assert [row.id for row in left] == [f"chatcmpl-{number:03}" for number in range(10, 20)]
    await store.completions.remove("k", "chatcmpl-010")
    assert await store.prune(Retention(completion_days=0, completion_bytes=18_000), now) == 0
