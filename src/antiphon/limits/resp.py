"""A small client for Redis and Valkey: one connection, commands in order, replies as futures. See docs/limits.md.

Commands of one turn of the loop leave in one write. A connection that breaks fails what waits for a reply; the next
command connects anew. It speaks RESP3, so that pushed messages come on the same connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

PORT = 6379
SCHEMES = ("redis", "rediss", "valkey", "valkeys", "unix")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is, and who we are there. Never shown: it may hold a password."""

    host: str = "localhost"
    port: int = PORT
    path: str | None = None  # of a unix socket
    tls: bool = False
    user: str | None = None
    password: str | None = None
    database: int = 0

    def __repr__(self) -> str:
        return f"Place({self.path or f'{self.host}:{self.port}'})"


def parse_url(url: str) -> Place:
    """`redis://[[user]:password@]host[:port][/database]`, `rediss://…` with TLS, `unix:///path[?db=n]`.

    ValueError: what is wrong, in words that follow the setting's name and quote nothing of the URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("must be a URL, such as redis://localhost:6379/0") from None
    if parts.scheme not in SCHEMES:
        raise ValueError("must begin with redis://, rediss:// or unix://")
    query = parse_qs(parts.query)
    database = query.get("db", [""])[0] or ("" if parts.scheme == "unix" else parts.path.strip("/"))
    if database and not (database.isascii() and database.isdigit() and len(database) < 6):
        raise ValueError("must name its database by a number, such as redis://localhost:6379/0")
    user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
    if parts.scheme == "unix":
        if not parts.path.startswith("/"):
            raise ValueError("must name an absolute path: unix:///run/valkey.sock")
        return Place(path=unquote(parts.path), user=user or None, password=password, database=int(database or 0))
    if not parts.hostname:
        raise ValueError("must name a host, such as redis://localhost:6379/0")
    tls = parts.scheme in ("rediss", "valkeys")
    return Place(parts.hostname, port or PORT, None, tls, user or None, password, int(database or 0))
