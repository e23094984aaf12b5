"""Who may ask: static keys and issued ones, found by digest. The digest is what is kept; the secret itself is not.

Looking a SHA-256 digest up in a table tells an attacker nothing about the secrets in it; the final comparison is
constant-time all the same.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from antiphon.errors import AuthError, OverloadError
from antiphon.flow.ports import Account

SHOWN = 4  # characters of a wrong key that are shown back at its end


@dataclass(frozen=True, slots=True)
class ClientKey:
    name: str
    digest: bytes
    dialect: str | None
    strict: bool | None
    receipts: bool | None = None
    max_requests: int = 0  # that are being answered at a time; 0: no limit
    account: Account | None = None


Issued = Callable[[bytes], ClientKey | None]
"""The issued key with this digest. Raises OverloadError where nobody can say whether there is one."""


def digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


class KeyRing:
    def __init__(self, keys: Iterable[ClientKey], *, required: bool, issued: Issued | None = None) -> None:
        """`issued`: None where no keys are issued."""
        self._keys = {key.digest: key for key in keys}
        self._required = required
        self._issued = issued
        self.are_limited = any(key.max_requests for key in self._keys.values())
        self.is_empty = not self._keys and not required and issued is None  # then nobody is asked for a key

    def admit(self, headers: Mapping[bytes, bytes], *, dialect: str) -> ClientKey | None:
        """The key of this request. None: no key is needed (an unknown one is then ignored [unknown-key-ignored])."""
        if self.is_empty:
            return None
        secret = presented(headers, dialect)
        if not self._required:
            return self._find_calmly(secret)
        key = self._find(secret)
        if key is None:
            raise _refusal(secret)
        return key

    def find(self, headers: Mapping[bytes, bytes], *, dialect: str) -> ClientKey | None:
        """The key of this request, if it is one of ours."""
        return None if self.is_empty else self._find_calmly(presented(headers, dialect))

    def _find(self, secret: bytes | None) -> ClientKey | None:
        """Raises OverloadError where nobody can say whose it is [store-outage]."""
        if not secret:
            return None
        wanted = hashlib.sha256(secret).digest()
        key = self._keys.get(wanted)
        if key is not None and hmac.compare_digest(key.digest, wanted):
            return key
        return None if self._issued is None else self._issued(wanted)

    def _find_calmly(self, secret: bytes | None) -> ClientKey | None:
        """None as well where nobody can say."""
        try:
            return self._find(secret)
        except OverloadError:
            return None


def presented(headers: Mapping[bytes, bytes], dialect: str) -> bytes | None:
    """`Authorization: Bearer k` or `Key k` (Maritaca), or `x-api-key: k`, which wins in skytells [keys-by-header]."""
    given = headers.get(b"authorization", b"")
    if given[:7] == b"Bearer " and dialect != "skytells":  # nearly always
        return given[7:].strip() or None
    scheme, _, secret = given.strip().partition(b" ")
    bearer = secret.strip() if scheme.lower() in (b"bearer", b"key") else None
    other = headers.get(b"x-api-key", b"").strip() or None
    return (other or bearer) if dialect == "skytells" else (bearer or other)


def _refusal(secret: bytes | None) -> AuthError:
    if secret:
        return AuthError(f"Incorrect API key provided: {masked(secret)}.", code="invalid_api_key")
    return AuthError(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY)."
    )


def masked(secret: bytes) -> str:
    text = secret.decode("ascii", "replace")
    if len(text) < 3 * SHOWN or not text.isprintable():
        return "***"
    return f"{text[:3]}***{text[-SHOWN:]}"
