"""Limits that several machines share. Each machine leases slices of a limit from Redis or Valkey and admits from these.

A slice is reserved centrally first, so that all machines together never pass the limit. It is at least what the turn at
hand needs, and 5 % of what is left besides; near the limit it is that one reservation. Little left: more is leased
ahead, beside the turns. Nothing used for a while, or another machine was refused: what is not held goes back. A lease
ends by itself, so a machine that is gone leaves nothing behind.

The table of the machine is shared by its workers, and so is a lease. One exchange of a row runs at a time; its number
is in the row, so that an answer that comes too late is not taken for that of the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from antiphon.limits import central
from antiphon.limits.central import ExchangeReply, ExchangeRequest
from antiphon.limits.clock import Clock
from antiphon.limits.leased_row import LeasedRow, LeaseReading
from antiphon.limits.limit import MEASURES, MINUTE, NOTHING, Caller, Cost, Limit, Refused
from antiphon.limits.limiter import BUSY, Hold, Limiter, Rows
from antiphon.limits.resp import ReplyError, RespAddress, RespClient
from antiphon.limits.row import LimitRow, Standing, needs
from antiphon.limits.table import LimitTable

TTL: Final = 10_000_000  # microseconds that a lease holds without a word from its machine
TICK: Final = 1.0  # seconds between looks at the leases
STUCK: Final = 3_000_000  # microseconds after which an exchange is given up for dead
PAUSE: Final = 0.5  # seconds without a try after the counters could not be reached
RECALL: Final = 0.06  # seconds in which other machines return what they do not use
RECALL_PAUSE: Final = 0.01
MOST_WAITING: Final = 1000  # turns that wait for a lease
AHEAD: Final = 8  # reservations that are leased ahead
SOME: Final = 100  # rows that are looked at in one go: less than a millisecond
AGAIN: Final = 0.02  # seconds before that is tried again
PATIENCE: Final = 5.0  # seconds that a turn waits for a lease
OUTAGE: Final = Refused("outage", wait=1_000_000)
Failure = (ConnectionError, ReplyError, ValueError)
Report = Callable[[str], None]


class LeasedLimiter(Limiter):
    """Of one worker. `run` must run beside it, and `close` end it."""

    kind = LeasedRow

    def __init__(
        self,
        table: LimitTable,
        worker: int,
        limits: Sequence[Limit],
        place: RespAddress,
        *,
        clock: Clock | None = None,
        is_open: bool = False,
        ttl: int = TTL,
        report: Report = lambda message: None,
    ) -> None:
        """`is_open`: without the counters, go on with this machine's part of each limit. `report`: told of outages."""
        super().__init__(table, worker, limits, clock)
        self.client = RespClient(place, self._recalled)
        self.client.channel = central.CHANNEL
        self.holders = 1  # machines that share these limits, as far as is known
        self._is_open = is_open
        self._ttl = ttl
        self._holds = ttl * 9 // 10  # a machine gives a lease up before the counters do
        self._renews = ttl * 6 // 10  # … and renews one that is used when so much of it is left
        self._report = report
        self._leased: dict[int, LeasedRow] = {}  # by digest
        self._known: dict[int, tuple[int, int, tuple[int, ...]]] = {}  # day, month, used of each measure
        self._before: dict[int, tuple[int, ...]] = {}  # what was spent at the last look
        self._lines: dict[int, asyncio.Lock] = {}  # of turns that wait for a row
        self._refusals: dict[int, tuple[float, Refused]] = {}  # the last one of a row, and when
        self._waiting = 0
        self._tasks: set[asyncio.Task[object]] = set()
        self._ahead: set[int] = set()  # rows that more is leased for
        self._parts: dict[int, _LocalShare] = {}  # by how many share the limits
        self._down_until = 0.0
        self._is_down = False

    # Turns

    def change_limits(self, limits: Sequence[Limit]) -> None:
        super().change_limits(limits)
        for part in self._parts.values():
            part.change_limits(limits)

    def admit(self, caller: Caller, model: str, cost: Cost) -> Hold | Refused:
        result = super().admit(caller, model, cost)
        if isinstance(result, Hold):
            for row in result.rows:
                if row.is_low and row.digest not in self._ahead and not self._is_down:  # type: ignore[attr-defined]
                    self._ahead.add(row.digest)
                    self._start(self._lease_ahead(self._leased[row.digest], cost))
        return result

    async def admit_later(self, caller: Caller, model: str, cost: Cost) -> Hold | Refused:
        result = await super().admit_later(caller, model, cost)
        if result is not OUTAGE or not self._is_open:
            return result
        part = self._parts.setdefault(self.holders, _LocalShare(self, self.holders))
        result = part.admit(caller, model, cost)
        if isinstance(result, Refused):
            return result
        return _OpenHold(part, result.rows, cost, self, self._rows.get((caller, model), ()))

    async def make_room(self, rows: Rows, requests: int, cost: Cost, turns: int) -> Refused | None:
        """Leases what is missing."""
        if self._waiting >= MOST_WAITING:
            return OUTAGE
        self._waiting += 1
        try:
            for row in rows:
                refused = await self._stand_in_line(self._leased[row.digest], requests, cost, turns)
                if refused is not None:
                    return refused
        finally:
            self._waiting -= 1
        return None

    def standings(self, caller: Caller, model: str) -> dict[str, Standing]:
        """As the counters said last."""
        tightest: dict[str, Standing] = {}
        for row in self._rows.get((caller, model), ()):
            used = self._known[row.digest][2] if row.digest in self._known else (0,) * 8
            for name, spent in list(zip(MEASURES, used, strict=True))[:4]:
                most = getattr(row.limit, name)
                if most is not None:
                    left = max(0, most - spent)
                    if name not in tightest or left < tightest[name].remaining:
                        tightest[name] = Standing(most, left, spent * MINUTE // most)
        return tightest

    def usual_standings(self, caller: Caller, model: str) -> tuple[Standing | None, Standing | None]:
        found = self.standings(caller, model)
        return found.get("requests_per_minute"), found.get("tokens_per_minute")

    def restore(self, caller: Caller, model: str, *, today: int, this_month: int, ever: int) -> bool:
        """The counters are told with the next exchange; they keep what is more."""
        rows = self._find(caller, model)
        _, day, month = self._moment()
        for row in rows or ():
            used = self._known.get(row.digest, (day, month, (0,) * 8))[2]
            self._known[row.digest] = (day, month, (*used[:5], used[5] + today, used[6] + this_month, used[7] + ever))
        return rows is not None

    # Exchanges

    async def _stand_in_line(self, row: LeasedRow, requests: int, cost: Cost, turns: int) -> Refused | None:
        """One after another. Who waited while another one was refused the same or less is refused with it."""
        loop = asyncio.get_running_loop()
        came = loop.time()
        async with self._lines.setdefault(row.digest, asyncio.Lock()):
            when, refused = self._refusals.get(row.digest, (-1.0, OUTAGE))
            asked = needs(requests, cost, turns).get(refused.measure, 0)  # 0: it was no limit that refused
            if when >= came and asked >= refused.asked:
                return refused
            found = await self._need(row, requests, cost, turns)
            if found is not None:
                self._refusals[row.digest] = (loop.time(), found)
            return found

    async def _need(self, row: LeasedRow, requests: int, cost: Cost, turns: int) -> Refused | None:
        asked = tuple(needs(requests, cost, turns).values())
        loop = asyncio.get_running_loop()
        begun, recalls = loop.time(), 0
        while self._lacks(row, requests, cost, turns):
            waited = loop.time() - begun
            if waited > PATIENCE:
                return BUSY
            answer = await self._exchange(row, "need", asked)
            if answer is None:  # another worker's runs, or the table is busy
                await asyncio.sleep(0.002)
            elif isinstance(answer, Refused):
                return answer
            elif answer.status == central.REFUSED:
                return _refusal(row, answer, asked)
            elif answer.status == central.RECALLED:
                recalls += 1
                if recalls > 3 and RECALL < answer.recalled / 1e6 < waited:  # asked after we came, and had their time
                    return _refusal(row, answer, asked)
                await asyncio.sleep(RECALL_PAUSE)
        return None

    def _lacks(self, row: LeasedRow, requests: int, cost: Cost, turns: int) -> bool:
        if not self.table.enter():
            return True
        try:
            return row.lacks(self.table.memory, self._moment(), requests, cost, turns)
        finally:
            self.table.leave()

    async def _lease_ahead(self, row: LeasedRow, cost: Cost) -> None:
        """Not again for a while: near the limit there is nothing to be had ahead."""
        try:
            requests, *amounts = needs(AHEAD, cost, 1).values()
            await self._exchange(row, "ahead", (requests, *(amount * AHEAD for amount in amounts)))
        finally:
            asyncio.get_running_loop().call_later(AGAIN, self._ahead.discard, row.digest)

    async def _exchange(self, row: LeasedRow, mode: str, more: tuple[int, ...]) -> ExchangeReply | Refused | None:
        """None: another one of this row runs, or overtook it. Refused: the counters cannot be reached."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._down_until:
            return OUTAGE
        begun = self._begin(row, mode, more)
        if begun is None:
            return None
        question, reading = begun
        try:
            arguments = question.arguments()
            reply = await self.client.run_script(central.DIGEST, central.SCRIPT, question.key, *arguments)
            answer = central.read_answer(reply)
        except Failure as error:
            self._down_until = loop.time() + PAUSE
            self._tell(error)
            await self._end(row, question.number, b"")
            return OUTAGE
        except BaseException:
            await asyncio.shield(self._end(row, question.number, b""))
            raise
        self._tell(None)
        self.holders = max(1, answer.holders)
        self._known[row.digest] = (question.day, question.month, answer.used)
        log = b""
        if answer.status != central.STALE:
            log = row.set_lease(reading, answer.balances, question.number + self._holds)
        return answer if await self._end(row, question.number, log) else None

    def _begin(self, row: LeasedRow, mode: str, more: tuple[int, ...]) -> tuple[ExchangeRequest, LeaseReading] | None:
        if not self.table.enter():
            return None
        try:
            now, day, month = self._moment()
            reading = row.look(self.table.memory)
            if reading.exchange and now - reading.exchange < STUCK:
                self.table.leave()
                return None
            needed = tuple(held + amount for held, amount in zip(reading.held, more, strict=True))
            log = row.claim(now, self.worker)
            if mode == "return":  # given up before it is given back
                kept = tuple(min(pair) for pair in zip(reading.balances(), needed, strict=True))
                log += row.set_caps(reading, kept)
            known_day, known_month, used = self._known.get(row.digest, (day, month, (0,) * 8))
            known = (used[5] if known_day == day else 0, used[6] if known_month == month else 0, used[7])
        except BaseException:
            self.table.leave()
            raise
        self.table.commit(log)
        spent = (reading.spent, reading.acknowledged)
        question = ExchangeRequest(
            self.table.holder, now, self._ttl, day, month, mode, row.digest, row.limits(), *spent, needed, known,
            reading.held,
        )  # fmt: skip
        return question, reading

    async def _end(self, row: LeasedRow, number: int, log: bytes) -> bool:
        """Writes what came of an exchange. False: it took so long that another one began."""
        # Its holder is in another process: nothing tells us when it leaves.
        while not self.table.enter():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        if row.look(self.table.memory).exchange != number:
            self.table.leave()
            return False
        self.table.commit(log + row.claim(0, 0))
        return True

    def _tell(self, error: BaseException | None) -> None:
        if (error is not None) == self._is_down:
            return
        self._is_down = error is not None
        if error is None:
            self._report("the counters of limits answer again")
        else:
            self._report(f"the counters of limits do not answer: {type(error).__name__}")

    # Beside the turns

    async def run(self) -> None:
        """Renews leases that are used, returns those that are not. Until it is cancelled; then `close`."""
        while True:
            await asyncio.sleep(TICK)
            for limiter in (self, *self._parts.values()):
                limiter.flush()
            await self.look_after()

    async def close(self) -> None:
        """Before this worker leaves: what is not held goes back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.return_all()
        self.client.close()

    async def look_after(self) -> None:
        for count, row in enumerate(list(self._leased.values())):
            if count % SOME == 0:
                await asyncio.sleep(0)  # turns go on meanwhile
            if not self.table.enter():
                return
            reading = row.look(self.table.memory)
            self.table.leave()
            is_used = self._before.get(row.digest) != reading.spent
            self._before[row.digest] = reading.spent
            now = self._moment()[0]
            if not is_used and _has_slack(row, reading):
                await self._exchange(row, "return", (0,) * 8)
            elif reading.until < now + self._renews and (reading.spent != reading.acknowledged or any(reading.held)):
                await self._exchange(row, "need", (0,) * 8)

    async def return_all(self) -> None:
        """Gives up what is not held."""
        for row in list(self._leased.values()):
            await self._exchange(row, "return", (0,) * 8)

    def _recalled(self, message: list[object]) -> None:
        subject = message[2] if len(message) == 3 and message[0] == b"message" else None
        if not isinstance(subject, bytes):
            return
        row = self._leased.get(int(subject, 16))
        if row is not None and self.table.enter():
            reading = row.look(self.table.memory)
            self.table.leave()
            if _has_slack(row, reading):
                self._start(self._exchange(row, "return", (0,) * 8))

    def _start(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _row(self, limit: Limit, digest: int) -> LimitRow:
        row = super()._row(limit, digest)
        assert isinstance(row, LeasedRow)
        self._leased[digest] = row
        return row


def _has_slack(row: LeasedRow, reading: LeaseReading) -> bool:
    pairs = zip(reading.balances(), reading.held, row.limits(), strict=True)
    return any(limit >= 0 and left > held for left, held, limit in pairs)


def _refusal(row: LeasedRow, answer: ExchangeReply, asked: tuple[int, ...]) -> Refused:
    at = answer.measure - 1
    wait = None if answer.wait < 0 else answer.wait
    return Refused(MEASURES[at], row.limit, row.limits()[at], answer.used[at], asked[at], wait)


class _LocalShare(Limiter):
    """This machine's part of each limit, while the counters cannot be reached: as if each machine were alone, with the
    limits divided by the machines that were known."""

    realm = "part"

    def __init__(self, whole: LeasedLimiter, machines: int) -> None:
        super().__init__(whole.table, whole.worker, whole.limits, whole.clock, is_new=False)
        self._machines = machines

    def _applying(self, caller: Caller, model: str) -> list[Limit]:
        return [_divided(limit, self._machines) for limit in super()._applying(caller, model)]

    def _subjects(self, limits: list[Limit], caller: Caller, model: str) -> Iterator[tuple[Limit, str]]:
        whole = super()._applying(caller, model)
        names = (name for _, name in super()._subjects(whole, caller, model))
        return zip(limits, names, strict=True)


def _divided(limit: Limit, machines: int) -> Limit:
    mosts = {name: getattr(limit, name) for name in MEASURES}
    parts = {name: max(1, most // machines) for name, most in mosts.items() if most is not None}
    return replace(limit, **parts)


class _OpenHold(Hold):
    """What it spends is also told to the counters, once they answer."""

    __slots__ = ("_leased", "_whole")

    def __init__(self, part: Limiter, rows: Rows, held: Cost, whole: LeasedLimiter, leased: Rows) -> None:
        super().__init__(part, rows, held)
        self._whole = whole
        self._leased = leased

    def settle(self, actual: Cost, sequence: int = 0) -> None:
        if self.is_open and self._leased:
            self._whole.do(self._leased, actual, NOTHING, 0, sequence)
        super().settle(actual)
