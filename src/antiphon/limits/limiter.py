"""Admission. What a turn calls, in this order:

    hold = limiter.admit(caller, model, cost)    before the upstream is asked: a Hold, or Refused
    hold.extend(spent, ahead)                    while a stream runs, before it passes what is held
    hold.settle(actual, sequence)                once, right after the turn's entry is in the journal

When a worker has died, the supervisor calls, before another worker gets its number:

    limiter.resettle(worker, settlements)        what its journal says and the table does not
    table.release(worker)                        what its turns held (a new Limiter does that too)

A Refused that `may_wait` is not the last word: `await limiter.admit_later(…)`, `await hold.extend_later(…)`. That is
rare. All else is synchronous and takes microseconds. `cost` is the worst case of the turn's next step: the counted
prompt, and the output that it may write before it is extended: `min(max_tokens, reserve_output)` for each choice, but
never more than `fit_output` says; `money` is both at the dearest price, rounded up.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from antiphon.limits.clock import Clock
from antiphon.limits.limit import MINUTE, NOTHING, Amounts, Caller, Cost, Limit, Refused
from antiphon.limits.row import LimitRow, Moment, Moved, Standing
from antiphon.limits.table import LimitTable, TableFull, patch

MOST_REMEMBERED: Final = 65_536  # callers x models whose rows are known
IDLE: Final = 10 * MINUTE  # a row untouched for so long may be given to another subject
BUSY: Final = Refused("busy", wait=1_000_000)
TRIES: Final = 30
BUSY_PAUSE: Final = 0.03  # seconds
FULL: Final = Refused("full", wait=MINUTE)
SEQUENCE: Final = struct.Struct("=q")
SETTLED: Final = struct.Struct("=QQq")  # a sequence, as the log has it
Rows = tuple[LimitRow, ...]
Change = tuple[Rows, int, Amounts, Amounts, int, int]  # rows, requests, spent, held, turns, sequence of the entry or 0


class Settlement(NamedTuple):
    """A turn that ended, as the journal has it."""

    sequence: int
    caller: Caller
    model: str
    actual: Cost


class Limiter:
    """Of one worker. `limits` are those of the settings; a caller brings its own besides."""

    kind: type[LimitRow] = LimitRow
    realm = "whole"  # rows of different realms are apart

    def __init__(
        self,
        table: LimitTable,
        worker: int,
        limits: Sequence[Limit],
        clock: Clock | None = None,
        *,
        is_new: bool = True,
    ) -> None:
        """`is_new`: the worker that had this number before is dead, so what its turns held is released. TimeoutError:
        the table's lock is not to be had."""
        self.table = table
        self.worker = worker
        self.limits = tuple(limits)
        self.clock = clock or Clock()
        self._rows: dict[tuple[Caller, str], Rows] = {}
        self._late: list[Change] = []  # what found the lock taken
        if is_new and not table.release(worker):
            raise TimeoutError("the table of limits is locked by a process that does not run")

    def change_limits(self, limits: Sequence[Limit]) -> None:
        """Other settings. What was spent stays with a limit of the same name; turns that run keep what they hold."""
        self.limits = tuple(limits)
        self._rows.clear()

    def admit(self, caller: Caller, model: str, cost: Cost) -> Hold | Refused:
        """Holds `cost` in every limit that applies, and counts a request; or does nothing at all. `model`: as routes
        name it; names that clients make up would fill the table where a limit is per model."""
        rows = self._rows.get((caller, model))
        if rows is None:
            try:
                rows = self._find(caller, model)
            except TableFull:
                return FULL
            if rows is None:
                return BUSY
        refused = None
        if rows:
            try:
                refused = self.try_to(rows, 1, NOTHING, cost, 1)
            except Moved:
                del self._rows[caller, model]
                return self.admit(caller, model, cost)
        return Hold(self, rows, cost) if refused is None else refused

    async def admit_later(self, caller: Caller, model: str, cost: Cost) -> Hold | Refused:
        """As `admit`; waits where a Refused of it `may_wait`: somebody was stopped while he held the lock, or a lease
        is too small."""
        for _ in range(TRIES):
            result = self.admit(caller, model, cost)
            if isinstance(result, Hold) or not result.may_wait:
                return result
            refused = await self.wait_for_room(result, self._rows.get((caller, model), ()), 1, cost, 1)
            if refused is not None:
                return refused
        return BUSY

    async def wait_for_room(self, result: Refused, rows: Rows, requests: int, cost: Cost, turns: int) -> Refused | None:
        if result is not BUSY:
            return await self.make_room(rows, requests, cost, turns)
        await asyncio.sleep(BUSY_PAUSE)
        return None

    async def make_room(self, rows: Rows, requests: int, cost: Cost, turns: int) -> Refused | None:
        """Brings what a lease lacks (leases.py). None: it is there, try again."""
        return BUSY

    def has_limits(self, caller: Caller, model: str) -> bool:
        """Whether any limit applies. Where that cannot be known right now, it may."""
        rows = self._rows.get((caller, model))
        if rows is None:
            try:
                rows = self._find(caller, model)
            except TableFull:
                rows = None
        return rows is None or bool(rows)

    def fit_output(self, caller: Caller, model: str, input: int, output: int) -> int:
        """The part of `output` that the limits can ever allow beside `input`; at least 1: a prompt that is too large
        is refused as such."""
        rows = self._rows.get((caller, model))
        limits = self._applying(caller, model) if rows is None else [row.limit for row in rows]
        for limit in limits:
            if limit.output_tokens_per_minute is not None:
                output = min(output, limit.output_tokens_per_minute)
            if limit.tokens_per_minute is not None:
                output = min(output, limit.tokens_per_minute - input)
        return max(1, output)

    def standings(self, caller: Caller, model: str) -> dict[str, Standing]:
        """Measure -> how the limit stands that has least left. For headers (headers.py)."""
        tightest: dict[str, Standing] = {}
        when = self._moment()
        for row in self._rows.get((caller, model), ()):
            try:  # without the lock: what is told may be a few turns old
                for name, standing in row.standings(self.table.memory, when):
                    if name not in tightest or standing.remaining < tightest[name].remaining:
                        tightest[name] = standing
            except Moved:
                continue
        return tightest

    def usual_standings(self, caller: Caller, model: str) -> tuple[Standing | None, Standing | None]:
        """As `standings`, of requests and of tokens."""
        requests = tokens = None
        now = self.clock.read()
        for row in self._rows.get((caller, model), ()):
            if not row.has_minutes:
                continue
            try:
                of_row, tokens_of_row = row.usual_standings(self.table.memory, now)
            except Moved:
                continue
            if requests is None or (of_row is not None and of_row.remaining < requests.remaining):
                requests = of_row
            if tokens is None or (tokens_of_row is not None and tokens_of_row.remaining < tokens.remaining):
                tokens = tokens_of_row
        return requests, tokens

    # After a crash, and at start

    def resettle(self, worker: int, settlements: Iterable[Settlement]) -> bool:
        """Spends what the journal of a dead worker says and the table does not. Twice is the same as once.
        False: the lock was not to be had; call it again."""
        if not self.table.enter():  # which also finishes a change that the worker died in
            return False
        done = self.table.settled(worker)
        self.table.leave()
        for sequence, caller, model, actual in settlements:
            if sequence <= done:
                continue
            try:
                rows = self._find(caller, model)
            except TableFull:  # it was never admitted: what was has its row
                rows = ()
            if rows is None or not self.table.enter():
                return False
            when = self._moment()
            moves = (row.move(self.table.memory, when, 0, actual, NOTHING, 0, False) for row in rows)
            settled = patch(self.table.sequence_at(worker), SEQUENCE.pack(sequence))
            self.table.commit(b"".join([*filter(None, moves), settled]))
        return True

    def restart(self, worker: int, boot: int = 0) -> bool:
        """A new journal begins."""
        if not self.table.enter():
            return False
        self.table.commit(patch(self.table.sequence_at(worker), SEQUENCE.pack(0) + SEQUENCE.pack(boot)))
        return True

    def restore(self, caller: Caller, model: str, *, today: int, this_month: int, ever: int) -> bool:
        """Adds what the books say was spent to a table that is new (see `table.create`)."""
        rows = self._find(caller, model)
        if rows is None or not self.table.enter():
            return False
        when = self._moment()
        self.table.commit(b"".join(row.restore(self.table.memory, when, today, this_month, ever) for row in rows))
        return True

    def flush(self) -> bool:
        """Makes the changes that found the lock taken; every other change does so first. False: some are left."""
        while self._late:
            if self._make(*self._late[0], False) is not None:
                return False
            del self._late[0]
        return True

    def _moment(self) -> Moment:
        return self.clock.read(), self.clock.day, self.clock.month

    # Changes

    def try_to(self, rows: Rows, requests: int, spent: Amounts, held: Amounts, turns: int) -> Refused | None:
        """Makes a change if every limit allows it."""
        if self._late and not self.flush():
            return BUSY
        return self._make(rows, requests, spent, held, turns, 0, True)

    def do(self, rows: Rows, spent: Amounts, held: Amounts, turns: int, sequence: int) -> None:
        """Makes a change, whatever the limits say: it has happened. If the lock is taken, soon."""
        if (self._late and not self.flush()) or self._make(rows, 0, spent, held, turns, sequence, False) is not None:
            self._late.append((rows, 0, spent, held, turns, sequence))

    def _make(
        self, rows: Rows, requests: int, spent: Amounts, held: Amounts, turns: int, sequence: int, checked: bool
    ) -> Refused | None:
        table, clock = self.table, self.clock
        if not table.enter():
            return BUSY
        try:
            when = clock.read(), clock.day, clock.month
            log = b""
            for row in rows:
                change = row.move(table.memory, when, requests, spent, held, turns, checked)
                if change is None:
                    refused = self._explain(rows, when, requests, spent, held, turns)
                    table.leave()
                    return refused
                log += change
            if sequence:
                log += SETTLED.pack(table.sequence_at(self.worker), 8, sequence)
        except BaseException:
            table.leave()
            raise
        table.commit_rows(log, rows, self.worker, sequence)
        return None

    def _explain(self, rows: Rows, when: Moment, requests: int, spent: Amounts, held: Amounts, turns: int) -> Refused:
        """Of all that stands in the way, what stands there longest."""
        more = Cost(*map(sum, zip(spent, held, strict=True)))
        found = [why for row in rows for why in row.refusals(self.table.memory, when, requests, more, turns)]
        return max(found, key=lambda why: (why.wait is None, why.wait or 0), default=FULL)

    # Rows

    def _find(self, caller: Caller, model: str) -> Rows | None:
        """The rows of every limit that applies. None: the lock is taken. TableFull: there is no place for one."""
        limits = self._applying(caller, model)
        if limits and not self.table.enter():
            return None
        try:
            rows = tuple(self._row(limit, digest_of(name)) for limit, name in self._subjects(limits, caller, model))
        finally:
            if limits:
                self.table.leave()
        if len(self._rows) >= MOST_REMEMBERED:
            self._rows.clear()
        self._rows[caller, model] = rows
        return rows

    def _subjects(self, limits: list[Limit], caller: Caller, model: str) -> Iterator[tuple[Limit, str]]:
        """Whose row each one is. A key's own limits are its alone; two with one name have a row each."""
        seen: dict[str, int] = {}
        for limit in limits:
            owner = f"own\0{caller.key}" if any(limit is own for own in caller.limits) else "all"
            name = f"{owner}\0{limit.subject(caller, model)}"
            seen[name] = count = seen.get(name, 0) + 1
            yield limit, f"{self.realm}\0{name}\0{count}"

    def _row(self, limit: Limit, digest: int) -> LimitRow:
        at = self.table.find(digest, self.worker, self.clock.read() - IDLE)
        return self.kind(limit, digest, at, self.table.column(at, self.worker))

    def _applying(self, caller: Caller, model: str) -> list[Limit]:
        return [limit for limit in (*caller.limits, *self.limits) if limit.applies(caller, model)]


