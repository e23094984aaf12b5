"""One evaluator process, seen from a worker: the connection, what waits for it, what was sent to it.

The listener is the supervisor's, so a connection stands at once also while the process is being started; it is asked
once it has said hello. It is sent a few shares at a time: it always has work, and what waits can go to another process.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, cast

import msgspec

from antiphon.evaluators.share import LANES, Share
from antiphon.evaluators.wire import EarlyAsk, EarlyTold, Frames, Hello, Told, WireError, pack, told_decoder

STARTING: Final = "starting"
WINDOW: Final = (32, 32, 4)  # shares of each lane that are sent at a time: twice a batch, and a few long ones
AGAIN: Final = 0.1  # seconds until a connection that could not be made is tried again

Log = Callable[[str], None]
EarlyDone = Callable[[bool], None]


class LinkOwner(Protocol):
    def freed(self, link: Link) -> None: ...

    def answered(self, link: Link, told: Told) -> None: ...

    def lost(self, link: Link) -> None: ...

    def unreachable(self) -> None: ...

    def call_early(self, done: EarlyDone, risky: bool) -> None: ...


class Link(asyncio.Protocol):
    def __init__(self, path: str, owner: LinkOwner, log: Log) -> None:
        self.state = STARTING  # "ready", or what could not be loaded
        self.lanes: tuple[deque[Share], ...] = tuple(deque() for _ in LANES)
        self.sent: dict[int, Share] = {}  # oldest first
        self.early: dict[int, tuple[EarlyDone, float]] = {}  # with its deadline; oldest first
        self.early_parts: frozenset[str] = frozenset()  # that can look early; none before its hello
        self.is_up = False  # it can be asked
        self.is_silent = False  # it has work, and has said nothing for long: another one is asked meanwhile
        self.heard = 0.0  # when it last said something
        self.connections = 0
        self._room = list(WINDOW)
        self._paused = False  # the process reads more slowly than it is asked
        self._path = path
        self._owner = owner
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._connecting: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._is_unreachable = False
        self._closed = False

    # What goes out

    def has_room(self, lane: int) -> bool:
        return self.is_up and self._room[lane] > 0 and not self._paused and not self.is_silent

    def send(self, share: Share, frame: bytes, now: float) -> None:
        assert self._transport is not None
        self._room[share.lane] -= 1
        self.sent[share.id] = share
        share.link, share.sent = self, now
        share.tries += 1
        self._transport.write(frame)

    def keep(self, share: Share) -> None:
        """It has this one already: from before it fell silent."""
        self._room[share.lane] -= 1
        self.sent[share.id] = share
        share.link = self

    def forget(self, share: Share) -> None:
        """It was answered, or is given up."""
        if self.sent.pop(share.id, None) is not None:
            self._room[share.lane] += 1
        share.link = None

    def drop_over(self) -> None:
        """Removes from the lanes what is over."""
        for lane in self.lanes:
            if any(share.is_over for share in lane):
                left = [share for share in lane if not share.is_over]
                lane.clear()
                lane.extend(left)

    def look_early(self, ask: EarlyAsk, done: EarlyDone, deadline: float) -> None:
        assert self._transport is not None
        self.early[ask.id] = done, deadline
        self._transport.write(pack(ask))

    @property
    def is_paused(self) -> bool:
        return self._paused

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._owner.freed(self)

    # What comes back

    def data_received(self, data: bytes) -> None:
        self.heard = self._loop.time()
        self.is_silent = False
        try:
            for frame in self._frames.feed(data):
                message = told_decoder.decode(frame)
                if isinstance(message, Told):
                    self._owner.answered(self, message)
                elif isinstance(message, EarlyTold):
                    if waiting := self.early.pop(message.id, None):
                        self._owner.call_early(waiting[0], message.risky)
                else:
                    self._greet(message)
        except (WireError, msgspec.MsgspecError) as error:
            self._log(f"the evaluator process said what cannot be read: {type(error).__name__}")
            if self._transport is not None:
                self._transport.abort()

    def _greet(self, hello: Hello) -> None:
        self.state = hello.fault or "ready"
        self.early_parts = frozenset(hello.early)
        self.is_up = True
        self._owner.freed(self)

    # The connection

    def start(self) -> None:
        """Connects, and keeps doing so."""
        if self._connecting is None and not self._closed:
            self._connecting = self._loop.create_task(self._connect())

    async def close(self) -> None:
        self._closed = True
        self.is_up = False
        self.early_parts = frozenset()
        if self._retry is not None:
            self._retry.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._transport is not None:
            self._transport.abort()
        self._fail_early()

    async def _connect(self) -> None:
        try:
            await self._loop.create_unix_connection(lambda: self, self._path)
        except OSError as error:
            if not self._is_unreachable:
                self._is_unreachable = True
                self._log(f"the evaluator process cannot be reached: {error.strerror or error}")
            self._owner.unreachable()
            self._again()
        finally:
            self._connecting = None

    def _again(self) -> None:
        if not self._closed and self._retry is None:
            self._retry = self._loop.call_later(AGAIN, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self.start()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._is_unreachable = self._paused = self.is_silent = False
        self.connections += 1
        self._frames = Frames()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.is_up = False
        self.early_parts = frozenset()
        self.state = STARTING
        self._fail_early()
        self._owner.lost(self)
        self._again()

    def _fail_early(self) -> None:
        early, self.early = self.early, {}
        for done, _ in early.values():
            self._owner.call_early(done, True)
