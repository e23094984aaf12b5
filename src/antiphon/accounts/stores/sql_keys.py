"""Issued keys in a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from antiphon.accounts.keys import Key, KeyChanges, KeyRecord, KeySecret
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.contract import STEP, AuditNote, NameTaken, Retention
from antiphon.accounts.stores.database import Database, DatabaseConnection, Row

VERSION: Final = "select value from meta where name = 'key_version'"
IDENTITY: Final = "select value from meta where name = 'identity'"
# The first statement of every change: it locks the row, so versions are committed in their order.
NEXT_VERSION: Final = "update meta set value = value + 1 where name = 'key_version'"
NAMED: Final = "select id from keys where name = $1 and id <> $2 and revoked is null"
ADD: Final = "insert into keys (id, name, created, revoked, version, document) values ($1, $2, $3, $4, $5, $6)"
REPLACE: Final = "update keys set name = $2, revoked = $3, version = $4, document = $5 where id = $1"
TOUCH: Final = "update keys set version = $2 where id = $1 and revoked is null"
INSERT_DIGEST: Final = "insert into secrets (digest, key_id, hint, created, expires) values ($1, $2, $3, $4, $5)"
END_SECRETS: Final = "update secrets set expires = $2 where key_id = $1 and (expires is null or expires > $2)"
OWNER: Final = "select key_id from secrets where digest = $1"
BY_ID: Final = "select document from keys where id = $1"
BY_NAME: Final = "select document from keys where name = $1 order by revoked is not null, revoked desc limit 1"
LIVE: Final = "select document from keys where id > $1 and revoked is null order by id limit $2"
ALL: Final = "select document from keys where id > $1 order by id limit $2"
CHANGED: Final = "select document from keys where version > $1 order by version, id"
SECRETS: Final = (
    "select digest, key_id, hint, created, expires from secrets where key_id = $1 order by created desc, digest desc"
)
SECRETS_CHANGED: Final = (
    "select digest, key_id, hint, secrets.created, expires from secrets join keys on keys.id = key_id "
    "where version > $1 order by secrets.created desc, digest desc"
)
NOTE: Final = "insert into audit (time, actor, action, subject, detail) values ($1, $2, $3, $4, $5)"
NOTES: Final = (
    "select number, time, actor, action, subject, detail from audit where number > $1 order by number limit $2"
)
PRUNE: Final = "delete from audit where number in (select number from audit where time < $1 order by time limit $2)"


class SqlKeys:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: Key, secret: KeySecret, note: AuditNote) -> None:
        async with self._database.writing() as connection:
            version = await _next_version(connection)
            await _check_name(connection, key)
            await connection.execute(ADD, key.id, key.name, key.created, key.revoked, version, _document(key))
            await connection.execute(INSERT_DIGEST, *_secret_values(secret))
            await _note(connection, note)

    async def replace(self, key: Key, note: AuditNote) -> bool:
        async with self._database.writing() as connection:
            version = await _next_version(connection)
            if not await connection.fetch(BY_ID, key.id):
                return False
            await _check_name(connection, key)
            await connection.execute(REPLACE, key.id, key.name, key.revoked, version, _document(key))
            await _note(connection, note)
            return True

    async def rotate(self, secret: KeySecret, others_end: int, note: AuditNote) -> bool:
        async with self._database.writing() as connection:
            version = await _next_version(connection)
            if not await connection.execute(TOUCH, secret.key_id, version):
                return False
            await connection.execute(END_SECRETS, secret.key_id, others_end)
            await connection.execute(INSERT_DIGEST, *_secret_values(secret))
            await _note(connection, note)
            return True

    async def find(self, digest: bytes) -> KeyRecord | None:
        async with self._database.reading() as connection:
            owners = await connection.fetch(OWNER, digest)
            return await _record(connection, BY_ID, owners[0][0]) if owners else None

    async def find_named(self, name: str) -> KeyRecord | None:
        async with self._database.reading() as connection:
            return await _record(connection, BY_ID, name) or await _record(connection, BY_NAME, name)

    async def list(self, after: str = "", limit: int = 100, *, revoked: bool = False) -> Sequence[KeyRecord]:
        async with self._database.reading() as connection:
            rows = await connection.fetch(ALL if revoked else LIVE, after, limit)
            keys = [msgspec.json.decode(row[0], type=Key) for row in rows]
            return [KeyRecord(key, await _secrets(connection, key)) for key in keys]

    async def version(self) -> tuple[int, int]:
        async with self._database.reading() as connection:
            return await _version(connection)

    async def changes(self, since: int) -> KeyChanges:
        async with self._database.reading() as connection:
            identity, version = await _version(connection)
            rows = await connection.fetch(CHANGED, since)
            secrets: dict[str, list[KeySecret]] = {}
            for row in await connection.fetch(SECRETS_CHANGED, since):
                secrets.setdefault(row[1], []).append(_secret(row))
        keys = [msgspec.json.decode(row[0], type=Key) for row in rows]
        return KeyChanges(identity, version, tuple(KeyRecord(key, tuple(secrets.get(key.id, ()))) for key in keys))

    async def notes(self, after: int = 0, limit: int = 100) -> Sequence[tuple[int, AuditNote]]:
        async with self._database.reading() as connection:
            rows = await connection.fetch(NOTES, after, limit)
        return [(row[0], _audit_note(row)) for row in rows]

    async def prune(self, keep: Retention, now: int) -> int:
        if not keep.audit_days:
            return 0
        async with self._database.writing() as connection:
            return await connection.execute(PRUNE, now - keep.audit_days * DAY, STEP)


async def _next_version(connection: DatabaseConnection) -> int:
    await connection.execute(NEXT_VERSION)
    return int((await connection.fetch(VERSION))[0][0])


async def _version(connection: DatabaseConnection) -> tuple[int, int]:
    return int((await connection.fetch(IDENTITY))[0][0]), int((await connection.fetch(VERSION))[0][0])


async def _check_name(connection: DatabaseConnection, key: Key) -> None:
    if key.revoked is None and await connection.fetch(NAMED, key.name, key.id):
        raise NameTaken(f"there is a key named {key.name!r}")


async def _record(connection: DatabaseConnection, statement: str, value: str) -> KeyRecord | None:
    rows = await connection.fetch(statement, value)
    if not rows:
        return None
    key = msgspec.json.decode(rows[0][0], type=Key)
    return KeyRecord(key, await _secrets(connection, key))


async def _secrets(connection: DatabaseConnection, key: Key) -> tuple[KeySecret, ...]:
    return tuple(_secret(row) for row in await connection.fetch(SECRETS, key.id))


async def _note(connection: DatabaseConnection, note: AuditNote) -> None:
    detail = msgspec.json.encode(note.detail).decode()
    await connection.execute(NOTE, note.time, note.actor, note.action, note.subject, detail)


def _audit_note(row: Row) -> AuditNote:
    _, time, actor, action, subject, detail = row
    return AuditNote(time=time, actor=actor, action=action, subject=subject, detail=msgspec.json.decode(detail))


def _document(key: Key) -> str:
    return msgspec.json.encode(key).decode()


def _secret_values(secret: KeySecret) -> tuple[object, ...]:
    return secret.digest, secret.key_id, secret.hint, secret.created, secret.expires


def _secret(row: Row) -> KeySecret:
    return KeySecret(digest=bytes(row[0]), key_id=row[1], hint=row[2], created=row[3], expires=row[4])
