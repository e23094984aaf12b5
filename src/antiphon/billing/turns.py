"""Admission of turns, the next step of a stream, settlement: what the flow calls, in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from antiphon.accounts.journal.writer import JournalWriter
from antiphon.billing.entries import entry_of
from antiphon.billing.estimates import input_tokens, most_output
from antiphon.billing.prices import NO_PRICE, NOTHING_USED, Prices, Used, Worst, read_used
from antiphon.document import Document
from antiphon.flow.turn import UNREAD, AnyTurn
from antiphon.limits.headers import rate_headers, usual_lines
from antiphon.limits.limit import Caller, Cost, Refused
from antiphon.limits.limiter import Hold, Limiter
from antiphon.tokens.thumb import estimate

ANYBODY: Final = Caller()
SENT: Final = frozenset({"running", "cancelled"})  # an attempt whose prompt an upstream has, and no word of its answer
QUOTA: Final = "insufficient_quota"
QUOTA_STATUS: Final = {"skytells": 402, "crazyrouter": 403}  # where a used-up budget has a status of its own
TOKENED: Final = frozenset({"chat", "completions", "embeddings"})  # endpoints whose turns take tokens
EMPTY: Final = frozenset({"embeddings"})  # … and whose answers have none


class BilledHold:
    """What one turn holds, and how far its stream has come."""

    __slots__ = ("ahead", "asks", "hold", "input", "most", "output", "seen", "step", "worst")

    def __init__(self, hold: Hold, input: int, step: int, most: int | None, worst: Worst) -> None:
        self.hold = hold
        self.input = input  # tokens
        self.step = step  # tokens of output that are held at a time
        self.most = most  # tokens of output that there can be; None: nobody says
        self.worst = worst
        self.ahead = step  # tokens of output up to which something is held
        self.output = 0  # tokens so far, by the rule of thumb
        self.seen = 0  # of the texts
        self.asks = False  # for a step that has to be waited for


CountCost = Callable[[str, int], None]  # upstream, micro-units


class TurnBilling:
    """Of one worker."""

    def __init__(
        self,
        limiter: Limiter,
        journal: JournalWriter,
        prices: Prices,
        *,
        reserve_output: int,
        runs_on: bool,
        count_cost: CountCost | None = None,
    ) -> None:
        """`runs_on`: a stream that reaches a limit is not ended. `count_cost`: told what a turn cost."""
        self.limiter = limiter
        self._journal = journal
        self._prices = prices
        self._reserve = reserve_output
        self._runs_on = runs_on
        self._count_cost = count_cost
        self._tasks: set[asyncio.Task[None]] = set()

    # Before

    def admit(self, turn: AnyTurn) -> bool:
        """Holds what the turn may take. False: that has to be waited for (`admit_later`). Raises AntiphonError."""
        caller, model = _who(turn)
        if not self.limiter.has_limits(caller, model):
            return True
        held, cost = self._reserve_for(turn, caller, model)
        result = self.limiter.admit(caller, model, cost)
        if isinstance(result, Refused) and result.may_wait:
            return False
        self._take(turn, held, result)
        self._tell(turn, caller, model)
        return True

    async def admit_later(self, turn: AnyTurn) -> None:
        caller, model = _who(turn)
        held, cost = self._reserve_for(turn, caller, model)
        self._take(turn, held, await self.limiter.admit_later(caller, model, cost))
        self._tell(turn, caller, model)

    def _take(self, turn: AnyTurn, held: BilledHold, result: Hold | Refused) -> None:
        if isinstance(result, Refused):
            self._tell(turn, *_who(turn))
            error = result.error(turn.request.model)
            if error.code == QUOTA:
                error.status = QUOTA_STATUS.get(turn.dialect.name, error.status)
            raise error
        held.hold = result
        turn.held_back = held

    def _reserve_for(self, turn: AnyTurn, caller: Caller, model: str) -> tuple[BilledHold, Cost]:
        """A whole answer cannot be extended: all that it may have is held, where the client says how much that is."""
        if turn.route is None or turn.endpoint not in TOKENED:
            return BilledHold(NO_HOLD, 0, 0, 0, FREE), Cost()
        request = turn.request
        input = input_tokens(request)
        most, choices = most_output(request)
        if turn.endpoint in EMPTY:
            most, choices = 0, 0
        said = None if most is None else most * choices
        step = self._reserve * choices
        if said is not None:
            step = min(said, step) if request.stream else said
        worst = self._prices.worst(turn.route, request.model)
        step = min(step, self.limiter.fit_output(caller, model, input, step)) if step else 0
        return BilledHold(NO_HOLD, input, step, said, worst), Cost(input, step, worst.money(input, step))

    def _tell(self, turn: AnyTurn, caller: Caller, model: str) -> None:
        if turn.dialect.name != "skytells":
            turn.client.add_headers(usual_lines(*self.limiter.usual_standings(caller, model)))
            return
        lines = rate_headers(self.limiter.standings(caller, model), turn.dialect.name)
        turn.client.add_headers(b"".join(b"%b: %b\r\n" % line for line in lines))

    # While it streams

    def look(self, turn: AnyTurn) -> None:
        """Called every now and then while a turn streams: holds more before it passes what is held."""
        held = turn.held_back
        if not isinstance(held, BilledHold) or held.asks or not held.hold.rows:
            return
        texts = turn.texts
        if held.seen > len(texts):  # they were joined
            held.seen, held.output = 0, 0
        held.output += estimate(texts[held.seen :])
        held.seen = len(texts)
        if held.output + held.step // 2 < held.ahead or (held.most is not None and held.ahead >= held.most):
            return
        refused = held.hold.extend(*self._next(held))
        if refused is None:
            held.ahead = held.output + held.step
        elif refused.may_wait:
            held.asks = True
            task = asyncio.get_running_loop().create_task(self._extend_later(turn, held))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._stop(turn, held)

    def _next(self, held: BilledHold) -> tuple[Cost, Cost]:
        """What is spent so far, what is to be held from now on."""
        spent = Cost(held.input, held.output, held.worst.money(held.input, held.output))
        return spent, Cost(0, held.step, held.worst.money(0, held.step))

    async def _extend_later(self, turn: AnyTurn, held: BilledHold) -> None:
        refused = await held.hold.extend_later(*self._next(held))
        held.asks = False
        if refused is None:
            held.ahead = held.output + held.step
        elif held.hold.is_open:
            self._stop(turn, held)

    def _stop(self, turn: AnyTurn, held: BilledHold) -> None:
        """A stream that has used less than is held may go on until then."""
        if not self._runs_on and held.output >= held.ahead and turn.cut_short is not None:
            turn.cut_short()

    # After

    def price(self, turn: AnyTurn) -> Document | None:
        """For the receipt. None: nobody knows what it costs."""
        if not turn.attempts or turn.usage is None:
            return None
        last = turn.attempts[-1]
        priced = self._prices.price(last.target.upstream, last.model, read_used(turn.usage))
        if priced.version is None:
            return None
        return {"amount": priced.amount / 1_000_000, "currency": "USD", "version": priced.version}

    def end(self, turn: AnyTurn, status: int, now: float, wall: float) -> None:
        """Once for each turn: its entry, then what it holds is settled."""
        used, source = self._used(turn)
        priced = NO_PRICE
        if turn.attempts and used is not NOTHING_USED:
            last = turn.attempts[-1]
            priced = self._prices.price(last.target.upstream, last.model, used)
            if self._count_cost is not None and priced.amount:
                self._count_cost(last.target.upstream, priced.amount)
        sequence = self._journal.post(entry_of(turn, status, now, wall, used, source, priced))
        held = turn.held_back
        if isinstance(held, BilledHold):
            held.hold.settle(Cost(used.input, used.output, priced.amount), sequence)

    def _used(self, turn: AnyTurn) -> tuple[Used, str | None]:
        if turn.usage is not None:
            return read_used(turn.usage), turn.usage_source
        if not turn.attempts or turn.attempts[-1].outcome not in SENT or turn.request is UNREAD:
            return NOTHING_USED, None
        if turn.endpoint not in TOKENED:
            return NOTHING_USED, None
        held = turn.held_back  # the client left: the prompt was sent, and nothing of the answer was seen
        input = held.input if isinstance(held, BilledHold) else input_tokens(turn.request)
        return Used(input), "estimated"


class _NoHold(Hold):
    """In the place of a hold that is not there yet."""

    __slots__ = ()

    def __init__(self) -> None:
        self.rows = ()
        self.is_open = False


NO_HOLD: Final = _NoHold()
FREE: Final = Worst(0, 0)


def _who(turn: AnyTurn) -> tuple[Caller, str]:
    account, route = turn.account, turn.route
    caller = ANYBODY if account is None or account.caller is None else account.caller
    return caller, "" if route is None else route.model
