"""Accounts of one gateway: where their files lie, the process behind the workers, and a worker's part."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, Final
from zoneinfo import ZoneInfo

from antiphon.accounts.completions.client import CompletionClient
from antiphon.accounts.journal.segment import Segment, segments
from antiphon.accounts.journal.writer import JournalWriter
from antiphon.accounts.places import default_url, state_folder, state_name
from antiphon.accounts.stores.contract import Store
from antiphon.billing.issued_keys import POLL, IssuedKeys, allowed
from antiphon.billing.prices import Prices
from antiphon.billing.recovery import take_over
from antiphon.billing.turns import ANYBODY, CountCost, TurnBilling
from antiphon.flow.ports import Account
from antiphon.limits import table
from antiphon.limits.clock import Clock
from antiphon.limits.leases import LeasedLimiter
from antiphon.limits.limit import Caller
from antiphon.limits.limiter import Limiter
from antiphon.limits.resp import parse_url
from antiphon.log import Log, append, error_line
from antiphon.safety.policies import Policies
from antiphon.server.keys import ClientKey, KeyRing, digest
from antiphon.settings import Settings
from antiphon.settings.limits import caller_of, limits_of
from antiphon.settings.model import PolicySettings
from antiphon.settings.models import model_table
from antiphon.upstreams.catalog import CATALOG

MOST_GATEWAYS: Final = 64  # of one machine, with the same settings
SPARE: Final = 16  # workers: with a few more or less, the limits keep their file
RESTORED: Final = 1
FLUSH: Final = 0.5  # seconds between tries to write what found no room, or no lock


@dataclass(frozen=True, slots=True)
class AccountsPlan:
    """What the processes of a gateway are told of its accounts."""

    store: str = field(repr=False)  # its URL
    journal: str  # the folder
    keys: str  # the file with a copy of the keys
    limits: str  # the file of the limits
    numbers: int  # of workers that it has room for; the last one is the accounts process's
    socket: str = ""  # where the accounts process answers workers, in the room


class NoPlace(Exception):
    """There is no folder for accounts; the message says why."""


def plan_accounts(settings: Settings, environ: Mapping[str, str]) -> AccountsPlan | None:
    """Makes the folders. None: accounts are off. Raises NoPlace."""
    accounts = settings.accounts
    if accounts.enabled is False:
        return None
    try:
        store = default_url(environ) if accounts.store is None else accounts.store.reveal()
        folder = accounts.state or state_folder(environ)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise NoPlace(f"the folder {folder} cannot be written")
        limits = _own_file(os.path.join(folder, f"limits-{_name(settings)}"))
        journal = _own_journal(folder, f"journal-{state_name(store)}-", limits)
        numbers = (settings.server.workers // SPARE + 1) * SPARE
        table.create(limits, numbers, leased=accounts.counters is not None)
    except ValueError as error:
        raise NoPlace(str(error)) from None
    except OSError as error:
        raise NoPlace(f"{error.filename or folder}: {error.strerror}") from None
    return AccountsPlan(store, journal, os.path.join(folder, f"keys-{state_name(store)}"), limits, numbers)


def _name(settings: Settings) -> str:
    """A gateway that is started again finds its own limits."""
    named = f"{os.path.abspath(settings.path or '')}\0{settings.server.listen}"
    return blake2b(named.encode(), digest_size=6).hexdigest()


def _own_file(path: str) -> str:
    """A file that no other gateway uses: its lock is held as long as a process of this one lives."""
    for number in range(MOST_GATEWAYS):
        own = path if number == 0 else f"{path}-{number}"
        lock = os.open(f"{own}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return own
    raise NoPlace(f"{MOST_GATEWAYS} gateways with these settings run already")


def _own_journal(folder: str, prefix: str, limits: str) -> str:
    """The folder of this gateway's journal. Entries of a gateway that ended and did not come back are taken over."""
    own = os.path.join(folder, prefix + os.path.basename(limits).removeprefix("limits-"))
    os.makedirs(own, mode=0o700, exist_ok=True)
    for name in os.listdir(folder):
        left = os.path.join(folder, name)
        if not name.startswith(prefix) or left == own:
            continue
        lock = os.open(os.path.join(folder, f"limits-{name.removeprefix(prefix)}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for segment in segments(left):
                os.rename(os.path.join(left, segment.name), os.path.join(own, segment.name))
        except BlockingIOError:  # it runs
            pass
        finally:
            os.close(lock)
    return own


# The process behind the workers


def run_accounts_process(settings: Settings, plan: AccountsPlan, *, told: int, life: int) -> None:
    """Imported in its own process: the others do without what it needs."""
    from antiphon.accounts.process import AccountsOptions, run_accounts, serve  # noqa: PLC0415
    from antiphon.accounts.stores.contract import Retention  # noqa: PLC0415

    def log(line: str) -> None:
        append(settings.server.error_log, error_line(line))

    limits = table.LimitTable(plan.limits)

    def is_needed(segment: Segment) -> bool:
        """The next worker of this number has not read it yet."""
        return segment.worker < settings.server.workers and limits.boot(segment.worker) == segment.boot

    said: dict[str, Any] = {name: most for name, most in asdict(settings.accounts.keep).items() if most is not None}
    options = AccountsOptions(plan.store, plan.journal, plan.keys, Retention(**said), plan.socket, is_needed)
    # Counters of several machines know themselves what was spent.
    first = partial(_restore, settings, plan) if settings.accounts.counters is None else None
    serve(run_accounts(options, log, first), told=told, life=life)


async def _restore(settings: Settings, plan: AccountsPlan, store: Store) -> None:
    """Once in the life of a file of limits: what the ledger says was spent, before this gateway's entries are there."""
    from antiphon.billing.recovery import all_callers, restore_spent  # noqa: PLC0415

    number = plan.numbers - 1
    zone = ZoneInfo(settings.accounts.time_zone)
    limiter = Limiter(table.LimitTable(plan.limits), number, limits_of(settings), Clock(zone))
    if not limiter.table.boot(number):
        callers = await all_callers(store, static_keys(settings).callers.values())
        if limiter.restart(number, RESTORED):  # first: it is never done twice
            await restore_spent(limiter, store, callers, zone)
    limiter.table.close()


# A worker's part


def completion_client(plan: AccountsPlan | None, log: Log) -> CompletionClient | None:
    return None if plan is None or not plan.socket else CompletionClient(plan.socket, log.error)


@dataclass(frozen=True, slots=True)
class WorkerAccounts:
    """What a worker has of its accounts, and closes at its end."""

    issued: IssuedKeys
    billing: TurnBilling
    journal: JournalWriter
    tasks: tuple[asyncio.Task[None], ...]

    async def close(self) -> None:
        """After the last turn."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        limiter = self.billing.limiter
        if limiter.flush():
            limiter.restart(limiter.worker)  # all of its journal is settled: nobody has to read it again
        if isinstance(limiter, LeasedLimiter):
            await limiter.close()
        self.journal.close()


def open_accounts(
    settings: Settings,
    plan: AccountsPlan,
    number: int,
    policies: Policies,
    keys: StaticKeys,
    log: Log,
    count_cost: CountCost | None,
) -> WorkerAccounts:
    """`number`: the worker's. `count_cost`: told what each turn cost."""
    issued = open_issued_keys(settings, plan, policies)
    journal = JournalWriter(plan.journal, number, log.error)
    limiter = _limiter(settings, plan, number, log)

    def find(key: str | None) -> Caller:
        static = keys.callers.get(key or "")
        return static or (ANYBODY if key is None else issued.caller(key) or Caller(key))

    take_over(limiter, plan.journal, journal.boot, find)
    billing = _billing(settings, limiter, journal, count_cost)
    tasks = [asyncio.create_task(_every(POLL, issued.poll)), asyncio.create_task(_every(FLUSH, limiter.flush))]
    tasks.append(asyncio.create_task(_every(FLUSH, journal.flush)))
    if isinstance(limiter, LeasedLimiter):
        tasks.append(asyncio.create_task(limiter.run()))
    return WorkerAccounts(issued, billing, journal, tuple(tasks))


def renew_accounts(
    settings: Settings,
    plan: AccountsPlan,
    policies: Policies,
    opened: WorkerAccounts,
    count_cost: CountCost | None,
) -> tuple[IssuedKeys, TurnBilling, tuple[asyncio.Task[None], ...]]:
    """For other settings, with the limits and the journal that are open; and what goes on until these are replaced."""
    issued = open_issued_keys(settings, plan, policies)
    opened.billing.limiter.change_limits(limits_of(settings))
    billing = _billing(settings, opened.billing.limiter, opened.journal, count_cost)
    return issued, billing, (asyncio.create_task(_every(POLL, issued.poll)),)


def _billing(settings: Settings, limiter: Limiter, journal: JournalWriter, count_cost: CountCost | None) -> TurnBilling:
    vendors = {row.name: CATALOG[row.protocol].table_vendor for row in settings.upstreams}
    accounts = settings.accounts
    return TurnBilling(
        limiter,
        journal,
        Prices(model_table(settings), vendors),
        reserve_output=accounts.reserve_output,
        runs_on=accounts.on_limit == "run",
        count_cost=count_cost,
    )


def _limiter(settings: Settings, plan: AccountsPlan, number: int, log: Log) -> Limiter:
    accounts, limits = settings.accounts, limits_of(settings)
    clock = Clock(ZoneInfo(accounts.time_zone))
    opened = table.LimitTable(plan.limits)
    if accounts.counters is None:
        return Limiter(opened, number, limits, clock)
    is_open = accounts.on_counters_failure == "open"
    place = parse_url(accounts.counters.reveal())
    return LeasedLimiter(opened, number, limits, place, clock=clock, is_open=is_open, report=log.error)


async def _every(seconds: float, work: Callable[[], object]) -> None:
    while True:
        await asyncio.sleep(seconds)
        work()


@dataclass(frozen=True, slots=True)
class StaticKeys:
    """Those of the settings."""

    keys: tuple[ClientKey, ...]
    callers: Mapping[str, Caller]  # by name


def static_keys(settings: Settings) -> StaticKeys:
    callers = {key.name: caller_of(key) for key in settings.keys}
    server = settings.server
    keys = [
        ClientKey(
            key.name,
            digest(key.secret.reveal().encode()),
            key.dialect,
            key.strict,
            key.receipts,
            server.max_key_requests if key.max_requests is None else key.max_requests,
            Account(key.name, key.team, allowed(key.models), callers[key.name]),
        )
        for key in settings.keys
    ]
    return StaticKeys(tuple(keys), callers)


def key_ring(settings: Settings, keys: StaticKeys, issued: IssuedKeys | None) -> KeyRing:
    return KeyRing(keys.keys, required=settings.server.auth, issued=None if issued is None else issued.find)


def open_issued_keys(settings: Settings, plan: AccountsPlan, policies: Policies) -> IssuedKeys:
    def set_policy(key: str, words: Mapping[str, Any]) -> None:
        """As `[[key]] safety` would say it."""
        known = {name: words[name] for name in ("mode", "preset") if name in words}
        policies.set_key(key, PolicySettings(**known) if known else None)

    issued = IssuedKeys(plan.keys, settings.accounts.keys_max_age, settings.server.max_key_requests, set_policy)
    issued.poll()
    return issued
