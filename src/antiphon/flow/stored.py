"""Answers that clients asked to keep (`store: true`): what is kept, how it is asked for, and the port to who keeps it.

Other APIs keep theirs here, too, each under a `kind` of its own. Values alone: the edges on both sides know them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

CHAT: Final = "chat.completion"  # the kind of Chat Completions


class StoredCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """`request` and `answer` are JSON; what they hold is its kind's affair. Of Chat Completions: the messages, as they
    are listed; and the completion without its metadata."""

    id: str
    key: str  # whose it is; "" where there was no key
    time: int  # microseconds
    model: str
    kind: str = CHAT
    metadata: dict[str, str] = {}
    request: bytes = b""
    answer: bytes = b""


@dataclass(frozen=True, slots=True)
class CompletionQuery:
    """Completions of one key without their bodies. `after`: the (time, id) of the last one of the page before."""

    key: str
    model: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    after: tuple[int, str] | None = None
    descending: bool = False
    limit: int = 20
    kind: str = CHAT

    def metadata_fits(self, row: StoredCompletion) -> bool:
        return all(row.metadata.get(name) == value for name, value in self.metadata)


class StoredPage(msgspec.Struct, frozen=True):
    """Rows with their bodies. `has_more`: others follow."""

    rows: tuple[StoredCompletion, ...]
    has_more: bool


class AnsweredTurn(msgspec.Struct, frozen=True, array_like=True):
    """A turn of Chat Completions that is to be kept, as bytes: whoever keeps it reads them."""

    key: str
    request_id: str
    time: int
    is_stream: bool
    request: bytes  # the body of the request
    answer: bytes  # the body of the answer, or its frames
    usage: bytes  # JSON; b"": in the answer


class CompletionStore(Protocol):
    """Who keeps answers. A key finds its own only. What is asked raises OverloadError where the store is out."""

    def keep(self, turn: AnsweredTurn) -> None:
        """Never waits. What cannot be kept is named in the error log."""

    async def put(self, row: StoredCompletion) -> bool:
        """False: there is one with this id."""

    async def get(self, kind: str, key: str, id: str) -> StoredCompletion | None: ...

    async def list(self, query: CompletionQuery, after: str | None = None) -> StoredPage | None:
        """`after`: the id of the last one of the page before. None: there is no such one."""

    async def label(self, kind: str, key: str, id: str, metadata: dict[str, str]) -> StoredCompletion | None:
        """Replaces its metadata. None: this key has no such one."""

    async def delete(self, kind: str, key: str, id: str) -> bool: ...


def asks_to_store(request: Any) -> bool:
    """Of a ChatRequest."""
    plain = request.plain
    return (request.light.get("store") if plain is None else plain.fields.store) is True


def write_stored(row: StoredCompletion) -> bytes:
    """The completion with its metadata, which can change. The rest is copied, whatever its size."""
    return b'%b,"metadata":%b}' % (row.answer.rstrip()[:-1], msgspec.json.encode(row.metadata))


def write_list(items: Sequence[bytes], ids: Sequence[str], *, has_more: bool) -> bytes:
    """A page, as OpenAI's API writes it. An empty one has no ids."""
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    ends: Mapping[str, Any] = {"first_id": first, "last_id": last, "has_more": has_more}
    return b'{"object":"list","data":[%b],%b' % (b",".join(items), msgspec.json.encode(ends)[1:])
