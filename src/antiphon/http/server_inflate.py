"""Decoding of compressed request bodies, piece by piece: a bomb is refused as soon as it passes the limit."""

from __future__ import annotations

import zlib

from antiphon.http.request import Refusal

# RFC 9110 §8.4.1; "x-gzip" is gzip's older name.
GZIP_NAMES = frozenset({b"gzip", b"x-gzip"})
DEFLATE = b"deflate"
IDENTITY = b"identity"
# A gzip body may have several members (RFC 1952 §2.2); each costs a new decompressor, so their number is bounded.
MAX_MEMBERS = 64

GZIP_WINDOW = 16 + zlib.MAX_WBITS


class Inflater:
    """`feed` compressed bytes, get plain ones; `close` at the end of the body."""

    __slots__ = ("_deflate", "_limit", "_machine", "_members", "_produced")

    def __init__(self, limit: int, *, deflate: bool = False) -> None:
        self._limit = limit
        self._deflate = deflate
        self._produced = 0
        self._members = 0
        self._machine: zlib._Decompress | None = None

    def feed(self, data: bytes) -> bytes:
        pieces = []
        while data:
            machine = self._machine
            if machine is None or machine.eof:
                machine = self._machine = self._begin(data)
            pieces.append(self._inflate(machine, data))
            data = machine.unused_data
        return b"".join(pieces)

    def close(self) -> None:
        if self._machine is not None and not self._machine.eof:
            raise Refusal(400, "The compressed request body is cut short.")

    def _begin(self, data: bytes) -> zlib._Decompress:
        self._members += 1
        if self._members > (1 if self._deflate else MAX_MEMBERS):
            raise Refusal(400, "The compressed request body has data after its end.")
        return zlib.decompressobj(deflate_window(data[0]) if self._deflate else GZIP_WINDOW)

    def _inflate(self, machine: zlib._Decompress, data: bytes) -> bytes:
        try:
            # One byte more than is allowed tells "too large" from "just fits", and zlib never unpacks further.
            plain = machine.decompress(data, self._limit - self._produced + 1)
        except zlib.error:
            raise Refusal(400, "The request body is not valid in its content-encoding.") from None
        self._produced += len(plain)
        if self._produced > self._limit:
            raise Refusal(413, f"The request body is larger than {self._limit} bytes after decompression.")
        return plain


def deflate_window(first: int) -> int:
    """ "deflate" means zlib (RFC 9110 §8.4.1.2), but many senders send it raw; a zlib header begins with method 8."""
    return zlib.MAX_WBITS if first & 0x8F == 0x08 else -zlib.MAX_WBITS


def inflater_for(encoding: bytes, limit: int) -> Inflater | None:
    """The decoder for a content-encoding; None where there is nothing to decode."""
    name = encoding.strip().lower()
    if name in GZIP_NAMES:
        return Inflater(limit)
    if name == DEFLATE:
        return Inflater(limit, deflate=True)
    if name in (b"", IDENTITY):
        return None
    raise Refusal(415, "The content-encoding of the request is not supported; use gzip, deflate or none.")
