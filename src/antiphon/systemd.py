"""What systemd gives a service, and what the service tells it: sd_listen_fds(3) and sd_notify(3), without a library."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Final

FIRST_DESCRIPTOR: Final = 3


def take_sockets(environ: MutableMapping[str, str], first: int = FIRST_DESCRIPTOR) -> list[socket.socket]:
    """The listening sockets that were handed over; none where there are none for this process.

    The variables are removed: no child may take the sockets for its own. Raises OSError: one of them does not listen.
    """
    for_whom, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if for_whom != str(os.getpid()) or not count.isdecimal():
        return []
    return [_adopt(first + place) for place in range(int(count))]


def notify(environ: MutableMapping[str, str], state: str) -> None:
    """Tells the service manager of a state, such as READY=1. Does nothing where no manager listens."""
    path = environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)
        except OSError:  # the manager is gone; that is no reason to end
            pass


def _adopt(descriptor: int) -> socket.socket:
    sock = socket.socket(fileno=descriptor)
    try:
        if sock.type != socket.SOCK_STREAM or not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError(f"descriptor {descriptor} from LISTEN_FDS is no listening stream socket")
        sock.setblocking(False)
        os.set_inheritable(descriptor, False)
    except OSError:
        sock.close()
        raise
    return sock
