"""A row whose limit is shared with other machines. It spends what was leased, and knows nothing of minutes and days.

Spent amounts are counted since the row was made and never go down. A cap is how far each may go: what was spent when
the lease was given, and the balance that was given. So a lease that is on its way counts for nothing, and nothing that
is spent meanwhile is lost.

    state   digest, until when the lease holds; spent: requests, input, output, tokens; number and worker of the
            exchange that runs; spent money, 0, 0; held: input, output, turns, money
    lease   8 caps; 5 amounts that the counters have acknowledged
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import Final, NamedTuple

from antiphon.limits.limit import MEASURES, Amounts, Cost, Refused
from antiphon.limits.row import NO_BUDGET, LimitRow, Moment, Moved, Standing, needs
from antiphon.limits.table import CHANGE, HELD, STATE, patch

LEASE: Final = struct.Struct("=13q")
SPENDABLE: Final = (0, 1, 2, 3, 4, 4, 4, 4)  # which of the five spent amounts a measure counts; turns are only held
LOW: Final = 4  # reservations left below which more is leased ahead


class LeaseReading(NamedTuple):
    """A leased row, as it is."""

    until: int
    exchange: int  # number of the one that runs; 0: none
    by: int  # its worker
    spent: tuple[int, ...]  # requests, input, output, tokens, money
    held: tuple[int, ...]  # of each measure
    caps: tuple[int, ...]
    acknowledged: tuple[int, ...]

    def balances(self) -> tuple[int, ...]:
        """What is left of the lease, with what is held."""
        return tuple(cap - spent for cap, spent in zip(self.caps, spend_by_measure(self.spent), strict=True))


def spend_by_measure(spent: tuple[int, ...]) -> tuple[int, ...]:
    requests, input, output, tokens, money = spent
    return requests, input, output, tokens, 0, money, money, money


class LeasedRow(LimitRow):
    __slots__ = ("is_low",)

    is_low: bool  # after the last `move`: little is left

    def move(
        self, memory: mmap, when: Moment, requests: int, spent: Amounts, held: Amounts, turns: int, checked: bool
    ) -> bytes | None:
        (
            digest, until, asked, inputs, outputs, tokens, number, by, ever, _, _, kept, due, running, owed
        ) = STATE.unpack_from(memory, self.at)  # fmt: skip
        if digest != self.digest:
            raise Moved
        input, output, money = spent if self.counts_money else (*spent[:2], 0)
        more_input, more_output, more_money = held if self.counts_money else (*held[:2], 0)
        asked += requests
        inputs += input
        outputs += output
        tokens += input + output
        ever += money
        kept += more_input
        due += more_output
        running += turns
        owed += more_money
        if checked:
            caps = LEASE.unpack_from(memory, self.at + STATE.size)
            limit, input_limit, output_limit, tokens_limit, concurrent, day, month, total = caps[:8]
            money_limit = min(day, month, total)
            if when[0] >= until or asked > limit or running > concurrent or ever + owed > money_limit:
                return None
            if inputs + kept > input_limit or outputs + due > output_limit or tokens + kept + due > tokens_limit:
                return None
            self.is_low = (
                asked + LOW > limit
                or tokens + kept + due + LOW * (more_input + more_output) > tokens_limit
                or inputs + kept + LOW * more_input > input_limit
                or outputs + due + LOW * more_output > output_limit
                or running + LOW > concurrent
                or ever + owed + LOW * more_money > money_limit
            )
        mine, my_output, my_turns, my_money = HELD.unpack_from(memory, self.column)
        words = (
            self.at, 120, digest, until, asked, inputs, outputs, tokens, number, by, ever, 0, 0, kept, due, running,
            owed, self.column, 32, mine + more_input, my_output + more_output, my_turns + turns, my_money + more_money,
        )  # fmt: skip
        try:
            return CHANGE.pack(*words)
        except struct.error:
            return None if checked else CHANGE.pack(*(min(word, NO_BUDGET) for word in words))

    # Off the usual path, with the lock.

    def look(self, memory: mmap) -> LeaseReading:
        row = STATE.unpack_from(memory, self.at)
        digest, until, asked, inputs, outputs, tokens, number, by, ever, _, _, kept, due, running, owed = row
        if digest != self.digest:
            raise Moved
        lease = LEASE.unpack_from(memory, self.at + STATE.size)
        held = (0, kept, due, kept + due, running, owed, owed, owed)
        return LeaseReading(until, number, by, (asked, inputs, outputs, tokens, ever), held, lease[:8], lease[8:])

    def claim(self, number: int, worker: int) -> bytes:
        """An exchange begins or, with 0, has ended."""
        return patch(self.at + 48, struct.pack("=2q", number, worker))

    def set_caps(self, reading: LeaseReading, balances: tuple[int, ...]) -> bytes:
        """What may be spent from now on."""
        pairs = zip(spend_by_measure(reading.spent), balances, self.limits(), strict=True)
        caps = [NO_BUDGET if limit < 0 else spent + balance for spent, balance, limit in pairs]
        return patch(self.at + STATE.size, struct.pack("=8q", *caps))

    def set_lease(self, reading: LeaseReading, balances: tuple[int, ...], until: int) -> bytes:
        """`reading`: as of when the exchange was sent."""
        acknowledged = patch(self.at + STATE.size + 64, struct.pack("=5q", *reading.spent))
        return self.set_caps(reading, balances) + acknowledged + patch(self.at + 8, struct.pack("=q", until))

    def limits(self) -> tuple[int, ...]:
        """Of each measure; -1: none."""
        written = (getattr(self.limit, name) for name in MEASURES)
        return tuple(-1 if most is None else most for most in written)

    def lacks(self, memory: mmap, when: Moment, requests: int, cost: Cost, turns: int) -> bool:
        """The lease is too small for that, or has ended."""
        reading = self.look(memory)
        asked = needs(requests, cost, turns).values()
        pairs = zip(reading.balances(), reading.held, asked, self.limits(), strict=True)
        return when[0] >= reading.until or any(limit >= 0 and held + more > left for left, held, more, limit in pairs)

    def refusals(self, memory: mmap, when: Moment, requests: int, cost: Cost, turns: int) -> Iterator[Refused]:
        """What can never be admitted is refused here; for the rest the counters are asked."""
        for (name, asked), most in zip(needs(requests, cost, turns).items(), self.limits(), strict=True):
            if 0 <= most < asked:
                yield Refused(name, self.limit, most, 0, asked, None)
        if self.lacks(memory, when, requests, cost, turns):
            yield Refused("lease", self.limit, wait=0)

    def standings(self, memory: mmap, when: Moment) -> Iterator[tuple[str, Standing]]:
        """Only the counters know: see leases.py."""
        return iter(())
