"""Keys that we issue. A key has a record, which lasts, and secrets, of which rotation adds new ones.

A secret is 256 random bits, so its SHA-256 digest is what the store keeps: a slow hash protects secrets that can be
guessed, and these cannot.
"""

from __future__ import annotations

import hashlib
import secrets
import string
from typing import Any, Final

import msgspec

PREFIX: Final = "ak-"
ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
LETTERS: Final = 43  # 62**43 > 2**256
SHOWN: Final = 4  # last letters of a secret that are kept for its owner to recognise it
LONGEST_NAME: Final = 256


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key but its secrets. None: as the server's settings say."""

    id: str
    name: str
    created: int
    owner: str | None = None
    team: str | None = None
    labels: dict[str, str] = {}
    expires: int | None = None
    revoked: int | None = None
    models: tuple[str, ...] | None = None  # names and patterns; None: every model
    dialect: str | None = None
    strict: bool | None = None
    receipts: bool | None = None
    limits: dict[str, Any] = {}
    budget: dict[str, Any] = {}
    safety: dict[str, Any] = {}

    def is_live(self, now: int) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)


class KeySecret(msgspec.Struct, frozen=True, kw_only=True):
    digest: bytes
    key_id: str
    hint: str
    created: int
    expires: int | None = None  # set by rotation: the end of the overlap

    def is_live(self, now: int) -> bool:
        return self.expires is None or now < self.expires


class KeyRecord(msgspec.Struct, frozen=True):
    """A key with its secrets, the newest first."""

    key: Key
    secrets: tuple[KeySecret, ...]


class KeyChanges(msgspec.Struct, frozen=True):
    """The keys that changed after a version of the store's keys. A revoked one is among them, revoked."""

    store: int  # identity of the store: another one has other versions
    version: int
    records: tuple[KeyRecord, ...]


class Issued(msgspec.Struct, frozen=True):
    """A new secret. `text` is shown once and kept nowhere."""

    text: str
    digest: bytes
    hint: str

    def for_key(self, key_id: str, now: int) -> KeySecret:
        return KeySecret(digest=self.digest, key_id=key_id, hint=self.hint, created=now)


def issue() -> Issued:
    number = secrets.randbits(256)
    letters = []
    for _ in range(LETTERS):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    text = PREFIX + "".join(letters)
    return Issued(text, digest_of(text.encode()), text[-SHOWN:])


def digest_of(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def new_key_id() -> str:
    return f"key_{secrets.token_hex(8)}"
