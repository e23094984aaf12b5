"""How many connections there may be, in all and of one client. Idle ones are closed first, to make room for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from antiphon.http.request import Refusal
from antiphon.http.server_limits import Limits
from antiphon.http.server_sockets import client_address

if TYPE_CHECKING:
    from antiphon.http.server_connection import ServerConnection

# Connections beyond a limit are read far enough to be told so; beyond this many of them, they are just closed.
SPARE_CONNECTIONS: Final = 64
# A search for idle connections looks at all of them, 0.1 us each. Among many it is not made for every new connection.
FEW: Final = 256
LOOK_EVERY: Final = 25e-6  # seconds until the next one, for each connection that was looked at


class Crowd:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._crowded = limits.max_connections if limits.crowded is None else limits.crowded
        self._spare: dict[ServerConnection, None] = {}  # those beyond a limit, the oldest first
        self._clients: dict[str, set[ServerConnection]] = {}  # the others by address, where that is limited
        self._idle: deque[ServerConnection] = deque()  # found at the last look, the longest idle first
        self._next_look = 0.0

    def admit(self, connection: ServerConnection, everyone: Collection[ServerConnection], now: float) -> Refusal | None:
        """`connection` is new among `everyone`. A refusal is the answer to its request, as there are too many."""
        count = len(everyone) - len(self._spare)
        is_crowded = count > self._crowded and not self._close_idle(everyone, now)
        if is_crowded and count > self._limits.max_connections:
            self._keep_spare(connection)
            return Refusal(503, "The server has too many open connections. Please try again later.")
        if self._limits.max_client_connections and not self._count_client(connection):
            self._keep_spare(connection)
            return Refusal(429, "Too many connections are open from your address. Please try again later.")
        return None

    def forget(self, connection: ServerConnection) -> None:
        self._spare.pop(connection, None)
        if self._limits.max_client_connections:
            self._uncount_client(connection)

    def _close_idle(self, everyone: Collection[ServerConnection], now: float) -> bool:
        """Closes the connection that has been idle for longest. False: none is."""
        if not self._idle and (len(everyone) <= FEW or now >= self._next_look):
            self._next_look = now + LOOK_EVERY * len(everyone)
            self._idle.extend(sorted((one for one in everyone if one.is_idle), key=lambda one: one.deadline))
        while self._idle:
            oldest = self._idle.popleft()
            if oldest.is_idle:
                oldest.close()
                return True
        return False

    def _keep_spare(self, connection: ServerConnection) -> None:
        """Those that ask nothing make room for those that may: probes of health are answered in any crowd."""
        if len(self._spare) >= SPARE_CONNECTIONS:
            silent = next((one for one in self._spare if one.is_silent), connection)
            self._spare.pop(silent, None)
            silent.cut()
            if silent is connection:
                return
        self._spare[connection] = None

    def _count_client(self, connection: ServerConnection) -> bool:
        """False: its client has too many connections already, and none of them is idle."""
        address = client_address(connection)
        if not address:
            return True
        mine = self._clients.setdefault(address, set())
        if len(mine) >= self._limits.max_client_connections:
            idle = [one for one in mine if one.is_idle]
            if not idle:
                return False
            oldest = min(idle, key=lambda one: one.deadline)
            mine.discard(oldest)
            oldest.close()
        mine.add(connection)
        return True

    def _uncount_client(self, connection: ServerConnection) -> None:
        address = client_address(connection)
        mine = self._clients.get(address)
        if mine is not None:
            mine.discard(connection)
            if not mine:
                del self._clients[address]
