"""Frames of an AWS event stream (`application/vnd.amazon.eventstream`).

u32 length of all · u32 length of the headers · u32 CRC of these eight bytes · headers · payload · u32 CRC of all
before.
"""

from __future__ import annotations

from struct import pack
from zlib import crc32

import msgspec

from antiphon.document import Document

STRING = 7  # the type of a header's value
PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def write_frame(headers: dict[str, str], payload: bytes) -> bytes:
    lines = b"".join(
        pack(f">B{len(name)}sBH", len(name), name.encode(), STRING, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack(">II", len(lines) + len(payload) + 16, len(lines))
    whole = prelude + pack(">I", crc32(prelude)) + lines + payload
    return whole + pack(">I", crc32(whole))


def event_frame(name: str, document: Document) -> bytes:
    """With the padding `p` that Bedrock adds to hide how long texts are."""
    padded = {**document, "p": PADDING[: crc32(repr(document).encode()) % len(PADDING)]}
    return event_bytes(name, msgspec.json.encode(padded))


def event_bytes(name: str, payload: bytes) -> bytes:
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return write_frame(headers, payload)


def exception_frame(name: str, message: str) -> bytes:
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return write_frame(headers, msgspec.json.encode({"message": message}))


def spoil(frame: bytes) -> bytes:
    """The same with a wrong CRC."""
    return frame[:-1] + bytes([frame[-1] ^ 0xFF])
