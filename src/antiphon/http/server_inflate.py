"""Decoding of compressed request bodies, in bounded pieces: a bomb is refused before it takes memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from antiphon.http.request import Refusal

# RFC 9110 §8.4.1; "x-gzip" is gzip's older name.
GZIP_NAMES = frozenset({b"gzip", b"x-gzip"})
DEFLATE = b"deflate"
IDENTITY = b"identity"
# A gzip body may have several members (RFC 1952 §2.2); each costs a new decompressor, so their number is bounded.
MAX_MEMBERS = 64
PIECE: Final = 256 * 1024  # bytes unpacked at a time
# Text of JSON packs 5 to 20 times smaller. Small bodies may do better, since they cannot do harm.
MAX_RATIO: Final = 100
FREE_SIZE: Final = 1024 * 1024

GZIP_WINDOW = 16 + zlib.MAX_WBITS


class RequestInflater:
    """`feed` compressed bytes, get plain ones; `close` at the end of the body."""

    __slots__ = ("_deflate", "_limit", "_machine", "_members", "_read", "produced")

    def __init__(self, limit: int, *, deflate: bool = False) -> None:
        self._limit = limit
        self._deflate = deflate
        self._read = 0
        self._members = 0
        self._machine: zlib._Decompress | None = None
        self.produced = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of at most PIECE bytes. Whoever takes them may stop before the next one is unpacked."""
        is_full = False  # the machine may have more to give than it was asked for
        while data or is_full:
            machine = self._machine
            if machine is None or machine.eof:
                machine = self._machine = self._begin(data)
            plain = self._inflate(machine, data)
            rest = machine.unconsumed_tail or machine.unused_data
            self._read += len(data) - len(rest)
            self.produced += len(plain)
            self._check()
            is_full = len(plain) == PIECE and not machine.eof
            data = rest
            yield plain

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
            return machine.decompress(data, min(PIECE, self._limit - self.produced + 1))
        except zlib.error:
            raise Refusal(400, "The request body is not valid in its content-encoding.") from None

    def _check(self) -> None:
        if self.produced > self._limit:
            raise Refusal(413, f"The request body is larger than {self._limit} bytes after decompression.")
        if self.produced > FREE_SIZE and self.produced > MAX_RATIO * self._read:
            words = f"The request body is compressed more than {MAX_RATIO} to 1. Please send it uncompressed."
            raise Refusal(413, words)


def deflate_window(first: int) -> int:
    """ "deflate" means zlib (RFC 9110 §8.4.1.2), but many senders send it raw; a zlib header begins with method 8."""
    return zlib.MAX_WBITS if first & 0x8F == 0x08 else -zlib.MAX_WBITS


def inflater_for(encoding: bytes, limit: int) -> RequestInflater | None:
    """The decoder for a content-encoding; None where there is nothing to decode."""
    name = encoding.strip().lower()
    if name in GZIP_NAMES:
        return RequestInflater(limit)
    if name == DEFLATE:
        return RequestInflater(limit, deflate=True)
    if name in (b"", IDENTITY):
        return None
    raise Refusal(415, "The content-encoding of the request is not supported; use gzip, deflate or none.")
