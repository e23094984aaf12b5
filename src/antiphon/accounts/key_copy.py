"""The keys in a file: one process of a machine keeps it current, workers read it. It holds digests, no secrets.

So workers need no connection to the store, and a gateway that starts while the store is out knows its keys. The file is
replaced when keys change; its time of modification says when it was last known to be the store's keys.
"""

from __future__ import annotations

import os
import struct
from typing import IO, Final

from antiphon.accounts.key_cache import KeyCache

LARGEST: Final = 1024**3
HEAD: Final = struct.Struct("<qq")  # store and version, before the copy


class KeyCopyWriter:
    """Called after every poll of the feed."""

    def __init__(self, path: str, cache: KeyCache) -> None:
        self._path = path
        self._cache = cache
        self._written: tuple[int, int] | None = None  # the store and version that this writer wrote last

    def write(self) -> None:
        """Raises OSError."""
        cache = self._cache
        if cache.confirmed is None:
            return
        current = cache.store, cache.version
        if self._written != current or _version(self._path) != current:
            self._replace(HEAD.pack(cache.store, cache.version) + cache.dump(), cache.confirmed)
            self._written = current
        else:
            _mark(self._path, cache.confirmed)

    def _replace(self, data: bytes, confirmed: int) -> None:
        """Readers see the old file or the new one, whole."""
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        draft = f"{self._path}.{os.getpid()}.new"  # another gateway may write the same copy now
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fdatasync(descriptor)
        _mark(draft, confirmed)
        os.rename(draft, self._path)


class KeyCopyReader:
    """A worker's end."""

    def __init__(self, path: str, cache: KeyCache) -> None:
        self._path = path
        self._cache = cache

    def poll(self, now: int) -> bool:
        """Takes over what is new. False: there is no usable file. Where nothing has changed, it reads 16 bytes."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                return self._read(file, now)
        except OSError:
            return False

    def _read(self, file: IO[bytes], now: int) -> bool:
        stat = os.fstat(file.fileno())
        head = file.read(HEAD.size)
        if len(head) < HEAD.size or stat.st_size > LARGEST:
            return False
        is_known = HEAD.unpack(head) == (self._cache.store, self._cache.version)
        if not is_known and not self._cache.restore(file.read(), now):
            return False
        self._cache.confirm(stat.st_mtime_ns // 1000)
        return True


def _version(path: str) -> tuple[int, int] | None:
    """The store and version that a copy holds. Another gateway with the same store may have put an older one there."""
    try:
        with open(path, "rb", buffering=0) as file:
            store, version = HEAD.unpack(file.read(HEAD.size))
    except (OSError, struct.error):
        return None
    return store, version


def _mark(path: str, confirmed: int) -> None:
    os.utime(path, ns=(confirmed * 1000, confirmed * 1000))
