"""Requests to AWS carry a signature of their own each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from antiphon.protocols.sigv4 import Signer

SIGNED: Final = (("content-type", "application/json"),)  # as every request of an upstream has it


def signed_with(signer: Signer, host: str) -> Callable[[bytes, bytes], bytes]:
    """(path, body) -> ready-made lines. `host`: as the host header has it."""

    def sign(path: bytes, body: bytes) -> bytes:
        added = signer.sign("POST", host, path.decode(), body, int(time.time()), SIGNED)
        return "".join(f"{name}: {value}\r\n" for name, value in added).encode()

    return sign
