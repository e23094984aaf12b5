"""One request as it was read, and the reasons for which a request is refused.

Header names are lower-case bytes; a repeated header is joined with ", " (RFC 9110 §5.3). The body is whole and decoded,
unless it is an upload (`server_upload`).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Refusal(Exception):
    """What is wrong with a request, as a status and a sentence that may be shown to the client."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Request(Struct, eq=False):
    """A request; `path` is raw and without the query. Not frozen, because the body is filled in when it is complete.
    A Struct is made in 0.09 us, a class of ours in 0.21 us."""

    method: bytes
    path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    keep_alive: bool = True
    http10: bool = False
    body: bytes = b""
    admission: Any = None  # what was found at the end of its head, for the handler
    max_upload: int = 0  # bytes; not 0: the body may be handed on while it arrives
    upload: Any = None  # … and is: an Upload
    known_head: Any = None  # the KnownHead by which it was read

    def __repr__(self) -> str:
        return f"<Request {self.method!r} {self.path!r}, body of {len(self.body)} bytes>"


def split_target(target: bytes) -> tuple[bytes, bytes]:
    """A request target -> path, query. The absolute form (RFC 9112 §3.2.2) loses its scheme and authority."""
    path, _, query = target.partition(b"?")
    scheme, separator, rest = path.partition(b"://")
    if separator and scheme.isalpha():
        _, slash, tail = rest.partition(b"/")
        path = slash + tail or b"/"
    return path, query
