"""Headers that are made for each request: signatures of AWS, and tokens that change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from antiphon.http.client import Origin
from antiphon.protocols.sigv4 import Signer
from antiphon.upstreams.client import Sign

Look = Callable[[], dict[str, str]]  # the newest credential; RequestError: there is none
SIGNED: Final = (("content-type", "application/json"),)  # as every request of an upstream has it


def bearing(look: Look) -> Sign:
    """With the newest token."""

    def sign(path: bytes, body: bytes) -> bytes:
        return f"authorization: Bearer {look()['token']}\r\n".encode()

    return sign


def signed_anew(look: Look, region: str, service: str, origin: Origin) -> Sign:
    """With the newest keys."""
    signs: dict[str, Sign] = {}  # by the secret: the newest alone

    def sign(path: bytes, body: bytes) -> bytes:
        keys = look()
        secret = keys["secret_access_key"]
        if secret not in signs:
            signs.clear()
            token = keys.get("session_token")
            signer = Signer(keys["access_key_id"], secret, region=region, service=service, token=token)
            signs[secret] = signed_with(signer, origin.host_header)
        return signs[secret](path, body)

    return sign


def signed_with(signer: Signer, host: str) -> Sign:
    """(path, body) -> ready-made lines. `host`: as the host header has it."""

    def sign(path: bytes, body: bytes) -> bytes:
        added = signer.sign("POST", host, path.decode(), body, int(time.time()), SIGNED)
        return "".join(f"{name}: {value}\r\n" for name, value in added).encode()

    return sign
