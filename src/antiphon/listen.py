"""Listening sockets: bound once, by the supervisor, and handed to every worker."""

from __future__ import annotations

import errno
import os
import socket
import stat

from antiphon.port_holder import find_holder
from antiphon.settings.model import Address, ServerSettings

BACKLOG = 4096


def open_sockets(
    address: Address, workers: int, *, mode: int | None = None, group: int | None = None
) -> list[list[socket.socket]]:
    """The sockets of each worker. TCP: one each on the same port; a unix socket is one that all share.
    `mode`, `group`: of the unix socket's file; None: as the umask and the process have it."""
    if address.unix is not None:
        shared = _unix(address.unix, mode, group)
        return [[shared] for _ in range(workers)]
    first = _tcp(address.host, address.port, shared=False)
    if workers == 1:
        return [[first]]
    # Bound alone first, so that another server on this port is noticed; SO_REUSEPORT would join it silently.
    host, port = first.getsockname()[:2]
    first.close()
    return [[_tcp(host, port, shared=True)] for _ in range(workers)]


def open_control(address: Address | None) -> socket.socket | None:
    """The control plane's listener. None: it has no address; or it has the default one and that is in use, by another
    gateway's probably. Others cannot reach a unix socket there."""
    if address is None:
        return None
    try:
        return open_sockets(address, 1, mode=0o600)[0][0]
    except OSError as error:
        if address == ServerSettings().control and error.errno == errno.EADDRINUSE:
            return None
        raise


def why_not(address: Address, error: OSError, elsewhere: str = "antiphon serve --listen HOST:PORT") -> str:
    """Why an address could not be listened on, and what to do. `elsewhere`: how another one is chosen."""
    why = error.strerror or str(error)
    if error.errno != errno.EADDRINUSE:
        return why
    holder = find_holder(address)
    by = "" if holder is None else f" (by {holder})"
    return f"{why}{by}. End what listens there, or choose another address: {elsewhere}"


def address_of(sock: socket.socket) -> Address:
    """Where a socket listens that somebody else has bound."""
    name = sock.getsockname()
    if sock.family == socket.AF_UNIX:
        return Address(unix=os.fsdecode(name))
    return Address(name[0], name[1])


def remove_socket(address: Address) -> None:
    if address.unix is not None:
        try:
            os.unlink(address.unix)
        except FileNotFoundError:
            pass


def _tcp(host: str, port: int, *, shared: bool) -> socket.socket:
    family, kind, proto, _, where = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(where)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _unix(path: str, mode: int | None, group: int | None) -> socket.socket:
    _remove_stale(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(path)
        _set_access(path, mode, group)  # before anyone can connect: that takes a socket that listens
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _set_access(path: str, mode: int | None, group: int | None) -> None:
    try:
        if group is not None:
            os.chown(path, -1, group)
        if mode is not None:
            os.chmod(path, mode)
    except OSError as error:
        os.unlink(path)
        raise OSError(error.errno, f"socket_mode or socket_group cannot be set: {error.strerror}") from None


def _remove_stale(path: str) -> None:
    """A socket that nobody answers on is left over from a process that was killed."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise FileExistsError(errno.EEXIST, "exists and is not a socket", path)
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise OSError(errno.EADDRINUSE, "another process listens there")
