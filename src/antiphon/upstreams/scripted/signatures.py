"""Signatures of reasoning: issued with an answer, and known again when they come back on the next turn.

They follow from what they sign, so that no worker must remember what another one issued.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

_KEY = b"scripted"  # nothing is protected here
_DIGEST = 32


def sign(kind: str, text: str) -> str:
    return b64encode(_digest(f"{kind}\0{text}".encode())).decode()


def is_signed(kind: str, text: str, signature: object) -> bool:
    return isinstance(signature, str) and signature == sign(kind, text)


def seal(text: str) -> str:
    """What stands for an encrypted text."""
    content = sha256(text.encode()).digest()
    return b64encode(content + _digest(content)).decode()


def is_sealed(data: object) -> bool:
    """Was it sealed here, and is it unchanged?"""
    if not isinstance(data, str):
        return False
    try:
        whole = b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(whole) == 2 * _DIGEST and whole[_DIGEST:] == _digest(whole[:_DIGEST])


def _digest(data: bytes) -> bytes:
    return hmac.digest(_KEY, data, "sha256")
