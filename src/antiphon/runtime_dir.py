"""The gateway's room: a private directory for the sockets that its processes open among themselves.

A gateway that is killed leaves its room behind; the next one removes it. Whose processes have all ended is told by a
lock on a file in the room, which the supervisor takes and its children inherit: it goes with the last of them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "antiphon-"
LOCK = "lock"
LONGEST_PLACE = 60  # bytes: with our own names it stays below the 108 of a socket's address


@contextmanager
def open_runtime_dir(place: str | None = None) -> Iterator[str]:
    """In `place`, or where temporary files usually are."""
    place = place or runtime_dir_for_sockets()
    sweep(place)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True) as room:
        lock = _lock(room)
        try:
            yield room
        finally:
            os.close(lock)


def runtime_dir_for_sockets() -> str:
    """The usual place for temporary files, unless its name is too long for a socket's."""
    usual = tempfile.gettempdir()
    return "/tmp" if len(os.fsencode(usual)) > LONGEST_PLACE else usual  # noqa: S108


def sweep(place: str) -> None:
    """Removes rooms of ours whose processes have ended. A directory without the lock is left: it may be anyone's."""
    for room in Path(place).glob(f"{PREFIX}*"):
        if _is_ours(room) and _is_left(room):
            shutil.rmtree(room, ignore_errors=True)


def _lock(room: str) -> int:
    """The file has its name only when it is locked: a sweeper never finds it free in between."""
    draft = f"{room}/{LOCK}.draft"
    lock = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(draft, f"{room}/{LOCK}")
    return lock


def _is_ours(room: Path) -> bool:
    """A directory that only we can write to: nobody else has put anything there."""
    try:
        found = room.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _is_left(room: Path) -> bool:
    try:
        lock = os.open(room / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
