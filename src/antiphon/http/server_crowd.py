"""How many connections there may be, in all and of one client. Unused ones are closed, to make room for others:
where there are too many, those that never sent anything, then idle ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from antiphon.http.request import Refusal
from antiphon.http.server_limits import Limits
from antiphon.http.server_sockets import client_address

if TYPE_CHECKING:
    from antiphon.http.server_connection import ServerConnection

# A search for idle connections looks at all of them, 0.1 us each. Among many it is not made for every new connection.
FEW: Final = 256
LOOK_EVERY: Final = 25e-6  # seconds until the next one, for each connection that was looked at
QUIET: Final = 0.5  # seconds; who has just connected may be about to ask


class Oldest:
    """Those connections of some kind that are closed to make room, the oldest first."""

    def __init__(self, is_one: Callable[[ServerConnection, float], bool]) -> None:
        """`is_one`: whether a connection is of the kind at a time."""
        self._is_one = is_one
        self._found: deque[ServerConnection] = deque()  # at the last look
        self._next_look = 0.0

    def close_one(self, everyone: Collection[ServerConnection], now: float) -> bool:
        """False: there is none."""
        if not self._found and (len(everyone) <= FEW or now >= self._next_look):
            self._next_look = now + LOOK_EVERY * len(everyone)
            found = [one for one in everyone if self._is_one(one, now)]
            self._found.extend(sorted(found, key=lambda one: one.deadline))
        while self._found:
            oldest = self._found.popleft()
            if self._is_one(oldest, now):
                oldest.close()
                return True
        return False


class Crowd:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._crowded = limits.max_connections if limits.crowded is None else limits.crowded
        self._spare: dict[ServerConnection, None] = {}  # those beyond a limit, the oldest first
        self._clients: dict[str, set[ServerConnection]] = {}  # the others by address, where that is limited
        self._idle = Oldest(lambda one, _: one.is_idle)
        self._silent = Oldest(self._is_silent)

    def admit(self, connection: ServerConnection, everyone: Collection[ServerConnection], now: float) -> Refusal | None:
        """`connection` is new among `everyone`. A refusal is the answer to its request, as there are too many."""
        count = len(everyone) - len(self._spare)
        is_full = count > self._limits.max_connections
        has_room = is_full and self._silent.close_one(everyone, now)
        if count > self._crowded and not has_room:
            has_room = self._idle.close_one(everyone, now)
        if is_full and not has_room:
            self._keep_spare(connection)
            return Refusal(503, "The server has too many open connections. Please try again later.")
        if self._limits.max_client_connections and not self._count_client(connection, now):
            self._keep_spare(connection)
            return Refusal(429, "Too many connections are open from your address. Please try again later.")
        return None

    def forget(self, connection: ServerConnection) -> None:
        self._spare.pop(connection, None)
        if self._limits.max_client_connections:
            self._uncount_client(connection)

    def _is_silent(self, connection: ServerConnection, now: float) -> bool:
        """It has never sent a byte, though it had time to."""
        return connection.is_silent and connection.deadline - self._limits.header_timeout <= now - QUIET

    def _keep_spare(self, connection: ServerConnection) -> None:
        """Those that ask nothing make room for those that may: probes of health are answered in any crowd."""
        if len(self._spare) >= self._limits.spare:
            silent = next((one for one in self._spare if one.is_silent), connection)
            self._spare.pop(silent, None)
            silent.cut()
            if silent is connection:
                return
        self._spare[connection] = None

    def _count_client(self, connection: ServerConnection, now: float) -> bool:
        """False: its client has too many connections already, and none of them is silent or idle."""
        address = client_address(connection)
        if not address:
            return True
        mine = self._clients.setdefault(address, set())
        if len(mine) >= self._limits.max_client_connections:
            unused = [one for one in mine if self._is_silent(one, now)] or [one for one in mine if one.is_idle]
            if not unused:
                return False
            oldest = min(unused, key=lambda one: one.deadline)
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
