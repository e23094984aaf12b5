"""A head that a client sends again and again, as most do on a connection: the next time it is recognised, not read.

Safe because nothing is interpreted: the same bytes, from the same state of the parser, mean the same request. Only the
digits of content-length may differ, and the whole body must be here. Everything else goes through the parser.
"""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Struct

from antiphon.http.request import Request

# Headers by which a head does more than describe the request that follows it.
ACTING: Final = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade"})
LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)[ \t]*\r\n", re.IGNORECASE)
HEAD_END: Final = b"\r\n\r\n"
LARGEST: Final = 4096  # bytes; it is kept as long as its connection


class KnownHead(Struct, eq=False):
    """The bytes before and after the digits of content-length, `size` bytes with them, and what they were read as."""

    before: bytes
    after: bytes
    size: int
    digits: int  # of content-length; another number may come
    method: bytes
    path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    admission: Any = None  # what the handler found in it, for the requests to come

    def __repr__(self) -> str:
        return f"<KnownHead {self.method!r} {self.path!r}>"  # the headers hold keys


def know(data: bytes, request: Request) -> KnownHead | None:
    """What `data`, beginning with `request`, teaches; None unless it is exactly that, and its head an ordinary one."""
    end = data.find(HEAD_END) + len(HEAD_END)
    digits = LENGTH.search(data, 0, end)
    if digits is None or digits[1] != b"%d" % (len(data) - end) or len(data) - end != len(request.body):
        return None
    if end > LARGEST or request.http10 or not request.keep_alive or not ACTING.isdisjoint(request.headers):
        return None
    before, after = data[: digits.start(1)], data[digits.end(1) : end]
    return KnownHead(
        before, after, end, len(digits[1]), request.method, request.path, request.query, request.headers.copy()
    )
