"""Issued keys as the server knows keys: found by digest in the copy that a worker keeps of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from antiphon.accounts.key_cache import KeyCache
from antiphon.accounts.key_copy import KeyCopyReader
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.keys import Key as IssuedKey
from antiphon.accounts.stores.contract import StoreDown
from antiphon.errors import OverloadError
from antiphon.flow.ports import Account
from antiphon.limits.limit import MEASURES, Caller, Limit
from antiphon.routing.patterns import ModelPatterns, is_pattern
from antiphon.server.keys import ClientKey

OUTAGE: Final = "The API key cannot be checked right now. Please try again later."
POLL: Final = 0.25  # seconds between looks at the copy
SetPolicy = Callable[[str, Mapping[str, Any]], None]


class IssuedKeys:
    """`set_policy`: told what a key says of safety, once for each version of a key."""

    def __init__(self, path: str, max_age: float, max_requests: int, set_policy: SetPolicy) -> None:
        self._cache = KeyCache(int(max_age * 1_000_000))
        self._reader = KeyCopyReader(path, self._cache)
        self._max_requests = max_requests
        self._set_policy = set_policy
        self._made: dict[str, tuple[IssuedKey, ClientKey]] = {}  # by id
        self._version: tuple[int, int] | None = None

    def poll(self) -> None:
        """Takes over what has changed. Keys that are gone are forgotten."""
        self._reader.poll(wall_clock())
        version = self._cache.store, self._cache.version
        if version != self._version:
            self._version = version
            self._made = {id: made for id, made in self._made.items() if self._cache.knows(id)}

    def find(self, digest: bytes) -> ClientKey | None:
        try:
            found = self._cache.find(digest, wall_clock())
        except StoreDown:
            raise OverloadError(OUTAGE, code="keys_unavailable", retry_after=1) from None
        if found is None:
            return None
        made = self._made.get(found.id)
        if made is None or (made[0] is not found and made[0] != found):
            made = (found, self._make(found, digest))
        if made[0] is not found or found.id not in self._made:
            self._made[found.id] = (found, made[1])
        return made[1]

    def caller(self, key_id: str) -> Caller | None:
        """Who the key with this id is for the limits. None: there is none, or not any more."""
        found = self._cache.get(key_id)
        return None if found is None else caller_of(found)

    def _make(self, found: IssuedKey, digest: bytes) -> ClientKey:
        self._set_policy(found.id, found.safety)
        account = Account(found.id, found.team, allowed(found.models), caller_of(found))
        return ClientKey(found.name, digest, found.dialect, found.strict, found.receipts, self._max_requests, account)


def allowed(models: tuple[str, ...] | None) -> Callable[[str], bool] | None:
    """Whether a model is one of these names and patterns."""
    if models is None:
        return None
    names, patterns = frozenset(models), ModelPatterns(filter(is_pattern, models))
    return lambda model: model in names or patterns.find(model) is not None


def caller_of(key: IssuedKey) -> Caller:
    """Limits of the settings know an issued key by its name; what it uses is counted by its id."""
    measures = {name: most for name, most in {**key.limits, **key.budget}.items() if name in MEASURES}
    own = (Limit(f"key:{key.name}", **measures),) if measures else ()
    return Caller(key.id, key.team, key.labels, own, key.name)
