"""Descriptors: every client connection takes one, and its request another one to the upstream.

The soft limit is raised to the hard one. Where that is too low for `max_connections`, a worker takes fewer connections,
so that it can still tell clients why, and open what it needs itself.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable
from typing import Final

EACH: Final = 2  # descriptors of a connection with a running request
OWN: Final = 128  # the worker's own, and connections that are only told that there are too many
AGAIN: Final = 60.0  # seconds between two lines about the same lack


def raise_limit() -> int:
    """-> how many descriptors a process may open"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections(limit: int) -> int:
    """Of one worker."""
    own = min(OWN, limit // 2)
    return max(1, (limit - own) // EACH)


def warn_of(limit: int, max_connections: int) -> str | None:
    if limit >= EACH * max_connections:
        return None
    return (
        f"a process may open {limit:,} descriptors only: max_connections = {max_connections:,} needs about "
        f"{EACH * max_connections + OWN:,}. Each worker takes {most_connections(limit):,} connections. Raise the limit "
        "(ulimit -Hn, or LimitNOFILE= of systemd), or lower max_connections"
    )


class DescriptorWatch:
    """Says in the log that connections cannot be accepted. The event loop closes them without a word, and goes on."""

    def __init__(self, limit: int, log: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._limit = limit
        self._log = log
        self._clock = clock
        self._told: dict[str, float] = {}

    def look(self, connections: int, max_connections: int) -> None:
        if connections >= max_connections:
            self._tell(f"all {max_connections:,} connections are in use: new ones are refused")
        try:
            os.close(os.dup(2))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                return
            self._tell(f"connections cannot be accepted: {error.strerror}; the limit is {self._limit:,} descriptors")

    def _tell(self, message: str) -> None:
        now = self._clock()
        if now - self._told.get(message, -AGAIN) >= AGAIN:
            self._told[message] = now
            self._log(message)
