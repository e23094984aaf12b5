"""Where credentials that expire come from. Each `fetch` blocks, raises FetchError, and is called in the keeper only."""

from __future__ import annotations

import base64
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

import msgspec

GOOGLE_TOKENS: Final = "https://oauth2.googleapis.com/token"
GOOGLE_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
GOOGLE_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ENTRA_TOKENS: Final = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token"
ENTRA_SCOPE: Final = "https://cognitiveservices.azure.com/.default"
LIFE: Final = 3600  # seconds that Google's tokens live, and that others are taken to live
SECONDS: Final = 15  # for one answer
MOST_BYTES: Final = 1024 * 1024


class Fetched(NamedTuple):
    values: dict[str, str]  # `token`; or `access_key_id`, `secret_access_key` and perhaps `session_token`
    lives: float  # seconds


class FetchError(Exception):
    """The message is for the log: it never holds a secret."""


class CredentialSource(Protocol):
    def fetch(self) -> Fetched: ...


@dataclass(frozen=True, slots=True)
class GoogleAccount:
    """A service account: an assertion signed with its key is exchanged for a token."""

    file: str
    token_url: str | None = None

    def fetch(self) -> Fetched:
        account = self._read()
        url = self.token_url or account.get("token_uri") or GOOGLE_TOKENS
        now = int(time.time())
        claims = {"iss": account["client_email"], "scope": GOOGLE_SCOPE, "aud": account.get("token_uri") or url}
        assertion = _sign_jwt({**claims, "iat": now, "exp": now + LIFE}, account)
        return _ask_token(url, {"grant_type": GOOGLE_GRANT, "assertion": assertion})

    def _read(self) -> dict[str, str]:
        """Anew each time: keys are rotated by replacing the file."""
        try:
            with open(self.file, "rb") as file:
                account: Any = msgspec.json.decode(file.read(MOST_BYTES))
        except (OSError, ValueError):
            raise FetchError("the service account's file cannot be read") from None
        if not isinstance(account, dict) or not all(
            isinstance(account.get(key), str) for key in ("client_email", "private_key")
        ):
            raise FetchError("the service account's file has no 'client_email' and 'private_key'")
        return account


@dataclass(frozen=True, slots=True)
class EntraClient:
    """An application of Microsoft Entra with a secret."""

    tenant_id: str
    client_id: str
    client_secret: str = field(repr=False)
    token_url: str | None = None

    def fetch(self) -> Fetched:
        url = self.token_url or ENTRA_TOKENS.format(tenant=urllib.parse.quote(self.tenant_id, safe=""))
        form = {"grant_type": "client_credentials", "scope": ENTRA_SCOPE}
        return _ask_token(url, {**form, "client_id": self.client_id, "client_secret": self.client_secret})


@dataclass(frozen=True, slots=True)
class AwsProfile:
    """Whatever botocore finds: a profile, SSO, a web identity, a container's or an instance's role."""

    name: str  # "default": wherever botocore usually looks

    def fetch(self) -> Fetched:
        try:
            session = import_module("botocore.session").Session(profile=None if self.name == "default" else self.name)
            found = session.get_credentials()
            if found is None:
                raise FetchError("botocore finds no credentials")
            keys = found.get_frozen_credentials()
        except FetchError:
            raise
        except Exception as error:  # botocore's own; their messages may quote what was answered
            raise FetchError(f"botocore failed: {type(error).__name__}") from None
        values = {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key}
        if keys.token:
            values["session_token"] = keys.token
        ends = getattr(found, "_expiry_time", None)
        return Fetched(values, LIFE if ends is None else ends.timestamp() - time.time())


def _sign_jwt(claims: dict[str, Any], account: dict[str, str]) -> str:
    header: dict[str, str] = {"alg": "RS256", "typ": "JWT"}
    if account.get("private_key_id"):
        header["kid"] = account["private_key_id"]
    said = b".".join(_url_safe(msgspec.json.encode(part)) for part in (header, claims))
    primitives = "cryptography.hazmat.primitives"
    try:
        key = import_module(f"{primitives}.serialization").load_pem_private_key(account["private_key"].encode(), None)
        padding = import_module(f"{primitives}.asymmetric.padding").PKCS1v15()
        signature = key.sign(said, padding, import_module(f"{primitives}.hashes").SHA256())
    except Exception as error:  # of many kinds, for a key of another kind or none
        raise FetchError(f"the service account's key cannot sign: {type(error).__name__}") from None
    return b".".join((said, _url_safe(signature))).decode()


def _url_safe(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _ask_token(url: str, form: dict[str, str]) -> Fetched:
    """OAuth's token endpoint (RFC 6749 §4.4, §5.1)."""
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode())  # noqa: S310  # the operator's URL
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            document: Any = msgspec.json.decode(answer.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        raise FetchError(f"the token endpoint answered {error.code}{_reason(error)}") from None
    except (OSError, ValueError) as error:
        raise FetchError(f"the token endpoint could not be asked: {type(error).__name__}") from None
    token = document.get("access_token") if isinstance(document, dict) else None
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise FetchError("the token endpoint answered without a token")
    lives = document.get("expires_in")
    return Fetched({"token": token}, float(lives) if isinstance(lives, int | float) and lives > 0 else LIFE)


def _reason(error: urllib.error.HTTPError) -> str:
    """Its `error` is one of a few words (RFC 6749 §5.2)."""
    try:
        document: Any = msgspec.json.decode(error.read(MOST_BYTES))
        word = document.get("error") if isinstance(document, dict) else None
    except (OSError, ValueError):
        return ""
    return f" ({word})" if isinstance(word, str) and word.isidentifier() and len(word) < 64 else ""
