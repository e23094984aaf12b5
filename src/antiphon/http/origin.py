"""Where an upstream lives: scheme, host and port, or a unix socket.

`parse_url` refuses what it would have to guess at; its messages never repeat the URL, which may hold a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, quote, unquote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
# RFC 3986 reserved and unreserved characters plus "%": what may stand in a path as it is.
_PATH_SAFE = "/%:@!$&'()*+,;=-._~"
_HOST = re.compile(r"[A-Za-z0-9._~-]+")
# `unix:/run/x.sock`, or with nginx's suffix for the path prefix: `unix:/run/x.sock:/v1`.
_UNIX = re.compile(r"unix:(?://)?(?P<socket>/.+?)(?::(?P<path>/.*))?")


@dataclass(frozen=True, slots=True)
class Origin:
    host: str
    port: int
    tls: bool = False
    unix: str | None = None  # path of a unix socket; host and port are then for the Host header only
    server_name: str | None = None  # for SNI and verification, where it is not the host

    @property
    def authority(self) -> str:
        """host:port, always with the port (CONNECT, log lines)."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def host_header(self) -> str:
        """host, and the port where it is not the scheme's own (RFC 9110 §7.2)."""
        usual = DEFAULT_PORTS["https" if self.tls else "http"]
        return _bracketed(self.host) if self.port == usual else self.authority

    @property
    def label(self) -> str:
        """For error details."""
        return f"unix:{self.unix}" if self.unix is not None else self.authority


def parse_url(url: str) -> tuple[Origin, bytes]:
    """-> (origin, path prefix without a trailing slash). http://, https://, http+unix://%2Fpath, unix:/path[:/v1]."""
    if not url.isprintable() or " " in url:
        raise ValueError("a URL must be printable and without spaces")
    unix = _UNIX.fullmatch(url)
    if unix is not None:
        return Origin("localhost", 80, unix=unix["socket"]), _prefix(unix["path"] or "")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # urllib's own words repeat what it was given
        raise ValueError("a URL needs a usable host and port") from None
    if parts.query or parts.fragment:
        raise ValueError("a URL here has no query and no fragment")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL here holds no credentials")
    if parts.scheme == "http+unix":
        return _parse_unix(parts)
    if parts.scheme not in DEFAULT_PORTS:
        raise ValueError("a URL begins with http://, https://, http+unix:// or unix:/")
    if port == 0:
        raise ValueError("port 0 cannot be connected to")
    origin = Origin(parse_host(parts.hostname or ""), port or DEFAULT_PORTS[parts.scheme], parts.scheme == "https")
    return origin, _prefix(parts.path)


def _parse_unix(parts: SplitResult) -> tuple[Origin, bytes]:
    socket = unquote(parts.netloc)
    if not socket.startswith("/"):
        raise ValueError("http+unix:// is followed by the socket's path, percent-encoded: http+unix://%2Frun%2Fx.sock")
    return Origin("localhost", 80, unix=socket), _prefix(parts.path)


def _prefix(path: str) -> bytes:
    return quote(path, safe=_PATH_SAFE).rstrip("/").encode("ascii")


def parse_host(host: str) -> str:
    """A host name in ASCII (IDNA) or an IP address; ValueError for anything else."""
    try:
        if ":" in host:
            return str(ip_address(host))
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except ValueError:
        raise ValueError("a URL needs a usable host and port") from None
    if not _HOST.fullmatch(name):
        raise ValueError("a URL needs a usable host and port")
    return name


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """localhost and its subdomains (RFC 6761 §6.3), 127.0.0.0/8, ::1."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
