"""Questions of a worker and replies of the accounts process: a length, then msgpack. One reply for each question, in
their order."""

from __future__ import annotations

import asyncio
import struct
from typing import Any, Final

import msgspec

from antiphon.flow.stored import AnsweredTurn, CompletionQuery, StoredCompletion, StoredPage

LARGEST: Final = 256 * 1024 * 1024  # bytes of one frame
PAGE_BYTES: Final = 32 * 1024 * 1024  # of the bodies of one page, beyond which it ends
_HEAD: Final = struct.Struct("<I")


class StoreQuestion(msgspec.Struct, array_like=True):
    """One of its fields beside `verb` says what is asked."""

    verb: str  # keep, put, get, list, label, delete
    kind: str = ""
    key: str = ""
    id: str = ""
    metadata: dict[str, str] = {}
    turn: AnsweredTurn | None = None
    row: StoredCompletion | None = None
    query: CompletionQuery | None = None
    after: str | None = None


class StoreReply(msgspec.Struct, array_like=True):
    """`is_out`: the store cannot be asked now."""

    is_out: bool = False
    done: bool = False
    row: StoredCompletion | None = None
    page: StoredPage | None = None


encode = msgspec.msgpack.Encoder().encode
read_question = msgspec.msgpack.Decoder(StoreQuestion).decode
read_reply = msgspec.msgpack.Decoder(StoreReply).decode


def frame(message: StoreQuestion | StoreReply) -> bytes:
    body = encode(message)
    return _HEAD.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Raises EOFError (the other end is gone), ValueError."""
    size = _HEAD.unpack(await reader.readexactly(_HEAD.size))[0]
    if size > LARGEST:
        raise ValueError("a frame is too large")
    data: Any = await reader.readexactly(size)
    return bytes(data)
