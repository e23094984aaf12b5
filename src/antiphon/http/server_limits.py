"""What one client may take from the server: sizes, counts and times, as data."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


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

    def body_deadline(self, began: float, body_began: float, arrived: int, now: float) -> float:
        """When the next bytes of a body must be here: a client may pause, but neither crawl nor go on for ever."""
        deadline = min(now + self.body_timeout, began + self.request_timeout)
        if self.min_body_rate:
            deadline = min(deadline, body_began + self.body_timeout + arrived / self.min_body_rate)
        return deadline