class Hold:
    """What one turn holds. Empty where no limit applies."""

    __slots__ = ("_held", "_limiter", "_spent", "is_open", "rows")

    def __init__(self, limiter: Limiter, rows: Rows, held: Cost) -> None:
        self._limiter = limiter
        self.rows = rows
        self._held = held
        self._spent: Amounts = NOTHING  # of minutes: already counted as spent
        self.is_open = True

    def extend(self, spent: Cost, ahead: Cost) -> Refused | None:
        """`spent`: all that the turn has used so far. `ahead`: what it may use before it is extended again.

        What is spent begins to refill at once; money stays held until the turn settles. Refused: nothing has changed;
        end the stream with `length`, or let it run and settle what it has used. With nothing more ahead than is held
        anyway (the prompt, once the answer begins) it is never refused.
        """
        if not self.rows or not self.is_open:
            return None
        fresh, more, wanted = self._change(spent, ahead)
        if fresh[0] + more[0] > 0 or fresh[1] + more[1] > 0 or more[2] > 0:
            refused = self._limiter.try_to(self.rows, 0, fresh, more, 0)
            if refused is not None:
                return refused
        else:
            self._limiter.do(self.rows, fresh, more, 0, 0)
        self._held = wanted
        self._spent = self._spent[0] + fresh[0], self._spent[1] + fresh[1], 0
        return None

    def _change(self, spent: Cost, ahead: Cost) -> tuple[Amounts, Amounts, Cost]:
        """What is spent besides, what is held besides, what is held then."""
        before, held = self._spent, self._held
        fresh = max(0, spent.input - before[0]), max(0, spent.output - before[1]), 0
        wanted = Cost(ahead.input, ahead.output, spent.money + ahead.money)
        more = wanted.input - held.input, wanted.output - held.output, wanted.money - held.money
        return fresh, more, wanted

    async def extend_later(self, spent: Cost, ahead: Cost) -> Refused | None:
        """As `extend`; waits where a Refused of it `may_wait`."""
        for _ in range(TRIES):
            refused = self.extend(spent, ahead)
            if refused is None or not refused.may_wait:
                return refused
            fresh, held, _ = self._change(spent, ahead)
            more = Cost(*(max(0, used + kept) for used, kept in zip(fresh, held, strict=True)))
            refused = await self._limiter.wait_for_room(refused, self.rows, 0, more, 0)
            if refused is not None:
                return refused
        return BUSY

    def settle(self, actual: Cost, sequence: int = 0) -> None:
        """`actual`: what the whole turn has used, as its entry says; `sequence`: the entry's in this worker's journal.
        Nothing is held afterwards. A turn settles once; a second time does nothing."""
        if not self.is_open:
            return
        self.is_open = False
        if not self.rows:
            return
        input, output, money = self._held
        if self._spent is not NOTHING:
            before = self._spent
            actual = Cost(max(0, actual.input - before[0]), max(0, actual.output - before[1]), actual.money)
        self._limiter.do(self.rows, actual, (-input, -output, -money), -1, sequence)


def digest_of(subject: str) -> int:
    """Two subjects with one digest would share a row: of a million subjects, two in 10 ** 8 gateways."""
    return int.from_bytes(blake2b(subject.encode(), digest_size=8).digest(), "little") >> 1 | 1
