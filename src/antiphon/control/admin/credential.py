"""The admin credential: made when the gateway first starts, shown once, kept as a digest.

It is 256 random bits, so a plain digest protects it as well as a slow one would. Whoever sends a wrong one waits,
longer each time; whoever sends the right one never does.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
from collections import OrderedDict
from typing import Final

from antiphon.settings.secret import Secret

PREFIX: Final = "adm-"
FILE: Final = "admin-credential"
FIRST_WAIT: Final = 0.25  # seconds
LONGEST_WAIT: Final = 4.0
MOST_ADDRESSES: Final = 1000


def make_credential(folder: str) -> str | None:
    """A new credential; its digest is written to the folder. None: there is one already. OSError: it cannot be kept."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, FILE)
    if os.path.exists(path):
        return None
    text = PREFIX + secrets.token_urlsafe(32)
    draft = f"{path}.{os.getpid()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, _digest(text).hex().encode() + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)
    try:
        os.link(draft, path)  # the first of two gateways that start at a time wins
    except FileExistsError:
        return None
    finally:
        os.unlink(draft)
    return text


class AdminGate:
    """Tells the admin from others."""

    def __init__(self, folder: str | None, secret: Secret | None) -> None:
        """`secret`: as the settings say, in place of the one in the folder."""
        self._path = None if folder is None else os.path.join(folder, FILE)
        self._fixed = None if secret is None else _digest(secret.reveal())
        self._wrong: OrderedDict[str, int] = OrderedDict()  # tries of an address in a row

    @property
    def is_set(self) -> bool:
        return self._expected() is not None

    async def admits(self, authorization: str, address: str) -> bool:
        scheme, _, text = authorization.partition(" ")
        expected = self._expected()
        right = hmac.compare_digest(_digest(text.strip()), expected or bytes(32))
        if right and expected is not None and scheme.lower() == "bearer":
            self._wrong.pop(address, None)
            return True
        tries = self._wrong.pop(address, 0)
        self._wrong[address] = tries + 1
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        await asyncio.sleep(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries, 10)))
        return False

    def _expected(self) -> bytes | None:
        """Read each time: a file that is removed or replaced counts at once."""
        if self._fixed is not None or self._path is None:
            return self._fixed
        try:
            with open(self._path, "rb") as file:
                digest = bytes.fromhex(file.read(100).decode("ascii"))
        except (OSError, ValueError):
            return None
        return digest if len(digest) == 32 else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
