"""The answer of `/v1/embeddings`: kept as the bytes that came, but for what says whose it is and what it took.

Vectors are most of it, thousands of numbers that nobody here looks at: they stay unread and unaltered, to the digit.
(Measured on 500 vectors of 1536 numbers, 11 MB: 15 ms to read and write, instead of 180 as a document.)
"""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any, Final

import msgspec
from msgspec import Raw

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import Conformed
from antiphon.chat.event import decode, scrub
from antiphon.chat.failure import is_error, is_failure, malformed, read_failure
from antiphon.document import Document
from antiphon.errors import UpstreamError

_read_any: Final = msgspec.json.Decoder().decode
_read_object: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_read_items: Final = msgspec.json.Decoder(list[Raw]).decode
_read_text: Final = msgspec.json.Decoder(str).decode
_read_count: Final = msgspec.json.Decoder(int).decode

# What `strict` leaves.
_KNOWN: Final = frozenset({"object", "data", "model", "usage"})
_KNOWN_IN_ITEM: Final = frozenset({"object", "index", "embedding"})
_KNOWN_IN_USAGE: Final = frozenset({"prompt_tokens", "total_tokens"})


def read(body: bytes) -> Document:
    """The top level; its values are unread. Raises UpstreamError."""
    body = body.removeprefix(BOM_UTF8)
    try:
        document: Document = _read_object(body)
        answered = _read_items(document["data"]) and not is_error(_peek(document.get("error"), _read_any))
        if answered and (body.isascii() or body.decode()):  # text that is unread is unchecked
            return document
    except (KeyError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        pass
    raise _refusal(dict(scrub(decode(body))))


def _refusal(document: Document) -> UpstreamError:
    failed = is_error(document.get("error")) if document.get("data") else is_failure(document)
    return read_failure(document) if failed else malformed()


def conform(document: Document, stamp: AnswerDefaults) -> Conformed:
    usage = _counts(document.get("usage"))
    document["object"] = "list"
    if not _peek(document.get("model"), _read_text):
        document["model"] = stamp.model
    return Conformed(document, usage, [], None)


def write(document: Document, usage: Document, *, strict: bool) -> Document:
    """`usage`: as it was settled; what it adds stands beside what else the upstream said of it."""
    own = _object(document.get("usage"))
    document["usage"] = {**own, "prompt_tokens": usage["prompt_tokens"]}
    if _peek(own.get("total_tokens"), _read_count) is None:
        document["usage"]["total_tokens"] = usage["prompt_tokens"]
    if strict:
        document = _keep(document, _KNOWN)
        document["usage"] = _keep(document["usage"], _KNOWN_IN_USAGE)
        document["data"] = [_keep(_object(item), _KNOWN_IN_ITEM) for item in _read_items(document["data"])]
    return document


def _counts(usage: Raw | None) -> Document | None:
    """What was reported; an embedding completes nothing."""
    reported = _object(usage)
    for key in ("prompt_tokens", "input_tokens", "total_tokens"):
        count = _peek(reported.get(key), _read_count)
        if count is not None and count >= 0:
            return {"prompt_tokens": count, "completion_tokens": 0}
    return None


def _keep(document: Document, known: frozenset[str]) -> Document:
    return {key: value for key, value in document.items() if key in known}


def _object(value: Raw | None) -> Document:
    return _peek(value, _read_object) or {}


def _peek(value: Raw | None, reader: Any) -> Any:
    """None: not there, or not of this type."""
    try:
        return None if value is None else reader(value)
    except (ValueError, RecursionError):
        return None
