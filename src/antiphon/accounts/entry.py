"""An entry of the ledger: one turn, the correction of one, or the sum of turns that another gateway answered. Entries
are added, never changed."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

TURN: Final = "turn"
CORRECTION: Final = "correction"
SUMMARY: Final = "summary"  # many turns of another gateway; `attempts` is how many
LONGEST_TEXT: Final = 256  # characters of one text that a client chose
MOST_TAGS: Final = 16
MOST: Final = 10**12  # of a number in one entry: sums of millions of them fit 64 bits
LATEST: Final = 253_402_300_799_999_999  # the end of the year 9999


class LedgerEntry(msgspec.Struct, array_like=True, kw_only=True, gc=False):
    """Written to the journal as an array, so the order is part of the format: new fields are added at the end, with a
    default. A correction holds differences: what it adds to the entry that it corrects, which may be negative.
    """

    time: int  # when the turn ended
    request_id: str
    kind: str = TURN
    corrects: str | None = None  # the request_id of the corrected entry
    key: str | None = None  # id of an issued key, name of a static one
    team: str | None = None
    tags: tuple[str, ...] = ()
    endpoint: str | None = None
    dialect: str | None = None
    route: str | None = None
    model_asked: str | None = None
    model: str | None = None  # that was used
    upstream: str | None = None
    status: int = 0
    error: str | None = None
    blocked: str | None = None  # the stage: "prompt" or "answer"
    stream: bool = False
    attempts: int = 0
    input_tokens: int = 0  # includes cached_tokens and cache_write_tokens
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0  # includes reasoning_tokens
    reasoning_tokens: int = 0
    usage: str | None = None  # "reported" or "estimated"
    price: int = 0
    price_version: str | None = None
    duration: int = 0
    first_chunk: int | None = None  # time to the first chunk
    finish: str | None = None  # finish reasons of the choices, with commas
    detail: dict[str, Any] | None = None  # attempts, findings of safety, the receipt
    protocol: str | None = None  # of the upstream


class Record(NamedTuple):
    """An entry with its identity. The same identity twice is one entry."""

    boot: int  # random, new for every process that writes a journal
    worker: int
    sequence: int
    entry: LedgerEntry


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(LedgerEntry)


def encode(entry: LedgerEntry) -> bytes:
    try:
        return _encoder.encode(entry)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate or a huge number, out of somebody's JSON
        return _encoder.encode(clean(entry))


def decode(payload: bytes) -> LedgerEntry:
    """Raises msgspec.MsgspecError."""
    return _decoder.decode(payload)


def clean(entry: LedgerEntry) -> LedgerEntry:
    """The entry as every store can hold it: texts are bounded UTF-8 without NUL, integers fit 64 bits."""
    return entry if _is_clean(entry) else _cleaned(entry)


def _is_clean(entry: LedgerEntry) -> bool:
    """True of nearly all; a tenth of the cost of cleaning."""
    texts = (
        *(entry.request_id, entry.kind, entry.corrects, entry.key, entry.team, entry.endpoint, entry.dialect),
        *(entry.route, entry.model_asked, entry.model, entry.upstream, entry.error, entry.blocked, entry.usage),
        *(entry.price_version, entry.finish, entry.protocol, *entry.tags),
    )
    text = "".join(filter(None, texts))
    numbers = (
        *(entry.status, entry.attempts, entry.input_tokens, entry.cached_tokens, entry.cache_write_tokens),
        *(entry.output_tokens, entry.reasoning_tokens, entry.price, entry.duration, entry.first_chunk or 0),
    )
    return (
        text.isascii()
        and "\0" not in text
        and len(text) <= 2 * LONGEST_TEXT
        and min(numbers) >= -MOST
        and max(numbers) <= MOST
        and 0 <= entry.time <= LATEST
        and len(entry.tags) <= MOST_TAGS
        and entry.detail is None
    )


def _cleaned(entry: LedgerEntry) -> LedgerEntry:
    values = {name: _clean_value(getattr(entry, name)) for name in entry.__struct_fields__ if name != "detail"}
    values["time"] = max(0, min(LATEST, entry.time))
    values["tags"] = tuple(dict.fromkeys(clean_text(tag) for tag in entry.tags[:MOST_TAGS]))
    values["detail"] = _clean_document(entry.detail)
    return LedgerEntry(**values)


def clean_text(text: str, limit: int = LONGEST_TEXT) -> str:
    return text[:limit].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if type(value) is int:
        return max(-MOST, min(MOST, value))
    return value


def _clean_document(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value, 4096)
    if type(value) is int:
        return max(-MOST, min(MOST, value))
    if isinstance(value, dict):
        return {_clean_document(name): _clean_document(item) for name, item in value.items()}
    return [_clean_document(item) for item in value] if isinstance(value, list | tuple) else value
