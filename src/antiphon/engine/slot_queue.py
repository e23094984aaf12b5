"""Who may use the engine next: a bounded queue of tickets, served in turn, one slot at a time.

A ticket is one request; one with several choices wants several slots and gets them one by one, between the others'.
Slots are granted only while the engine is up: who waits when it dies goes on waiting for the next one.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from antiphon.errors import OverloadError

LONGEST_ADVICE = 60  # seconds of retry-after
USUAL = 2.0  # seconds that a slot is held, until some have been


class SlotTicket:
    """One request's place. `served`: it has had a slot, so it no longer counts as waiting."""

    __slots__ = ("deadline", "served")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.served = False


class SlotQueue:
    def __init__(self, slots: int, length: int, patience: float) -> None:
        self._free = slots
        self._slots = slots
        self._length = length
        self._patience = patience
        self._tickets: set[SlotTicket] = set()
        self._waiting: OrderedDict[SlotTicket, deque[asyncio.Future[None]]] = OrderedDict()
        self._up = asyncio.Event()
        self._fault: str | None = None
        self._reason = "The embedded engine is starting."  # while it is not up
        self._held = USUAL  # seconds, a moving mean
        self._since: dict[asyncio.Future[None], float] = {}  # when each slot that is held was taken

    @asynccontextmanager
    async def place(self) -> AsyncIterator[SlotTicket]:
        """A request comes in. It is refused at once if too many wait, or if the engine cannot be had at all."""
        if self._fault is not None:
            raise unavailable(self._fault)
        if sum(not ticket.served for ticket in self._tickets) >= self._length + self._free:
            raise self._busy(f"and {self._length} requests wait already")
        ticket = SlotTicket(asyncio.get_running_loop().time() + self._patience)
        self._tickets.add(ticket)
        try:
            yield ticket
        finally:
            self._tickets.discard(ticket)

    async def up(self, ticket: SlotTicket) -> None:
        """Waits until there is an engine to talk to."""
        try:
            async with asyncio.timeout_at(ticket.deadline):
                await self._up.wait()
        except TimeoutError:
            raise unavailable(self._reason, retry_after=5) from None
        if self._fault is not None:
            raise unavailable(self._fault)

    @asynccontextmanager
    async def slot(self, ticket: SlotTicket) -> AsyncIterator[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(ticket, deque()).append(future)
        self._grant()
        try:
            await self._wait(future, ticket)
        except BaseException:
            self._leave(ticket, future)
            raise
        self._since[future] = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._held += (asyncio.get_running_loop().time() - self._since.pop(future) - self._held) / 8
            self._free += 1
            self._grant()

    def open(self) -> None:
        self._fault = None
        self._up.set()
        self._grant()

    def close(self, reason: str) -> None:
        """The engine is gone for a moment: nobody is granted a slot until it is back."""
        self._reason = reason
        self._up.clear()

    def fail(self, reason: str) -> None:
        """The engine is gone for longer: who waits is told why."""
        self._fault = reason
        self._up.set()
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(unavailable(reason))
        self._waiting.clear()

    async def _wait(self, granted: asyncio.Future[None], ticket: SlotTicket) -> None:
        """A request that has been served once has begun to answer: its further choices wait as long as it takes, also
        those that waited before."""
        patience = None if ticket.served else ticket.deadline - asyncio.get_running_loop().time()
        await asyncio.wait({granted}, timeout=patience)
        if granted.done() or ticket.served:
            await granted
        elif self._up.is_set():
            raise self._busy(f"and none became free within {self._patience:g} s")
        else:
            raise unavailable(self._reason, retry_after=5)

    def _grant(self) -> None:
        while self._free and self._waiting and self._up.is_set() and self._fault is None:
            ticket, futures = next(iter(self._waiting.items()))
            future = futures.popleft()
            if futures:
                self._waiting.move_to_end(ticket)
            else:
                del self._waiting[ticket]
            if not future.done():
                self._free -= 1
                ticket.served = True
                future.set_result(None)

    def _leave(self, ticket: SlotTicket, future: asyncio.Future[None]) -> None:
        if future.done() and not future.cancelled() and future.exception() is None:  # granted, and not taken any more
            self._free += 1
            self._grant()
            return
        futures = self._waiting.get(ticket)
        if futures is not None and future in futures:
            futures.remove(future)
            if not futures:
                del self._waiting[ticket]

    def _busy(self, why: str) -> OverloadError:
        wait = self._advice()
        return OverloadError(
            f"The embedded engine is busy: every slot is taken ({self._slots}), {why}. Please try again in {wait} s.",
            status=429,
            type="requests",
            code="rate_limit_exceeded",
            retry_after=wait,
        )

    def _advice(self) -> int:
        """Seconds after which a slot may be had: by how long they were held, and those that are held now have been."""
        now = asyncio.get_running_loop().time()
        held = max(self._held, *(now - since for since in self._since.values()), 0.0)
        ahead = sum(len(futures) for futures in self._waiting.values()) + 1
        return min(LONGEST_ADVICE, max(1, math.ceil(ahead * held / self._slots)))


def unavailable(reason: str, retry_after: int = 30) -> OverloadError:
    return OverloadError(reason, code="engine_unavailable", retry_after=retry_after)
