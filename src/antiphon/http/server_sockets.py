"""What the server reads from and does to a client's socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Final

from antiphon.http.forwarded import UNIX

if TYPE_CHECKING:
    from antiphon.http.server_connection import ServerConnection
    from antiphon.http.server_exchange import Exchange

RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)  # SO_LINGER, no time


def client_address(client: ServerConnection | Exchange) -> str:
    """Whom limits per client count. "": nobody in particular, on a unix socket."""
    address = client.client_address
    return "" if address == UNIX else address


def reset_when_closed(transport: asyncio.BaseTransport) -> None:
    """The client sees a reset, which cannot be taken for the end of an answer."""
    sock = transport.get_extra_info("socket")
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    except (AttributeError, OSError):  # closed already
        pass
