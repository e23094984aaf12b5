"""What one client may take from the server: sizes, counts and times, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIB = 1024 * 1024
# A client that is still sending when it is refused would get a reset instead of the answer if we just closed: so we
# close our side only, and throw away what comes, for a while (RFC 9112 §9.6).
LINGER_SECONDS: Final = 5.0
LINGER_WHILE_DRAINING: Final = 0.5
LINGER_BYTES: Final = 64 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds. Checked by a coarse tick, so a time may be late by a quarter of a second."""

    max_body: int = 20 * MIB  # after decompression
    max_body_memory: int = 256 * MIB  # of all bodies that are read or held
    max_header_bytes: int = 65536
    max_header_count: int = 100
    max_target: int = 8192
    header_timeout: float = 10.0  # from the first byte of a request to the end of its headers; also TLS handshakes
    body_timeout: float = 30.0  # without progress
    min_body_rate: int = 1024  # bytes a second on average, once body_timeout has passed; 0: any
    request_timeout: float = 300.0  # from the first byte of a request to its last
    keepalive: float = 15.0  # idle between requests
    write_timeout: float = 30.0  # writing paused that long: the client does not read
    max_connections: int = 10000
    max_client_connections: int = 0  # of one client address; 0: no limit
    max_pipelined: int = 16  # requests read ahead while one is being answered
    crowded: int | None = None  # connections beyond which idle ones are closed for new ones; None: max_connections


class BodyPace:
    """How a request arrives that does not come at once."""

    __slots__ = ("_arrived", "_began", "_body_began", "_limits")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began = self._body_began = 0.0
        self._arrived = 0  # bytes of the body, as sent

    def begin(self, now: float) -> None:
        self._began = now

    def begin_body(self, now: float) -> None:
        self._body_began = now
        self._arrived = 0

    def deadline(self, size: int, now: float) -> float:
        """When the next bytes must be here, after these: a client may pause, but neither crawl nor go on for ever."""
        self._arrived += size
        limits = self._limits
        deadline = min(now + limits.body_timeout, self._began + limits.request_timeout)
        if limits.min_body_rate:
            deadline = min(deadline, self._body_began + limits.body_timeout + self._arrived / limits.min_body_rate)
        return deadline
