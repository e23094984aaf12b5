"""Accepts connections where something that may fail comes before HTTP, and is then logged: a PROXY header, or a
handshake with client certificates. On all other listeners the loop accepts.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Final

BACKLOG: Final = 2048
AT_ONCE: Final = 128  # connections that are accepted before the loop does something else
PAUSE: Final = 1.0  # seconds after a failure, such as a full table of descriptors; the kernel keeps the queue


class Acceptor:
    """`serve` is given each connection, in a task of its own, and never fails. `room`: how many more there may be."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        serve: Callable[[socket.socket], Coroutine[None, None, None]],
        room: Callable[[], int],
        note: Callable[[str], None],
    ) -> None:
        self.opening: set[asyncio.Task[None]] = set()  # connections that have not come to HTTP yet
        self._loop = loop
        self._sock = sock
        self._serve = serve
        self._room = room
        self._note = note
        self._pause: asyncio.TimerHandle | None = None
        sock.setblocking(False)
        sock.listen(BACKLOG)
        loop.add_reader(sock, self._accept)

    def close(self) -> list[socket.socket]:
        """Stops listening. Returns what the kernel had queued, since closing would reset it."""
        if self._sock.fileno() < 0:
            return []
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._sock)
        accepted = accept_all(self._sock)
        self._sock.close()
        return accepted

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                client, _ = self._sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._note(f"connections cannot be accepted: {error.strerror or error}")
                self._loop.remove_reader(self._sock)
                self._pause = self._loop.call_later(PAUSE, self._loop.add_reader, self._sock, self._accept)
                return
            client.setblocking(False)
            if len(self.opening) < self._room():
                task = self._loop.create_task(self._serve(client))
                self.opening.add(task)
                task.add_done_callback(self.opening.discard)
            else:
                client.close()


def accept_all(sock: socket.socket) -> list[socket.socket]:
    accepted: list[socket.socket] = []
    while True:
        try:
            client, _ = sock.accept()
        except OSError:  # nothing is waiting, or the socket is closed
            return accepted
        client.setblocking(False)
        accepted.append(client)
