"""Browser clients, by setting: which origins may read answers (Fetch standard, CORS protocol)."""

from __future__ import annotations

from collections.abc import Mapping

EXPOSED = b"x-request-id, retry-after, openai-processing-ms"
METHODS = b"GET, POST, DELETE, OPTIONS"
MAX_AGE = b"600"


class Cors:
    def __init__(self, origins: tuple[str, ...]) -> None:
        self._any = "*" in origins
        self._origins = frozenset(origin.encode("latin-1", "replace").rstrip(b"/").lower() for origin in origins)
        self.on = bool(origins)

    def headers(self, headers: Mapping[bytes, bytes]) -> bytes:
        allowed = self._allowed(headers)
        if allowed is None:
            return b"vary: origin\r\n"
        return b"access-control-allow-origin: %b\r\naccess-control-expose-headers: %b\r\nvary: origin\r\n" % (
            allowed,
            EXPOSED,
        )

    def preflight(self, method: bytes, headers: Mapping[bytes, bytes]) -> bytes | None:
        """The extra lines of a preflight's answer; None if this is none, or not from an allowed origin."""
        if not self.on or method != b"OPTIONS" or b"access-control-request-method" not in headers:
            return None
        if self._allowed(headers) is None:
            return None
        wanted = headers.get(b"access-control-request-headers", b"authorization, content-type")
        return (
            b"access-control-allow-methods: %b\r\naccess-control-allow-headers: %b\r\naccess-control-max-age: %b\r\n"
            % (
                METHODS,
                wanted,
                MAX_AGE,
            )
        )

    def _allowed(self, headers: Mapping[bytes, bytes]) -> bytes | None:
        origin = headers.get(b"origin")
        if origin is None or not self.on:
            return None
        if self._any:
            return b"*"
        return origin if origin.lower() in self._origins else None
