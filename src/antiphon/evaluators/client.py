"""The evaluator processes, seen from a worker: a question goes out, its verdict comes back by a call.

No task, no future and no timer per question: a tick looks at those that wait. Rules: nobody is called back within the
call that asked, and nothing here fails, except that a question raises if it cannot be encoded, by our own fault. A text
belongs to one of the processes by its checksum, so that all workers ask the same one, which judges it once and
remembers it; a process without work takes what waits for another. What a process was asked before it died or fell
silent is asked of another one, or of its successor. What was not judged in time (`patience`), or is one too many,
becomes FAILURE, an early look becomes "risky"; a longer text has more time, or its length alone would let it pass
unjudged, and if that is not enough it becomes LATE, which policies that block refuse. What was judged before is known
here already (`Known`: no texts are kept).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar
from zlib import crc32

from antiphon.evaluators.backends import most_seconds
from antiphon.evaluators.link import STARTING, EarlyDone, Link, Log
from antiphon.evaluators.patience import WaitEstimate
from antiphon.evaluators.share import LANES, MOST_TRIES, Done, Merge, Share
from antiphon.evaluators.topic import Known, Topic
from antiphon.evaluators.unjudged import Unjudged
from antiphon.evaluators.wire import LARGEST, LONGEST_EARLY, MOST_TEXTS, Ask, EarlyAsk, Told, pack
from antiphon.safety.verdict import FAILED, FAILURE, LATE, NOTHING, OVER_LENGTH, Stage, Verdict

MOST_WAITING: Final = 4096  # shares
MOST_BYTES: Final = LARGEST - 64 * 1024  # of the texts of a question: a message says a little more
MOST_CHARACTERS: Final = 32 * 1024 * 1024  # of all that wait
SHARE: Final = 0.9  # of the time limit after which the process answers with what it has found
TICK: Final = 0.05  # seconds; what waits is told at most so much late that it was in vain
LONG: Final = 1_000  # characters, above which there is more time; the looks at a stream are shorter
LARGE: Final = 20_000  # characters of a question above which its length is to blame if there was no time for it
MOST_MORE: Final = 60.0  # seconds: nobody waits for longer; a process that hangs is killed long before
SILENT: Final = 1.0  # seconds without a word of a process that has work, after which another one is asked, too
REMEMBERED: Final = 4096  # verdicts
EARLY: Final = 0.1  # seconds that an early look may take
MOST_EARLY: Final = 256  # early looks that wait
OVERLOADED: Final = "overloaded"

T = TypeVar("T", Verdict, bool)


def encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def work(texts: Sequence[str], characters: int) -> float:
    """Seconds that long texts may take above the time limit; 0 for short ones, which are always first."""
    return sum(most_seconds(len(text)) for text in texts) if characters > LONG else 0.0


def is_too_large(texts: Sequence[str], characters: int) -> bool:
    """For a message to a process."""
    if characters > MOST_BYTES or len(texts) > MOST_TEXTS:
        return True
    return 4 * characters > MOST_BYTES and sum(len(text.encode("utf-8", "replace")) for text in texts) > MOST_BYTES


class EvaluatorClient:
    def __init__(self, paths: Sequence[str], seconds: float, log: Log, queue: float = 0.0) -> None:
        """`paths`: the sockets of the processes; `seconds`: to judge a question; `queue`: to wait for that."""
        self._seconds = max(TICK, seconds - TICK)  # less the tick: a limit is kept
        self._loop = asyncio.get_running_loop()
        self._links = [Link(path, self, log) for path in paths]
        self._topics: dict[tuple[Stage, str], Topic] = {}
        self._known = Known(REMEMBERED)
        self._waiting: dict[int, Share] = {}  # in lanes, and sent; oldest first
        self._patience = WaitEstimate(queue)
        self._unjudged = Unjudged(log, lambda: self.state)
        self._silent = min(SILENT, (self._seconds + queue) / 3)
        self._characters = 0
        self._work = 0.0  # seconds that those who wait may take
        self._last = 0
        self._ticking: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def state(self) -> str:
        """`starting`, `ready`, `overloaded`, or what could not be loaded."""
        states = [link.state for link in self._links if link.state != STARTING]
        if not states:
            return STARTING
        worst = next((state for state in states if state != "ready"), "ready")
        return OVERLOADED if worst == "ready" and self._patience.is_overloaded(self._loop.time()) else worst

    def start(self) -> None:
        """Connects, and keeps doing so."""
        for link in self._links:
            link.start()

    async def close(self) -> None:
        self._closed = True
        if self._ticking is not None:
            self._ticking.cancel()
        for link in self._links:
            await link.close()
        self._fail_all()
        self._unjudged.say()

    # What is asked

    def topic(self, stage: Stage, parts: Sequence[str]) -> Topic:
        """What is asked: by whom a text is to be judged, and on which side. The same for the same parts."""
        name = "\n".join(parts)
        topic = self._topics.get((stage, name))
        if topic is None:
            topic = self._topics[stage, name] = Topic(stage, list(parts))
        return topic

    def ask(self, stage: Stage, texts: Sequence[str], parts: Sequence[str]) -> asyncio.Future[Verdict]:
        """The processes are asked, whatever is known already."""
        future: asyncio.Future[Verdict] = self._loop.create_future()
        failed = self._ask(self.topic(stage, parts), list(texts), (), NOTHING, partial(_settle, future))
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
            return known if known is not None else self._ask(topic, [texts[0]], (key,), NOTHING, done)
        unknown, keys, known = topic.find(texts, self._known)
        return known if texts and not unknown else self._ask(topic, unknown, keys, known, done)

    def _ask(self, topic: Topic, texts: list[str], keys: Sequence[int], known: Verdict, done: Done) -> Verdict | None:
        characters = sum(map(len, texts))
        if is_too_large(texts, characters):
            return known | OVER_LENGTH
        failure = LATE if characters > LARGE else FAILURE
        if self._closed or len(self._waiting) >= MOST_WAITING or self._characters + characters > MOST_CHARACTERS:
            self._note(len(texts))
            return known | failure
        if len(self._links) == 1 or not texts:
            self._add(self._links[0], topic, texts, keys, known, done, failure)
            return None
        shares = self._divide(texts, keys)
        if len(shares) > 1:
            done = Merge(len(shares), known, done).add
            known = NOTHING
        for home, (some, their_keys) in shares.items():
            self._add(self._links[home], topic, some, their_keys, known, done, failure)
        return None

    def _divide(self, texts: list[str], keys: Sequence[int]) -> dict[int, tuple[list[str], list[int]]]:
        """By the process that a text belongs to."""
        shares: dict[int, tuple[list[str], list[int]]] = {}
        for number, text in enumerate(texts):
            home = crc32(text.encode("utf-8", "surrogatepass")) % len(self._links)
            some, their_keys = shares.setdefault(home, ([], []))
            some.append(text)
            if keys:
                their_keys.append(keys[number])
        return shares

    def _add(
        self,
        link: Link,
        topic: Topic,
        texts: list[str],
        keys: Sequence[int],
        known: Verdict,
        done: Done,
        failure: Verdict,
    ) -> None:
        now = self._loop.time()
        characters = sum(map(len, texts))
        self._last = number = self._last + 1
        share = Share(number, topic, texts, keys, known, done, characters, failure)
        share.asked = now
        share.work = more = work(texts, characters)
        # Who asks about a long text waits behind those who did so before, and has their time too.
        share.limit = self._seconds + min(more + self._work, MOST_MORE) if more else self._seconds
        self._characters += characters
        self._work += more
        self._waiting[number] = share
        if self._ticking is None:
            self._ticking = self._loop.call_later(TICK, self._tick)
        if link.has_room(share.lane) and not link.lanes[share.lane]:
            try:
                self._send(link, share, now)
            except Exception:
                self._drop(share, now)
                raise
        else:
            self._patience.enter(now)
            link.lanes[share.lane].append(share)
            if len(self._links) > 1:
                self._fill_all()

    # What is sent

    def _send(self, link: Link, share: Share, now: float) -> None:
        waits = max(0.0, share.asked + self._patience.most(now) - now)
        texts, joins, frames = share.divided()
        ask = Ask(share.id, share.topic.stage, texts, share.topic.parts, share.limit * SHARE, waits, joins, frames)
        try:
            frame = pack(ask)
        except UnicodeEncodeError:  # half a surrogate pair, which JSON can say and UTF-8 cannot
            ask.texts = [encodable(text) for text in texts]
            ask.joins = [(encodable(first), encodable(second)) for first, second in joins]
            frame = pack(ask)
        link.send(share, frame, now)

    def _fill_all(self) -> None:
        for link in self._links:
            self._fill(link)

    def _fill(self, link: Link) -> None:
        """Sends what waits, the oldest first: what belongs to this process, and, if that is nothing, what waits for
        another one."""
        now = self._loop.time()
        for lane in LANES:
            while link.has_room(lane):
                source = link.lanes[lane] or max((each.lanes[lane] for each in self._links), key=len)
                if not source:
                    break
                share = source.popleft()
                if not share.is_over:
                    self._patience.leave()
                    try:
                        self._send(link, share, now)
                    except Exception as error:
                        self._drop(share, now)
                        self._report("a question could not be sent", error)
                        self._note(len(share.texts))
                        self._loop.call_soon(self._call, share.done, share.known | FAILURE)

    def _drop(self, share: Share, now: float) -> None:
        """By our own fault it cannot be sent."""
        if share.link is None:  # then it still counts as one that waits
            self._patience.enter(now)
        self._close(share)

    def _put_back(self, link: Link, share: Share) -> None:
        """What a process was asked in vain is first again."""
        link.forget(share)
        self._patience.enter(self._loop.time())
        link.lanes[share.lane].appendleft(share)

    # Early looks

    def look_early(self, text: str, parts: list[str], done: EarlyDone) -> bool:
        """False: there is no early look, and `done` is never called. Else it is called with "risky", later, once."""
        able = [link for link in self._links if link.early_parts.issuperset(parts) and link.is_up]
        if not able:
            return False
        link = able[0] if len(able) == 1 else min(able, key=lambda each: (each.is_silent, len(each.early)))
        if link.is_paused or len(link.early) >= MOST_EARLY or len(text) > LONGEST_EARLY:
            self._loop.call_soon(done, True)
            return True
        self._last = number = self._last + 1
        if self._ticking is None:
            self._ticking = self._loop.call_later(TICK, self._tick)
        deadline = self._loop.time() + EARLY - TICK
        try:
            link.look_early(EarlyAsk(number, text, parts), done, deadline)
        except UnicodeEncodeError:
            link.look_early(EarlyAsk(number, encodable(text), parts), done, deadline)
        return True

    def call_early(self, done: EarlyDone, risky: bool) -> None:
        self._call(done, risky)

    # What comes back

    def freed(self, link: Link) -> None:
        self._fill(link)

    def answered(self, link: Link, told: Told) -> None:
        share = self._waiting.get(told.id)
        if share is None:
            return
        if told.overloaded:
            if share.link is link:
                share.tries -= 1
                self._put_back(link, share)  # the next tick sends it
            return
        self._patience.moved(self._loop.time())
        self._close(share)
        verdict, known = told.verdict, share.known
        if verdict.error != FAILED:
            self._keep(share.keys, told)
        else:
            verdict |= share.failure
            self._note(len(share.texts))
        self._fill(link)
        self._call(share.done, verdict if known is NOTHING else known | verdict)

    def lost(self, link: Link) -> None:
        """Another process is asked, but not many: it may be the text that kills them."""
        for share in reversed(list(link.sent.values())):
            before, connection = share.before or (link, 0)
            if share.tries < MOST_TRIES and not self._closed:
                self._put_back(link, share)
            elif before is not link and before.is_up and before.connections == connection:
                link.forget(share)
                before.keep(share)
            else:
                self._fail(share, FAILURE)
        self._fill_all()

    def unreachable(self) -> None:
        """A process that is being started can be reached: its socket is the supervisor's."""
        if not any(link.is_up for link in self._links):
            self._fail_all()

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
            self._report("whoever waited for a verdict failed", error)

    def _report(self, what: str, error: Exception) -> None:
        self._loop.call_exception_handler({"message": what, "exception": error})

    # What is over

    def _close(self, share: Share) -> None:
        """It waits no more, neither in a lane nor for a process."""
        if self._waiting.pop(share.id, None) is None:
            return
        share.is_over = True
        self._characters -= share.characters
        self._work = self._work - share.work if self._waiting else 0.0  # nothing is left of what was rounded
        if share.link is not None:
            share.link.forget(share)
        else:
            self._patience.leave()

    def _fail(self, share: Share, failure: Verdict) -> None:
        self._close(share)
        self._note(len(share.texts))
        self._call(share.done, share.known | failure)

    def _fail_all(self) -> None:
        for share in list(self._waiting.values()):
            self._fail(share, FAILURE)
        for link in self._links:
            link.drop_over()

    def _note(self, texts: int) -> None:
        """There was no verdict on them."""
        if self._closed:
            return
        self._patience.failed(self._loop.time())
        self._unjudged.add(texts)

    def _tick(self) -> None:
        now = self._loop.time()
        most = self._patience.most(now)
        over = [share for share in self._waiting.values() if self._patience.is_over(share, most, now)]
        for share in over:
            self._fail(share, share.failure)
        for link in self._links:
            if over:
                link.drop_over()
            for number in [number for number, (_, deadline) in link.early.items() if deadline <= now]:
                self._call(link.early.pop(number)[0], True)
            if len(self._links) > 1:
                self._look_for_silence(link, now)
        self._fill_all()
        waits = self._waiting or any(link.early for link in self._links)
        self._ticking = self._loop.call_later(TICK, self._tick) if waits and not self._closed else None

    def _look_for_silence(self, link: Link, now: float) -> None:
        """What a silent process was asked is asked of another one. Whoever answers first counts."""
        oldest = next(iter(link.sent.values()), None)
        if oldest is None or now - max(oldest.sent, link.heard) < self._silent:
            return
        if not any(other.is_up and not other.is_silent for other in self._links if other is not link):
            return
        link.is_silent = True
        for share in reversed(list(link.sent.values())):
            if share.tries < MOST_TRIES:
                share.before = link, link.connections
                self._put_back(link, share)


def _settle(future: asyncio.Future[Verdict], verdict: Verdict) -> None:
    if not future.done():  # else whoever asked has gone
        future.set_result(verdict)


def _settled(future: asyncio.Future[Verdict], verdict: Verdict | None) -> asyncio.Future[Verdict]:
    if verdict is not None:
        future.set_result(verdict)
    return future
