"""AWS Signature Version 4, for requests with a JSON body. Pure: the time is an argument."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_RESERVED: Final = re.compile(rb"[^A-Za-z0-9_.~-]")
_RESERVED_IN_PATH: Final = re.compile(rb"[^A-Za-z0-9_.~/-]")


def escape(text: str) -> str:
    """As one segment of a path: all but letters, digits and `-_.~` is escaped, `/` and `:` too."""
    return _RESERVED.sub(_percent, text.encode()).decode()


def _percent(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]


class Signer:
    """Signs for one credential, region and service. The key of the day is made once a day."""

    __slots__ = ("_access_key", "_day", "_key", "_region", "_secret", "_service", "_token")

    def __init__(self, access_key: str, secret: str, *, region: str, service: str, token: str | None = None) -> None:
        self._access_key = access_key
        self._secret = secret
        self._region = region
        self._service = service
        self._token = token  # of a session, with credentials that expire
        self._day = ""
        self._key = b""

    def __repr__(self) -> str:
        return f"Signer(region={self._region!r}, service={self._service!r})"

    def sign(
        self, method: str, host: str, path: str, body: bytes, now: int, headers: Iterable[tuple[str, str]] = ()
    ) -> list[tuple[str, str]]:
        """The headers to send beside `headers`, which are signed too. `host` is the value of the host header, `path`
        the path of the request line, without a query. `now` is in Unix seconds."""
        moment = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
        added = [("x-amz-date", moment)]
        if self._token is not None:
            added.append(("x-amz-security-token", self._token))
        signed = {name.lower(): " ".join(value.split()) for name, value in (("host", host), *headers, *added)}
        names = ";".join(sorted(signed))
        lines = [method, _escape_again(path), ""]
        lines += [f"{name}:{signed[name]}" for name in sorted(signed)]
        lines += ["", names, hashlib.sha256(body).hexdigest()]
        scope = f"{moment[:8]}/{self._region}/{self._service}/aws4_request"
        request = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        text = f"{_ALGORITHM}\n{moment}\n{scope}\n{request}"
        signature = hmac.digest(self._key_of(moment[:8]), text.encode(), "sha256").hex()
        proof = f"{_ALGORITHM} Credential={self._access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        return [*added, ("authorization", proof)]

    def _key_of(self, day: str) -> bytes:
        if day != self._day:
            key = b"AWS4" + self._secret.encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key, self._day = key, day
        return self._key


def _escape_again(path: str) -> str:
    """Every service but S3 signs the path escaped once more: `%3A` -> `%253A`."""
    return _RESERVED_IN_PATH.sub(_percent, path.encode()).decode()
