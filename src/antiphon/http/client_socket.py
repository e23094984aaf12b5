"""What the kernel knows of a connection to an upstream: is it dead, and has the peer received the request?

uvloop learns that a peer has closed in its next round. Between two rounds only the kernel knows. A request must not be
sent twice (RFC 9110 §9.2.2), so guesses by time are not enough.
"""

from __future__ import annotations

import fcntl
import select
import struct
import termios
from asyncio import Transport
from collections.abc import Callable
from typing import Final

_PENDING: Final = select.POLLIN | select.POLLRDHUP
Look = Callable[[int], list[tuple[int, int]]]
_INT: Final = struct.Struct("i")


def watch(transport: Transport) -> Look:
    """A look at an idle connection, without waiting (0): what it returns is true where the peer has closed or reset the
    connection, or has sent something that nobody asked for. 0.4 us; made once for a connection."""
    poll = select.poll()
    try:
        poll.register(_descriptor(transport), _PENDING)
    except (AttributeError, OSError, ValueError):  # lost already
        return lambda _: [(-1, select.POLLNVAL)]
    return poll.poll


def is_undelivered(transport: Transport, request: bytes) -> bool:
    """When the peer's FIN is read: it had not received a byte of `request`, which was the last thing written.

    A FIN acknowledges all that the peer's kernel has received; what no process there can have read is still counted as
    unacknowledged. That does not hold for a reset, which acknowledges nothing: a peer that has read the request may
    reset the connection before its delayed acknowledgement is sent. Unix sockets count nothing after their end. Nor may
    this be asked in connection_lost: the descriptor of a TLS connection is closed by then, and may be another's.
    """
    try:
        unacknowledged = _INT.unpack(fcntl.ioctl(_descriptor(transport), termios.TIOCOUTQ, bytes(_INT.size)))[0]
    except (OSError, ValueError):
        return False
    # TLS sends more bytes than it was given, and its buffers count encrypted ones: only what is in the kernel counts.
    is_plain = transport.get_extra_info("ssl_object") is None
    unsent = transport.get_write_buffer_size() if is_plain else 0
    return bool(unacknowledged) and unacknowledged + unsent >= len(request)


def _descriptor(transport: Transport) -> int:
    return int(transport.get_extra_info("socket").fileno())
