"""AWS event streams (`application/vnd.amazon.eventstream`): bytes in, in pieces of any size, messages out.

A message: u32 length of all · u32 length of the headers · u32 CRC of these eight bytes · headers · payload · u32 CRC of
all before. A header: u8 length · name · u8 type · value. Big-endian.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error
from typing import Final, NamedTuple
from zlib import crc32

from antiphon.chat.failure import malformed

MOST_HEADERS: Final = 16 * 1024  # AWS allows 128 KiB; headers of 100 bytes are usual
MOST_PAYLOAD: Final = 24 * 1024 * 1024  # AWS's own bound
_AROUND: Final = 16  # the prelude with its CRC, and the CRC of all
_PRELUDE: Final = Struct(">III")
_CRC: Final = Struct(">I")
_SHORT: Final = Struct(">H")
_STRING: Final = 7
_BYTES: Final = 6
# Type of a header's value -> its length: true, false, byte, short, int, long, timestamp, uuid.
_FIXED: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}


class EventMessage(NamedTuple):
    headers: bytes  # `read_headers` reads them; those of one stream are few and repeat
    payload: bytes


class MessageReader:
    """Cuts one stream into messages. Raises UpstreamError: the bytes are no event stream."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: bytes | bytearray = b""  # the beginning of a message

    def feed(self, data: bytes, out: list[EventMessage]) -> None:
        """Appends whole messages to `out`, also those that came before bytes that cannot be read."""
        all_of_it = self._join(data) if self._held else data
        start, end = 0, len(all_of_it)
        while end - start >= _AROUND:
            length, headers_length = _read_prelude(all_of_it, start)
            stop = start + length
            if stop > end:
                break
            whole = bytes(all_of_it[start:stop])
            if crc32(whole[:-4]) != _CRC.unpack_from(whole, length - 4)[0]:
                raise malformed()
            out.append(EventMessage(whole[12 : 12 + headers_length], whole[12 + headers_length : -4]))
            start = stop
        if start or isinstance(all_of_it, bytes):
            self._held = all_of_it[start:]

    def _join(self, data: bytes) -> bytearray:
        """A long message may come in many pieces: they are gathered without copying all of them each time."""
        if not isinstance(self._held, bytearray):
            self._held = bytearray(self._held)
        self._held += data
        return self._held

    @property
    def is_between(self) -> bool:
        """No part of a message has come that is not whole."""
        return not self._held


def _read_prelude(data: bytes | bytearray, start: int) -> tuple[int, int]:
    length, headers_length, check = _PRELUDE.unpack_from(data, start)
    if crc32(data[start : start + 8]) != check:
        raise malformed()
    if headers_length > MOST_HEADERS or not 0 <= length - headers_length - _AROUND <= MOST_PAYLOAD:
        raise malformed()
    return length, headers_length


@lru_cache(maxsize=64)
def read_kind(headers: bytes) -> tuple[str, str]:
    """(`:message-type`, the name of the event, exception or error)."""
    read = read_headers(headers)
    kind = read.get(":message-type", "event")
    name = read.get(":event-type") or read.get(":exception-type") or read.get(":error-code") or ""
    return kind, name


def read_headers(headers: bytes) -> dict[str, str]:
    """The headers whose values are strings."""
    read: dict[str, str] = {}
    place = 0
    try:
        while place < len(headers):
            value_at = place + 1 + headers[place]
            name = headers[place + 1 : value_at].decode()
            kind = headers[value_at]
            if kind in (_STRING, _BYTES):
                begin = value_at + 3
                place = begin + _SHORT.unpack_from(headers, value_at + 1)[0]
            else:
                begin = value_at + 1
                place = begin + _FIXED[kind]
            if place > len(headers):
                raise malformed()
            if kind == _STRING:
                read[name] = headers[begin:place].decode()
    except (IndexError, KeyError, UnicodeDecodeError, error):
        raise malformed() from None
    return read
