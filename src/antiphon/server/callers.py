"""How many requests of one caller may be answered at a time: of a client address, and of a key.

A request counts from when it is complete until its answer is, or its client is gone.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from antiphon.errors import RequestError
from antiphon.http.server import Exchange, client_address
from antiphon.server.keys import ClientKey

ADDRESS: Final = "Too many requests from your address are being answered. Please try again later."
KEY: Final = "Too many requests with this API key are being answered. Please try again later."


class Callers:
    def __init__(self, max_client_requests: int = 0, *, keys_are_limited: bool = False) -> None:
        """`max_client_requests`: of one address; 0: no limit."""
        self._most = max_client_requests
        self._addresses: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        self.is_limited = bool(max_client_requests) or keys_are_limited

    def take_over(self, old: Callers) -> None:
        """Requests that are being answered count on: both count in the same places."""
        self._addresses, self._keys = old._addresses, old._keys

    def enter(self, exchange: Exchange, key: ClientKey | None) -> None:
        """Counts a request until its exchange ends, or refuses it."""
        address = client_address(exchange) if self._most else ""
        name = key.name if key is not None and key.max_requests else ""
        if address and self._addresses.get(address, 0) >= self._most:
            raise _refusal(ADDRESS)
        if key is not None and name and self._keys.get(name, 0) >= key.max_requests:
            raise _refusal(KEY)
        if address:
            self._addresses[address] = self._addresses.get(address, 0) + 1
        if name:
            self._keys[name] = self._keys.get(name, 0) + 1
        exchange.on_end = partial(self._leave, address, name)

    def _leave(self, address: str, name: str) -> None:
        if address:
            _lessen(self._addresses, address)
        if name:
            _lessen(self._keys, name)


def _lessen(counts: dict[str, int], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]


def _refusal(message: str) -> RequestError:
    return RequestError(message, status=429, code="rate_limit_exceeded", retry_after=1)
