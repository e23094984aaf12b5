"""The evaluator process, seen from a worker: a question goes out, a future becomes its verdict.

No task per question, and no timer: a tick looks at those that wait. Rules: the future never fails; a question that is
not answered in time, or whose process dies, or that is one too many becomes FAILURE; a longer text has more time, or
its length alone would let it pass unjudged. The listener is the supervisor's, so a connection stands at once also while
the process is being started; what is asked then waits in the socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, cast

import msgspec

from antiphon.evaluators.parts import most_seconds
from antiphon.evaluators.wire import (
    LARGEST,
    LENGTH,
    MOST_TEXTS,
    Ask,
    Frames,
    Hello,
    Told,
    WireError,
    pack,
    told_decoder,
)
from antiphon.safety.verdict import FAILURE, Stage, Verdict

MOST_WAITING: Final = 1024  # questions
MOST_BYTES: Final = 64 * 1024 * 1024  # of all that wait
SHARE: Final = 0.9  # of the time limit after which the process answers with what it has found
QUIET: Final = 60.0  # seconds between two lines that say that it is overloaded
TICK: Final = 0.05  # seconds; what waits hears at most so much late that it was in vain
LONG: Final = 1_000  # characters, above which there is more time; the looks at a stream are shorter
MOST_MORE: Final = 60.0  # seconds: nobody waits for longer; a process that hangs is killed long before
AGAIN: Final = 0.1  # seconds until a connection that could not be made is tried again

Log = Callable[[str], None]


def encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def work(texts: Sequence[str]) -> float:
    """Seconds that long texts may take above the time limit; 0 for short ones, which are always first."""
    if sum(map(len, texts)) <= LONG:
        return 0.0
    return sum(most_seconds(len(text)) for text in texts)


class Waiting:
    __slots__ = ("deadline", "future", "size", "work")

    def __init__(self, future: asyncio.Future[Verdict], deadline: float, size: int, work: float) -> None:
        self.future = future
        self.deadline = deadline
        self.size = size
        self.work = work


class EvaluatorClient(asyncio.Protocol):
    def __init__(self, path: str, seconds: float, log: Log) -> None:
        self.state = "starting"  # "ready", or what could not be loaded
        self._path = path
        self._seconds = max(TICK, seconds - TICK)  # less the tick: a limit is kept
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._waiting: dict[int, Waiting] = {}
        self._bytes = 0
        self._work = 0.0  # seconds that those who wait may take
        self._unsent: list[bytes] = []  # asked before the connection stood
        self._last = 0
        self._ticking: asyncio.TimerHandle | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._overloaded_at = -QUIET  # when that was last said
        self._is_unreachable = False
        self._closed = False

    def start(self) -> None:
        """Connects, and keeps doing so."""
        if self._connecting is None and not self._closed:
            self._connecting = self._loop.create_task(self._connect())

    async def close(self) -> None:
        self._closed = True
        for timer in (self._ticking, self._retry):
            if timer is not None:
                timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._transport is not None:
            self._transport.abort()
        self._fail_all()

    def ask(self, stage: Stage, texts: Sequence[str], parts: list[str]) -> asyncio.Future[Verdict]:
        future: asyncio.Future[Verdict] = self._loop.create_future()
        if sum(map(len, texts)) > LARGEST or len(texts) > MOST_TEXTS:  # not worth packing
            future.set_result(FAILURE)
            return future
        self._last = number = self._last + 1
        more = work(texts)
        seconds = self._limit(more)
        frame = self._frame(Ask(number, stage, list(texts), parts, seconds * SHARE))
        size = len(frame)
        if size > LARGEST + LENGTH.size or not self._has_room(size):
            future.set_result(FAILURE)
            return future
        self._bytes += size
        self._work += more
        self._waiting[number] = Waiting(future, self._loop.time() + seconds, size, more)
        if self._ticking is None:
            self._ticking = self._loop.call_later(TICK, self._tick)
        if self._transport is not None:
            self._transport.write(frame)
        else:
            self._unsent.append(frame)
        return future

    def _limit(self, more: float) -> float:
        """In seconds. Who asks about a long text waits behind those who did so before, and has their time too."""
        return self._seconds + min(more + self._work, MOST_MORE) if more else self._seconds

    def _frame(self, ask: Ask) -> bytes:
        try:
            return pack(ask)
        except UnicodeEncodeError:  # half a surrogate pair, which JSON can say and UTF-8 cannot
            ask.texts = [encodable(text) for text in ask.texts]
            return pack(ask)

    def _has_room(self, size: int) -> bool:
        # What the transport holds counts too: a process that hangs reads nothing, and given up questions stay there.
        unread = 0 if self._transport is None else self._transport.get_write_buffer_size()
        is_full = len(self._waiting) >= MOST_WAITING or max(self._bytes, unread) + size > MOST_BYTES
        return not (self._closed or is_full)

    # What comes back

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                message = told_decoder.decode(frame)
                if isinstance(message, Told):
                    self._answer(message)
                else:
                    self._greet(message)
        except (WireError, msgspec.MsgspecError) as error:
            self._log(f"the evaluator process said what cannot be read: {type(error).__name__}")
            if self._transport is not None:
                self._transport.abort()

    def _greet(self, hello: Hello) -> None:
        self.state = hello.fault or "ready"

    def _answer(self, told: Told) -> None:
        waiting = self._waiting.pop(told.id, None)
        if told.overloaded and self._loop.time() - self._overloaded_at > QUIET:
            self._overloaded_at = self._loop.time()
            self._log("the evaluator process is overloaded")
        if waiting is not None:
            self._forget(waiting)
            if not waiting.future.done():
                waiting.future.set_result(told.verdict)

    def _forget(self, waiting: Waiting) -> None:
        self._bytes -= waiting.size
        self._work = self._work - waiting.work if self._waiting else 0.0  # nothing is left of what was rounded

    def _fail(self, waiting: Waiting) -> None:
        self._forget(waiting)
        if not waiting.future.done():  # else whoever asked has gone
            waiting.future.set_result(FAILURE)

    def _fail_all(self) -> None:
        failing, self._waiting = self._waiting, {}
        self._unsent.clear()
        for waiting in failing.values():
            self._fail(waiting)

    def _tick(self) -> None:
        now = self._loop.time()
        for number in [number for number, waiting in self._waiting.items() if waiting.deadline <= now]:
            self._fail(self._waiting.pop(number))
        self._ticking = self._loop.call_later(TICK, self._tick) if self._waiting else None

    # The connection

    async def _connect(self) -> None:
        try:
            await self._loop.create_unix_connection(lambda: self, self._path)
        except OSError as error:
            if not self._is_unreachable:
                self._is_unreachable = True
                self._log(f"the evaluator process cannot be reached: {error.strerror or error}")
            self._fail_all()
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
        stream = self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._is_unreachable = False
        self._frames = Frames()
        stream.writelines(self._unsent)
        self._unsent.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.state = "starting"
        self._fail_all()
        self._again()
