"""Keys: issue, list, show, rotate, revoke. The store keeps digests and notes who changed what."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request

from antiphon.accounts.key_documents import key_document
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.keys import LONGEST_NAME, Key, KeyRecord, issue, new_key_id
from antiphon.accounts.stores.contract import AuditNote, NameTaken
from antiphon.control.admin.endpoint import (
    PAGE,
    AdminEndpoint,
    AdminError,
    Param,
    page,
    read_count,
    read_cursor,
    read_json,
)
from antiphon.control.admin.store import OpenStore

SECOND: Final = 1_000_000  # the store's times are microseconds
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=r"^\S([^\x00-\x1f\x7f]*\S)?$")]
Most = Annotated[int, Meta(ge=1, le=10**12)]
Micros = Annotated[int, Meta(ge=1, le=10**15)]


class NewLimits(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    requests_per_minute: Most | None = None
    tokens_per_minute: Most | None = None
    input_tokens_per_minute: Most | None = None
    output_tokens_per_minute: Most | None = None
    concurrent: Most | None = None


class NewBudget(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """In millionths of the currency."""

    day: Micros | None = None
    month: Micros | None = None
    total: Micros | None = None


class NewSafety(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    mode: Literal["filter", "annotate"] | None = None
    preset: Literal["strict", "enterprise", "child_safe", "moderate", "minimal", "annotate-only"] | None = None


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """What is not said holds as the server's settings say."""

    name: Name
    owner: Name | None = None
    team: Name | None = None
    labels: Annotated[dict[Name, Name], Meta(max_length=1000)] = {}
    expires: Annotated[int, Meta(ge=1, le=253_402_300_799)] | None = None  # Unix seconds
    models: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    dialect: Literal["openai", "crazyrouter", "skytells", "maritaca"] | None = None
    strict: bool | None = None
    receipts: bool | None = None
    limits: NewLimits = msgspec.field(default_factory=NewLimits)
    budget: NewBudget = msgspec.field(default_factory=NewBudget)
    safety: NewSafety = msgspec.field(default_factory=NewSafety)


class Rotation(msgspec.Struct, forbid_unknown_fields=True):
    overlap: Annotated[int, Meta(ge=0, le=366 * 86400)] = 86400  # seconds for which the other secrets go on


class KeyEndpoints:
    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def rows(self) -> list[AdminEndpoint]:
        revoked = Param("revoked", "true: also keys that are revoked", "boolean")
        return [
            AdminEndpoint("GET", "/keys", "Keys, in the order of their ids.", self.list, (*PAGE, revoked)),
            AdminEndpoint("POST", "/keys", "Issue a key. Its secret is shown this once.", self.create, (), NewKey, 201),
            AdminEndpoint("GET", "/keys/{key}", "One key, by its id or name.", self.show),
            AdminEndpoint(
                "POST", "/keys/{key}/rotate", "Issue a new secret for a key; shown once.", self.rotate, (), Rotation
            ),
            AdminEndpoint("POST", "/keys/{key}/revoke", "End a key for good, with all its secrets.", self.revoke),
        ]

    async def list(self, request: Request) -> Any:
        limit, after = read_count(request), read_cursor(request, str)
        with_revoked = request.query_params.get("revoked", "").lower() in ("1", "true", "yes")
        store = await self._store.open()
        records = await store.keys.list(after or "", limit, revoked=with_revoked)
        now = wall_clock()
        return page([key_document(record, now) for record in records], records and records[-1].key.id, limit)

    async def create(self, request: Request) -> Any:
        asked, now, issued = await read_json(request, NewKey), wall_clock(), issue()
        key = _new_key(asked, now)
        store = await self._store.open()
        try:
            await store.keys.add(key, issued.for_key(key.id, now), _note("create", key, now))
        except NameTaken:
            raise AdminError(409, "name_taken", "A live key has this name.", "name") from None
        return {**key_document(await self._find(key.id), now), "secret": issued.text}

    async def show(self, request: Request) -> Any:
        return key_document(await self._find(request.path_params["key"]), wall_clock())

    async def rotate(self, request: Request) -> Any:
        asked = await read_json(request, Rotation)
        key, now, issued = (await self._find(request.path_params["key"])).key, wall_clock(), issue()
        store = await self._store.open()
        ends = now + asked.overlap * SECOND
        if not await store.keys.rotate(issued.for_key(key.id, now), ends, _note("rotate", key, now)):
            raise AdminError(409, "key_revoked", "This key is revoked.")
        return {**key_document(await self._find(key.id), now), "secret": issued.text}

    async def revoke(self, request: Request) -> Any:
        key, now = (await self._find(request.path_params["key"])).key, wall_clock()
        if key.revoked is None:
            store = await self._store.open()
            await store.keys.replace(msgspec.structs.replace(key, revoked=now), _note("revoke", key, now))
        return key_document(await self._find(key.id), now)

    async def _find(self, name: str) -> KeyRecord:
        found = await (await self._store.open()).keys.find_named(name)
        if found is None:
            raise AdminError(404, "no_such_key", "There is no key with this id or name.")
        return found


def _new_key(asked: NewKey, now: int) -> Key:
    expires = None if asked.expires is None else asked.expires * SECOND
    if expires is not None and expires <= now:
        raise AdminError(400, "invalid_request", "The key would have expired already.", "expires")
    return Key(
        id=new_key_id(),
        name=asked.name,
        created=now,
        owner=asked.owner,
        team=asked.team,
        labels=asked.labels,
        expires=expires,
        models=None if asked.models is None else tuple(dict.fromkeys(asked.models)),
        dialect=asked.dialect,
        strict=asked.strict,
        receipts=asked.receipts,
        limits=msgspec.to_builtins(asked.limits),
        budget=msgspec.to_builtins(asked.budget),
        safety=msgspec.to_builtins(asked.safety),
    )


def _note(action: str, key: Key, now: int) -> AuditNote:
    return AuditNote(time=now, actor="admin", action=f"key.{action}", subject=key.id, detail={"name": key.name})
