"""What an issued key says has effect in a worker: rules of safety, its end, its limits; and a copy that is too old."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from antiphon.accounts.key_cache import KeyCache
from antiphon.accounts.key_copy import KeyCopyWriter
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.keys import Key, KeyChanges, KeyRecord, issue
from antiphon.billing.issued_keys import IssuedKeys
from antiphon.errors import OverloadError
from antiphon.safety.policies import Policies
from antiphon.settings import load
from antiphon.settings.policies import policies
from antiphon.upstreams.catalog import CATALOG
from antiphon.wiring_accounts import AccountsPlan, open_issued_keys

HOUR = 3600 * 1_000_000


def worker(folder: Path, *keys: Key) -> tuple[IssuedKeys, Policies, list[bytes]]:
    """A worker's part of these keys, as the accounts process tells it, and their digests."""
    secrets, now = [issue() for _ in keys], wall_clock()
    cache = KeyCache()
    pairs = zip(keys, secrets, strict=True)
    records = tuple(KeyRecord(key, (secret.for_key(key.id, now),)) for key, secret in pairs)
    cache.apply(KeyChanges(7, 1, records), now)
    KeyCopyWriter(str(folder / "keys"), cache).write()
    (folder / "antiphon.toml").write_text("[accounts]\nkeys_max_age = 60\n")
    settings = load(str(folder / "antiphon.toml"), {}, CATALOG)
    rules = policies(settings)
    plan = AccountsPlan("memory:", "", str(folder / "keys"), "", 16)
    return open_issued_keys(settings, plan, rules), rules, [secret.digest for secret in secrets]


def test_its_rules_of_safety_are_in_force(tmp_path: Path) -> None:
    strict = Key(id="key_1", name="strict", created=1, safety={"mode": "filter", "preset": "strict"})
    issued, rules, [digest, other] = worker(tmp_path, strict, Key(id="key_2", name="usual", created=1))
    for one in (digest, other):
        assert issued.find(one) is not None
    ruled, usual = rules.find("m", "key_1"), rules.find("m", "key_2")
    assert ruled is not None
    assert usual is not None
    assert ruled.prompt.filters
    assert not usual.prompt.filters


def test_it_ends_when_it_expires(tmp_path: Path) -> None:
    ended = Key(id="key_1", name="ended", created=1, expires=wall_clock() - 1)
    lives = Key(id="key_2", name="lives", created=1, expires=wall_clock() + HOUR, limits={"concurrent": 3})
    issued, _, [digest, other] = worker(tmp_path, ended, lives)
    assert issued.find(digest) is None
    found = issued.find(other)
    assert found is not None
    assert found.account is not None
    assert [limit.concurrent for limit in found.account.caller.limits] == [3]


def test_a_copy_that_is_too_old_says_nothing(tmp_path: Path) -> None:
    issued, _, [digest] = worker(tmp_path, Key(id="key_1", name="a", created=1))
    assert issued.find(digest) is not None
    long_ago = (wall_clock() - 61 * 1_000_000) * 1000
    os.utime(tmp_path / "keys", ns=(long_ago, long_ago))
    issued.poll()
    with pytest.raises(OverloadError) as caught:
        issued.find(digest)
    assert (caught.value.status, caught.value.retry_after) == (503, 1)
