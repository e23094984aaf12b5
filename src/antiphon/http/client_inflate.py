"""Undoing the content-encoding of an answer piece by piece, with a bound on what comes out.

We ask for identity, but some servers compress whatever they are asked for.
"""

from __future__ import annotations

import zlib

# RFC 9110 §8.4.1: x-gzip is gzip.
INFLATABLE = frozenset({b"gzip", b"x-gzip", b"deflate"})
_GZIP_OR_ZLIB, _RAW = 47, -15  # zlib's wbits
_GZIP_MAGIC = b"\x1f\x8b"


class InflateError(ValueError):
    """Not what the encoding's name promised."""


class InflateLimit(ValueError):
    """More came out than is allowed."""


class AnswerInflater:
    """One body: gzip (several members in a row too, RFC 1952 §2.2), zlib, or bare deflate."""

    __slots__ = ("_held", "_machine", "_members")

    def __init__(self) -> None:
        self._machine: zlib._Decompress | None = None  # None between members
        self._members = 0
        self._held = b""  # a first byte that waits for the second: two tell the format

    @property
    def complete(self) -> bool:
        """Also where nothing came at all: an empty body is no broken one."""
        return self._machine is None and (self._members > 0 or not self._held)

    def feed(self, data: bytes, limit: int) -> bytes:
        """What `data` gives, at most `limit` bytes."""
        out: list[bytes] = []
        try:
            while data:
                piece, data = self._step(data, limit + 1)
                limit -= len(piece)
                if limit < 0:
                    raise InflateLimit("the decompressed body is too large")
                out.append(piece)
        except zlib.error as error:
            raise InflateError(str(error)) from None
        return b"".join(out)

    def _step(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        """-> (what came out, what is left to feed)"""
        if self._machine is None:
            data, self._held = self._held + data, b""
            if len(data) < 2:
                self._held = data
                return b"", b""
            if self._members and not data.startswith(_GZIP_MAGIC):
                return b"", b""  # what stands after the end is padding
            self._members += 1
            self._machine = zlib.decompressobj(_window(data))
        piece = self._machine.decompress(data, limit)
        if not self._machine.eof:
            return piece, b""
        rest = self._machine.unused_data
        self._machine = None
        return piece, rest


def _window(data: bytes) -> int:
    """RFC 9110 §8.4.1.2: deflate means the zlib format, but some send the bare stream. Two bytes tell them apart."""
    is_zlib = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return _GZIP_OR_ZLIB if is_zlib or data.startswith(_GZIP_MAGIC) else _RAW
