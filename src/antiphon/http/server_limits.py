"""What one client may take from the server: sizes, counts and times, as data."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds. Checked by a coarse tick, so a time may be late by a quarter of a second."""

    max_body: int = 20 * MIB  # after decompression
    max_header_bytes: int = 65536
    max_header_count: int = 100
    max_target: int = 8192
    header_timeout: float = 10.0  # from the first byte of a request to the end of its headers; also TLS handshakes
    body_timeout: float = 30.0  # without progress
    keepalive: float = 15.0  # idle between requests
    write_timeout: float = 30.0  # writing paused that long: the client does not read
    max_connections: int = 10000
    max_pipelined: int = 16  # requests read ahead while one is being answered
