"""The evaluator process, seen from a worker: a question goes out, its verdict comes back by a call.

No task, no future and no timer per question: a tick looks at those that wait. Rules: nothing here fails, and nobody is
called back within the call that asked; a question that is not answered in time, or whose process dies, or that is one
too many becomes FAILURE, an early look becomes "risky"; a longer text has more time, or its length alone would let it
pass unjudged, and if that is not enough it becomes LATE, which policies that block refuse. What was judged before is
known here already (`Known`: no texts are kept). The listener is the supervisor's, so a connection stands at once also
while the process is being started; what is asked then waits in the socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar, cast

import msgspec

from antiphon.evaluators.parts import most_seconds
from antiphon.evaluators.topic import Known, Topic
from antiphon.evaluators.wire import (
    LARGEST,
    LENGTH,
    LONGEST_EARLY,
    MOST_TEXTS,
    Ask,
    EarlyAsk,
    EarlyTold,
    Frames,
    Hello,
    Told,
    WireError,
    pack,
    told_decoder,
)
from antiphon.safety.verdict import FAILED, FAILURE, LATE, NOTHING, OVER_LENGTH, Stage, Verdict

STARTING: Final = "starting"
MOST_WAITING: Final = 1024  # questions
MOST_BYTES: Final = 64 * 1024 * 1024  # of all that wait
SHARE: Final = 0.9  # of the time limit after which the process answers with what it has found
QUIET: Final = 60.0  # seconds between two lines that say that it is overloaded
TICK: Final = 0.05  # seconds; what waits hears at most so much late that it was in vain
LONG: Final = 1_000  # characters, above which there is more time; the looks at a stream are shorter
LARGE: Final = 20_000  # characters of a question above which its length is to blame if there was no time for it
MOST_MORE: Final = 60.0  # seconds: nobody waits for longer; a process that hangs is killed long before
AGAIN: Final = 0.1  # seconds until a connection that could not be made is tried again
REMEMBERED: Final = 4096  # verdicts
EARLY: Final = 0.1  # seconds that an early look may take
MOST_EARLY: Final = 256  # early looks that wait

Log = Callable[[str], None]
Done = Callable[[Verdict], None]
EarlyDone = Callable[[bool], None]
T = TypeVar("T", Verdict, bool)


def encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def work(texts: Sequence[str], characters: int) -> float:
    """Seconds that long texts may take above the time limit; 0 for short ones, which are always first."""
    return sum(most_seconds(len(text)) for text in texts) if characters > LONG else 0.0


class Waiting:
    """One question: `keys` are those of its texts, `known` is the verdict on those that were not sent."""

    __slots__ = ("deadline", "done", "failure", "keys", "known", "size", "work")

    def __init__(
        self,
        done: Done,
        keys: Sequence[int],
        known: Verdict,
        deadline: float,
        size: int,
        work: float,
        failure: Verdict,
    ) -> None:
        self.done = done
        self.keys = keys
        self.known = known
        self.deadline = deadline
        self.size = size
        self.work = work
        self.failure = failure  # what it becomes when there was no time for it


class EvaluatorClient(asyncio.Protocol):
    def __init__(self, path: str, seconds: float, log: Log) -> None:
        self.state = STARTING  # "ready", or what could not be loaded
        self._path = path
        self._seconds = max(TICK, seconds - TICK)  # less the tick: a limit is kept
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._topics: dict[tuple[Stage, str], Topic] = {}
        self._known = Known(REMEMBERED)
        self._waiting: dict[int, Waiting] = {}
        self._early: dict[int, tuple[EarlyDone, float]] = {}  # with its deadline; oldest first
        self._early_parts: frozenset[str] = frozenset()  # that can look early; none while nobody is connected
        self._bytes = 0
        self._work = 0.0  # seconds that those who wait may take
        self._paused = False  # the process reads more slowly than it is asked
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
        self._early_parts = frozenset()
        for timer in (self._ticking, self._retry):
            if timer is not None:
                timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._transport is not None:
            self._transport.abort()
        self._fail_all()

    # What goes out

    def topic(self, stage: Stage, parts: Sequence[str]) -> Topic:
        """What is asked: by whom a text is to be judged, and on which side. The same for the same parts."""
        name = "\n".join(parts)
        topic = self._topics.get((stage, name))
        if topic is None:
            topic = self._topics[stage, name] = Topic(stage, list(parts))
        return topic

    def ask(self, stage: Stage, texts: Sequence[str], parts: Sequence[str]) -> asyncio.Future[Verdict]:
        """The process is asked, whatever is known already."""
        future: asyncio.Future[Verdict] = self._loop.create_future()
        failed = self._send(self.topic(stage, parts), list(texts), (), NOTHING, partial(_settle, future))
        return _settled(future, failed)

    def ask_about(self, topic: Topic, texts: Sequence[str]) -> asyncio.Future[Verdict]:
        """As `ask_now`, with a future."""
        future: asyncio.Future[Verdict] = self._loop.create_future()
        return _settled(future, self.ask_now(topic, texts, partial(_settle, future)))

    def ask_now(self, topic: Topic, texts: Sequence[str], done: Done) -> Verdict | None:
        """The verdict, if all the texts were judged before, or if they cannot be sent (FAILURE). None: `done` is called
        with it, once, later."""
        if len(texts) == 1:  # as in most questions
            key = topic.key(texts[0])
            known = self._known.find(key)
            return known if known is not None else self._send(topic, [texts[0]], (key,), NOTHING, done)
        unknown, keys, known = topic.find(texts, self._known)
        return known if texts and not unknown else self._send(topic, unknown, keys, known, done)

    def _send(self, topic: Topic, texts: list[str], keys: Sequence[int], known: Verdict, done: Done) -> Verdict | None:
        characters = sum(map(len, texts))
        if characters > LARGEST or len(texts) > MOST_TEXTS:  # not worth packing
            return known | OVER_LENGTH
        self._last = number = self._last + 1
        more = work(texts, characters)
        seconds = self._limit(more) if more else self._seconds
        frame = self._frame(Ask(number, topic.stage, texts, topic.parts, seconds * SHARE))
        size = len(frame)
        if size > LARGEST + LENGTH.size:
            return known | OVER_LENGTH
        failure = LATE if characters > LARGE else FAILURE
        if not self._has_room(size):
            return known | failure
        self._bytes += size
        self._work += more
        self._waiting[number] = Waiting(done, keys, known, self._loop.time() + seconds, size, more, failure)
        if self._ticking is None:
            self._ticking = self._loop.call_later(TICK, self._tick)
        if self._transport is not None:
            self._transport.write(frame)
        else:
            self._unsent.append(frame)
        return None

    def look_early(self, text: str, parts: list[str], done: EarlyDone) -> bool:
        """False: there is no early look, and `done` is never called. Else it is called with "risky", later, once."""
        transport = self._transport
        if transport is None or not self._early_parts.issuperset(parts):
            return False
        if self._paused or len(self._early) >= MOST_EARLY or len(text) > LONGEST_EARLY:
            self._loop.call_soon(done, True)
            return True
        self._last = number = self._last + 1
        try:
            frame = pack(EarlyAsk(number, text, parts))
        except UnicodeEncodeError:
            frame = pack(EarlyAsk(number, encodable(text), parts))
        self._early[number] = done, self._loop.time() + EARLY - TICK
        if self._ticking is None:
            self._ticking = self._loop.call_later(TICK, self._tick)
        transport.write(frame)
        return True

    def _limit(self, more: float) -> float:
        """In seconds. Who asks about a long text waits behind those who did so before, and has their time too."""
        return self._seconds + min(more + self._work, MOST_MORE)

    def _frame(self, ask: Ask) -> bytes:
        try:
            return pack(ask)
        except UnicodeEncodeError:  # half a surrogate pair, which JSON can say and UTF-8 cannot
            ask.texts = [encodable(text) for text in ask.texts]
            return pack(ask)

    def _has_room(self, size: int) -> bool:
        # What the transport holds counts too: a process that hangs reads nothing, and given up questions stay there.
        is_full = len(self._waiting) >= MOST_WAITING or max(self._bytes, self._unread()) + size > MOST_BYTES
        return not (self._closed or is_full)

    def _unread(self) -> int:
        """Bytes that the process has not read; 0 also for few."""
        return self._transport.get_write_buffer_size() if self._paused and self._transport is not None else 0

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False

    # What comes back

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                message = told_decoder.decode(frame)
                if isinstance(message, Told):
                    self._answer(message)
                elif isinstance(message, EarlyTold):
                    if waiting := self._early.pop(message.id, None):
                        self._call(waiting[0], message.risky)
                else:
                    self._greet(message)
        except (WireError, msgspec.MsgspecError) as error:
            self._log(f"the evaluator process said what cannot be read: {type(error).__name__}")
            if self._transport is not None:
                self._transport.abort()

    def _greet(self, hello: Hello) -> None:
        self.state = hello.fault or "ready"
        self._early_parts = frozenset(hello.early)

    def _answer(self, told: Told) -> None:
        waiting = self._waiting.pop(told.id, None)
        if told.overloaded and self._loop.time() - self._overloaded_at > QUIET:
            self._overloaded_at = self._loop.time()
            self._log("the evaluator process is overloaded")
        if waiting is None:
            return
        self._forget(waiting)
        verdict, known = told.verdict, waiting.known
        if verdict.error != FAILED:
            self._keep(waiting.keys, told)
        else:
            verdict |= waiting.failure
        self._call(waiting.done, verdict if known is NOTHING else known | verdict)

    def _keep(self, keys: Sequence[int], told: Told) -> None:
        if len(keys) == 1:
            self._known.keep(keys[0], told.verdict)
        elif told.each is not None and len(told.each) == len(keys):
            for key, verdict in zip(keys, told.each, strict=True):
                self._known.keep(key, verdict)

    def _call(self, done: Callable[[T], None], found: T) -> None:
        try:
            done(found)
        except Exception as error:  # a fault of one turn, not of those that wait beside it
            self._loop.call_exception_handler({"message": "whoever waited for a verdict failed", "exception": error})

    def _forget(self, waiting: Waiting) -> None:
        self._bytes -= waiting.size
        self._work = self._work - waiting.work if self._waiting else 0.0  # nothing is left of what was rounded

    def _fail(self, waiting: Waiting, failure: Verdict) -> None:
        self._forget(waiting)
        self._call(waiting.done, waiting.known | failure)

    def _fail_all(self) -> None:
        failing, self._waiting = self._waiting, {}
        early, self._early = self._early, {}
        self._unsent.clear()
        for waiting in failing.values():
            self._fail(waiting, FAILURE)
        for done, _ in early.values():
            self._call(done, True)

    def _tick(self) -> None:
        now = self._loop.time()
        for number in [number for number, waiting in self._waiting.items() if waiting.deadline <= now]:
            waiting = self._waiting.pop(number)
            self._fail(waiting, waiting.failure)
        for number in [number for number, (_, deadline) in self._early.items() if deadline <= now]:
            self._call(self._early.pop(number)[0], True)
        waits = self._waiting or self._early
        self._ticking = self._loop.call_later(TICK, self._tick) if waits and not self._closed else None

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
        self._is_unreachable = self._paused = False
        self._frames = Frames()
        stream.writelines(self._unsent)
        self._unsent.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._early_parts = frozenset()
        self.state = STARTING
        self._fail_all()
        self._again()


def _settle(future: asyncio.Future[Verdict], verdict: Verdict) -> None:
    if not future.done():  # else whoever asked has gone
        future.set_result(verdict)


def _settled(future: asyncio.Future[Verdict], verdict: Verdict | None) -> asyncio.Future[Verdict]:
    if verdict is not None:
        future.set_result(verdict)
    return future
