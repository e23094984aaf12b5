"""After a crash: what the journal says was spent and the limits do not know; and limits whose file is new.

A worker writes an entry and settles it right after. One that is killed in between has spent what no limit counts. Its
successor reads its journal and adds that, before it takes a request.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, tzinfo
from functools import partial
from typing import Final

import msgspec

from antiphon.accounts.entry import LedgerEntry, decode
from antiphon.accounts.journal.reader import read_segment
from antiphon.accounts.journal.segment import segments
from antiphon.accounts.stores.contract import Store
from antiphon.accounts.usage import UsageQuery, UsageRow
from antiphon.billing.issued_keys import caller_of
from antiphon.limits.limit import Caller, Cost
from antiphon.limits.limiter import Limiter, Settlement

FindCaller = Callable[[str | None], Caller]
DAY: Final = 86_400_000_000
PAGE: Final = 500
PATIENCE: Final = 5.0  # seconds for the lock of the limits


def take_over(limiter: Limiter, journal: str, boot: int, find: FindCaller) -> None:
    """A worker begins with a journal of its own, `boot`. `find`: who a key of the ledger is. TimeoutError: the lock of
    the limits is not to be had."""
    before = limiter.table.boot(limiter.worker)
    settlements = list(_settlements(journal, before, limiter, find)) if before else []
    _insist(lambda: limiter.resettle(limiter.worker, settlements))
    _insist(lambda: limiter.restart(limiter.worker, boot))


def _settlements(journal: str, boot: int, limiter: Limiter, find: FindCaller) -> Iterator[Settlement]:
    done = limiter.table.settled(limiter.worker)
    for sequence, entry in _entries(journal, boot, limiter.worker):
        if sequence > done:
            cost = Cost(entry.input_tokens, entry.output_tokens, entry.price)
            yield Settlement(sequence, find(entry.key), entry.route or "", cost)


def _entries(journal: str, boot: int, worker: int) -> Iterator[tuple[int, LedgerEntry]]:
    for segment in segments(journal):
        if (segment.boot, segment.worker) != (boot, worker):
            continue
        try:
            descriptor = os.open(os.path.join(journal, segment.name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # shipped meanwhile: all of it was settled
            continue
        try:
            at = 0
            while (reading := read_segment(descriptor, segment, at, ended=True)).found:
                at = reading.end
                for found in reading.found:
                    if found.payload is not None:
                        yield from _decoded(found.sequence, found.payload)
        finally:
            os.close(descriptor)


def _decoded(sequence: int, payload: bytes) -> Iterator[tuple[int, LedgerEntry]]:
    try:
        yield sequence, decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return


def _insist(work: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not work():
        if time.monotonic() > until:
            raise TimeoutError("the table of limits is locked by a process that does not run")


async def all_callers(store: Store, static: Iterable[Caller]) -> list[Caller]:
    """Everybody who may have spent something: static keys, and issued ones that are live."""
    callers, last = list(static), ""
    while page := await store.keys.list(last, PAGE):
        callers += [caller_of(record.key) for record in page]
        last = page[-1].key.id
    return callers


async def restore_spent(limiter: Limiter, store: Store, keys: Iterable[Caller], zone: tzinfo) -> None:
    """Into limits whose file is new: what the ledger says each key has spent, today, this month and ever."""
    now = datetime.now(zone)
    today = _micros(now.replace(hour=0, minute=0, second=0, microsecond=0))
    month = _micros(now.replace(day=1, hour=0, minute=0, second=0, microsecond=0))
    for caller in keys:
        this_day, this_month, ever = [await _price(store, caller.key, since) for since in (today, month, 0)]
        if ever:
            _insist(partial(limiter.restore, caller, "", today=this_day, this_month=this_month, ever=ever))


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


async def _price(store: Store, key: str, since: int) -> int:
    """Days of the ledger are those of UTC: of the first one, hours are added up."""
    hours = await _sum(store, UsageQuery(since, -(-since // DAY) * DAY, period="hour", key=key)) if since % DAY else 0
    return hours + await _sum(store, UsageQuery(-(-since // DAY) * DAY, 2**60, period="total", key=key))


async def _sum(store: Store, query: UsageQuery) -> int:
    rows: list[UsageRow] = list(await store.ledger.usage(query))
    return sum(row.as_dict()["price"] for row in rows)
