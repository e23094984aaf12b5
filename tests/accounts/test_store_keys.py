"""Issued keys in every store: found by digest, rotated, revoked; every change is noted and has a version."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from antiphon.accounts.keys import Key, digest_of, issue
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import NameTaken, Retention, Store
from tests.accounts.made import NOON, add_key, note

FULL: dict[str, Any] = {
    "owner": "ana@example.org",
    "team": "ml",
    "labels": {"env": "prod", "cost": "42"},
    "expires": NOON + DAY,
    "models": ("gpt-*", "small"),
    "dialect": "maritaca",
    "strict": True,
    "receipts": False,
    "limits": {"requests_per_minute": 60},
    "budget": {"month": 5_000_000},
    "safety": {"mode": "filter"},
}


async def test_a_key_is_found_by_its_digest_alone(store: Store) -> None:
    key, issued = await add_key(store, **FULL)
    found = await store.keys.find(digest_of(issued.text.encode()))
    assert found is not None
    assert found.key == key
    assert [secret.hint for secret in found.secrets] == [issued.text[-4:]]
    assert await store.keys.find(digest_of(b"ak-other")) is None
    assert await store.keys.find(b"") is None


async def test_a_key_is_found_by_name_and_id(store: Store) -> None:
    key, _ = await add_key(store, "app")
    await add_key(store, "other")
    for name in ("app", key.id):
        found = await store.keys.find_named(name)
        assert found is not None
        assert found.key == key
    assert await store.keys.find_named("nobody") is None


async def test_live_keys_have_names_of_their_own(store: Store) -> None:
    first, _ = await add_key(store, "app")
    with pytest.raises(NameTaken, match="app"):
        await add_key(store, "app")
    other, _ = await add_key(store, "other")
    with pytest.raises(NameTaken):
        await store.keys.replace(msgspec.structs.replace(other, name="app"), note())
    assert await store.keys.replace(msgspec.structs.replace(first, revoked=NOON), note("revoke"))
    second, _ = await add_key(store, "app")
    found = await store.keys.find_named("app")
    assert found is not None
    assert found.key.id == second.id


async def test_rotation_keeps_the_key_and_ends_its_other_secrets(store: Store) -> None:
    key, old = await add_key(store)
    new, newest = issue(), issue()
    assert await store.keys.rotate(new.for_key(key.id, NOON + 1), NOON + 100, note("rotate"))
    assert await store.keys.rotate(newest.for_key(key.id, NOON + 2), NOON + 500, note("rotate"))
    for issued in (old, new, newest):
        found = await store.keys.find(issued.digest)
        assert found is not None
        assert found.key == key
        ends = {secret.digest: secret.expires for secret in found.secrets}
        assert ends == {old.digest: NOON + 100, new.digest: NOON + 500, newest.digest: None}
        assert found.secrets[0].digest == newest.digest


async def test_a_revoked_key_is_not_rotated(store: Store) -> None:
    key, _ = await add_key(store)
    await store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note("revoke"))
    assert not await store.keys.rotate(issue().for_key(key.id, NOON), NOON, note("rotate"))
    assert not await store.keys.rotate(issue().for_key("key_none", NOON), NOON, note("rotate"))
    assert not await store.keys.replace(Key(id="key_none", name="x", created=NOON), note())


async def test_pages_of_keys(store: Store) -> None:
    made = {(await add_key(store, f"key {number}"))[0].id for number in range(15)}
    gone = sorted(made)[3]
    found = await store.keys.find_named(gone)
    assert found is not None
    await store.keys.replace(msgspec.structs.replace(found.key, revoked=NOON), note())
    for revoked in (False, True):
        ids: list[str] = []
        while page := await store.keys.list(ids[-1] if ids else "", 4, revoked=revoked):
            assert all(record.secrets for record in page)
            ids += [record.key.id for record in page]
        assert ids == sorted(made if revoked else made - {gone})


async def test_every_change_raises_the_version_and_is_fed(store: Store) -> None:
    identity, start = await store.keys.version()
    key, _ = await add_key(store, "a")
    other, _ = await add_key(store, "b")
    changes = await store.keys.changes(start)
    assert {record.key.id for record in changes.records} == {key.id, other.id}
    assert changes.store == identity
    assert (identity, changes.version) == await store.keys.version()
    assert (await store.keys.changes(changes.version)).records == ()
    await store.keys.rotate(issue().for_key(key.id, NOON), NOON, note())
    rotated = await store.keys.changes(changes.version)
    assert [(record.key.id, len(record.secrets)) for record in rotated.records] == [(key.id, 2)]
    await store.keys.replace(msgspec.structs.replace(other, revoked=NOON), note())
    revoked = await store.keys.changes(rotated.version)
    assert [(record.key.id, record.key.revoked) for record in revoked.records] == [(other.id, NOON)]


async def test_changes_are_noted_in_order_and_kept_for_a_time(store: Store) -> None:
    key, _ = await add_key(store)
    await store.keys.rotate(issue().for_key(key.id, NOON), NOON, note("rotate", NOON + 10 * DAY))
    await store.keys.replace(msgspec.structs.replace(key, revoked=NOON), note("revoke", NOON + 20 * DAY))
    notes = await store.keys.notes(limit=2)
    assert [one.action for _, one in notes] == ["create", "rotate"]
    assert [one.action for _, one in await store.keys.notes(notes[-1][0])] == ["revoke"]
    assert await store.prune(Retention(audit_days=5), NOON + 21 * DAY)
    assert [one.action for _, one in await store.keys.notes()] == ["revoke"]


async def test_a_failed_change_leaves_nothing(store: Store) -> None:
    await add_key(store, "app")
    before = await store.keys.version()
    with pytest.raises(NameTaken):
        await add_key(store, "app")
    assert len(await store.keys.list()) == 1
    assert len(await store.keys.notes()) == 1
    assert await store.keys.version() == before


HOSTILE = ["' or '1'='1", "app'; drop table keys; --", "%", "_", '"', "\\", "$1", "?1"]


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_callers_send_is_never_part_of_a_statement(store: Store, text: str) -> None:
    """CVE-2026-42208 of LiteLLM: its check of keys built SQL from the key that was sent."""
    key, issued = await add_key(store, "app")
    assert await store.keys.find(text.encode()) is None
    assert await store.keys.find_named(text) is None
    named, _ = await add_key(store, text, owner=text, team=text, labels={text: text})
    found = await store.keys.find_named(text)
    assert found is not None
    assert found.key == named
    unharmed = await store.keys.find(issued.digest)
    assert unharmed is not None
    assert unharmed.key == key
