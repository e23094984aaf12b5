"""Who may ask: static keys and issued ones, found by digest. The digest is what is kept; the secret itself is not.

Looking a SHA-256 digest up in a table tells an attacker nothing about the secrets in it; the final comparison is
constant-time all the same.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from antiphon.errors import AuthError, OverloadError
from antiphon.flow.ports import Account

SHOWN = 4  # characters of a wrong key that are shown back at its end
HEADERS = (b"x-api-key", b"api-key", b"x-goog-api-key")  # Anthropic's and Skytells', Azure's, Google's
HEADER_WINS = frozenset({"skytells", "messages"})


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

    def is_static(self, key: ClientKey | None) -> bool:
        """The same head will have the same key as long as this process lives. An issued key may be revoked."""
        return self.is_empty or (key is not None and self._keys.get(key.digest) is key)

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
    """`Authorization: Bearer k` or `Key k` (Maritaca), or a header of a vendor's, such as `x-api-key: k`, which wins in
    skytells and in the Messages API [keys-by-header]."""
    given = headers.get(b"authorization", b"")
    if given[:7] == b"Bearer " and dialect not in HEADER_WINS:  # nearly always
        return given[7:].strip() or None
    scheme, _, secret = given.strip().partition(b" ")
    bearer = secret.strip() if scheme.lower() in (b"bearer", b"key") else None
    other = next((found for name in HEADERS if (found := headers.get(name, b"").strip())), None)
    return (other or bearer) if dialect in HEADER_WINS else (bearer or other)


def with_query_key(headers: Mapping[bytes, bytes], query: bytes) -> Mapping[bytes, bytes]:
    """Google's clients may show their key in the query (`?key=k`). A header counts before it."""
    found = parse_qs(query.decode("latin-1")).get("key")
    return {b"x-goog-api-key": found[-1].encode(), **headers} if found else headers


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
