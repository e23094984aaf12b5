"""What the server reads from and does to a client's socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from antiphon.http.server_connection import ServerConnection
    from antiphon.http.server_exchange import Exchange

RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)  # SO_LINGER, no time
UNIX: Final = "unix"


def peer_name(address: object) -> str:
    """A client's address for the log: "192.0.2.1:5000", "[2001:db8::1]:5000", or "unix"."""
    if not isinstance(address, tuple):
        return UNIX
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def client_address(client: ServerConnection | Exchange) -> str:
    """Whom limits per client count: the address without its port. "": nobody in particular, on a unix socket."""
    return "" if client.peer == UNIX else client.peer.rpartition(":")[0]


def reset_when_closed(transport: asyncio.BaseTransport) -> None:
    """The client sees a reset, which cannot be taken for the end of an answer."""
    sock = transport.get_extra_info("socket")
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    except (AttributeError, OSError):  # closed already
        pass
