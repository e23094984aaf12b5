"""Reasoning between two turns of a client that keeps the conversation itself.

A vendor's signed reasoning (`thinking_blocks`, `reasoning_details`) must come back to it unchanged. A client that asks
for `reasoning.encrypted_content` gets it there, as one string that it sends back with the next request. The string is
not secret: it says again what the client was told, and what it may not change. What another server has encrypted cannot
be read here.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final

import msgspec

from antiphon.document import Document

SIGNED: Final = ("thinking_blocks", "reasoning_details")  # fields of a message
MARK: Final = "antiphon.1."  # how our own strings begin
TEXT: Final = "reasoning_content"

_decode: Final = msgspec.json.Decoder(dict[str, object]).decode
_encode: Final = msgspec.json.Encoder().encode


def sealed(message: Document) -> str | None:
    """What of a message must come back, as one string. None: there is nothing."""
    kept = {key: message[key] for key in (TEXT, *SIGNED) if message.get(key)}
    return MARK + b64encode(_encode(kept)).decode() if kept else None


def unsealed(text: str) -> Document | None:
    """The fields of a message that `sealed` has kept. None: it was not ours."""
    if not text.startswith(MARK):
        return None
    try:
        kept = _decode(b64decode(text[len(MARK) :], validate=True))
    except (ValueError, RecursionError):  # msgspec's errors and binascii's are ValueErrors
        return None
    signed = {key: kept[key] for key in SIGNED if isinstance(kept.get(key), list)}
    return signed | {TEXT: kept[TEXT]} if isinstance(kept.get(TEXT), str) else signed
