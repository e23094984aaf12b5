"""One limit for one subject: where it lies in the table, and its arithmetic. All of it with the table's lock.

Every change is one `move`: an amount is spent, an amount is held or no longer held, or both. With `checked` it is made
only if everything stays within the limit: spent + held <= limit, for each measure.

Minutes are buckets that refill continuously: what was spent goes down by the limit in a minute. They are counted in
tokens x 60,000,000, so that a microsecond's share is a whole number, and no rounding is lost however often a row is
touched. What is held does not go down. Budgets are what was spent in a window of the calendar; what is held belongs to
the window in which it is settled. A clock that goes back changes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import Final, NamedTuple

from antiphon.limits.limit import BUDGETS, MEASURES, MINUTE, NOTHING, Amounts, Cost, Limit, Refused
from antiphon.limits.table import CHANGE, HEAD, HELD, STATE, patch

UNLIMITED: Final = 1 << 37  # a minute; in our units it still fits into a word
NO_BUDGET: Final = 1 << 62
LARGEST: Final = (1 << 63) - 1
WAIT_FOR_TURN: Final = 1_000_000  # microseconds after which one that runs may have ended


class Moved(Exception):
    """The row was given to another subject while it was idle: look it up again."""


Moment = tuple[int, int, int]  # microseconds, day, month


class Standing(NamedTuple):
    """How one measure of a limit stands."""

    limit: int
    remaining: int
    reset: int  # microseconds until all of it is there again


class LimitRow:
    __slots__ = (
        "at", "budgets", "column", "concurrent", "counts_money", "digest", "has_minutes", "limit", "minutes", "rates",
    )  # fmt: skip

    def __init__(self, limit: Limit, digest: int, at: int, column: int) -> None:
        self.limit = limit
        self.digest = digest
        self.at = at
        self.column = column  # where this worker's part of what is held stands
        written = [getattr(limit, name) for name in MEASURES]
        self.rates = tuple(UNLIMITED if rate is None else rate for rate in written[:4])
        self.minutes = tuple(rate * MINUTE for rate in self.rates)
        self.has_minutes = any(rate is not None for rate in written[:4])
        self.concurrent, *budgets = (NO_BUDGET if most is None else most for most in written[4:])
        self.budgets = tuple(budgets)
        self.counts_money = limit.has_budget

    @property
    def most(self) -> tuple[int, ...]:
        """Of each measure; of minutes in our units."""
        return *self.minutes, self.concurrent, *self.budgets

    def move(
        self, memory: mmap, when: Moment, requests: int, spent: Amounts, held: Amounts, turns: int, checked: bool
    ) -> bytes | None:
        """The change to the row and to this worker's column, for the log. `held` and `turns` may be negative. None: the
        limit does not allow it. (In one piece: it is most of what a turn costs here.)"""
        (
            digest, then, asked, inputs, outputs, tokens, day, month, today, this_month, ever, kept, due, running, owed
        ) = STATE.unpack_from(memory, self.at)  # fmt: skip
        if digest != self.digest:
            raise Moved
        now, this_day, the_month = when
        input, output, money = spent
        more_input, more_output, more_money = held if self.counts_money else (*held[:2], 0)
        kept += more_input
        due += more_output
        running += turns
        owed += more_money
        if checked and running > self.concurrent:
            return None
        if self.has_minutes:
            if (elapsed := now - then) > 0:
                rate, input_rate, output_rate, tokens_rate = self.rates
                asked = left if (left := asked - rate * elapsed) > 0 else 0
                inputs = left if (left := inputs - input_rate * elapsed) > 0 else 0
                outputs = left if (left := outputs - output_rate * elapsed) > 0 else 0
                tokens = left if (left := tokens - tokens_rate * elapsed) > 0 else 0
            asked += requests * MINUTE
            inputs += input * MINUTE
            outputs += output * MINUTE
            tokens += (input + output) * MINUTE
            if checked:
                most, input_most, output_most, tokens_most = self.minutes
                if asked > most or inputs + kept * MINUTE > input_most or outputs + due * MINUTE > output_most:
                    return None
                if tokens + (kept + due) * MINUTE > tokens_most:
                    return None
        if self.counts_money:
            if this_day > day:
                day, today = this_day, 0
            if the_month > month:
                month, this_month = the_month, 0
            today += money
            this_month += money
            ever += money
            if checked:
                day_most, month_most, most = self.budgets
                if today + owed > day_most or this_month + owed > month_most or ever + owed > most:
                    return None
        mine, my_output, my_turns, my_money = HELD.unpack_from(memory, self.column)
        words = (
            self.at, 120, digest, now if now > then else then, asked, inputs, outputs, tokens, day, month, today,
            this_month, ever, kept, due, running, owed,
            self.column, 32, mine + more_input, my_output + more_output, my_turns + turns, my_money + more_money,
        )  # fmt: skip
        try:
            return CHANGE.pack(*words)
        except struct.error:  # more than a word can count: nobody may hold that, but an upstream may report it
            return None if checked else CHANGE.pack(*(min(word, LARGEST) for word in words))

    # Off the usual path.

    def read(self, memory: mmap, when: Moment) -> tuple[int, ...]:
        """The row's words at that moment."""
        change = self.move(memory, when, 0, NOTHING, NOTHING, 0, False)
        assert change is not None
        return STATE.unpack_from(change, HEAD.size)

    def restore(self, memory: mmap, when: Moment, today: int, this_month: int, ever: int) -> bytes:
        """Adds what was spent before."""
        words = list(self.read(memory, when))
        if self.counts_money:
            words[8:11] = (words[8] + today, words[9] + this_month, words[10] + ever)
        return patch(self.at, STATE.pack(*words))

    def use(self, memory: mmap, when: Moment) -> dict[str, tuple[int, int]]:
        """Measure -> (spent, held), at that moment. Of minutes in our units."""
        _, _, asked, inputs, outputs, tokens, _, _, *money, kept, due, running, owed = self.read(memory, when)
        spent = (asked, inputs, outputs, tokens, 0, *money)
        held = (0, kept * MINUTE, due * MINUTE, (kept + due) * MINUTE, running, owed, owed, owed)
        return {name: (spent[at], held[at]) for at, name in enumerate(MEASURES)}

    def refusals(self, memory: mmap, when: Moment, requests: int, cost: Cost, turns: int) -> Iterator[Refused]:
        """Why a change was not allowed: each measure that it would pass. `cost` is what would be held besides."""
        asked = needs(requests, cost, turns)
        for (name, (spent, held)), most in zip(self.use(memory, when).items(), self.most, strict=True):
            unit = MINUTE if name in MEASURES[:4] else 1
            over = spent + held + asked[name] * unit - most
            if over <= 0 or getattr(self.limit, name) is None:
                continue
            wait: int | None = None
            if name == "concurrent":
                wait = WAIT_FOR_TURN
            elif name not in BUDGETS and asked[name] * unit <= most:
                wait = max(1, -(-over * MINUTE // most))
            used = -(-(spent + held) // unit)
            yield Refused(name, self.limit, most // unit, used, asked[name], wait)

    def standings(self, memory: mmap, when: Moment) -> Iterator[tuple[str, Standing]]:
        """Of each measure of a minute that has a limit."""
        for (name, (spent, held)), most in zip(self.use(memory, when).items(), self.most, strict=True):
            if name in MEASURES[:4] and getattr(self.limit, name) is not None:
                left = max(0, most - spent - held) // MINUTE
                reset = -(-(spent + held) * MINUTE // most) if most else 0
                yield name, Standing(most // MINUTE, left, reset)

    def usual_standings(self, memory: mmap, now: int) -> tuple[Standing | None, Standing | None]:
        """Of requests and of tokens alone, as `standings` has them. Told with every answer: a fifth of its cost."""
        words = STATE.unpack_from(memory, self.at)
        if words[0] != self.digest:
            raise Moved
        elapsed = max(0, now - words[1])
        limit, requests, tokens = self.limit, None, None
        if (most := limit.requests_per_minute) is not None:
            used = max(0, words[2] - most * elapsed)
            requests = Standing(most, max(0, most * MINUTE - used) // MINUTE, -(-used // most))
        if (most := limit.tokens_per_minute) is not None:
            used = max(0, words[5] - most * elapsed) + (words[11] + words[12]) * MINUTE
            tokens = Standing(most, max(0, most * MINUTE - used) // MINUTE, -(-used // most))
        return requests, tokens


def needs(requests: int, cost: Cost, turns: int) -> dict[str, int]:
    input, output, money = cost
    return dict(zip(MEASURES, (requests, input, output, input + output, turns, money, money, money), strict=True))
