"""What one process of a machine does for the accounts of all its workers: ships, prunes, keeps the copy of the keys.

Workers write the journal (`journal/writer.py`) and read the copy (`key_copy.py`); they never speak to the store.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from antiphon.accounts.completions.server import CompletionServer
from antiphon.accounts.journal.segment import Segment
from antiphon.accounts.journal.shipper import Shipper
from antiphon.accounts.key_cache import KeyCache
from antiphon.accounts.key_copy import KeyCopyWriter
from antiphon.accounts.key_feed import POLL, KeyFeed
from antiphon.accounts.stores.contract import Retention, Store
from antiphon.accounts.stores.urls import store_for
from antiphon.accounts.upkeep import Upkeep, end_if_cancelled
from antiphon.heartbeat import beat

LAST_WORK: Final = 8.0  # seconds for the last entries
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AccountsOptions:
    store: str  # its URL
    journal: str  # the folder
    keys: str  # the file
    keep: Retention = field(default_factory=Retention)
    socket: str = ""  # where workers ask for stored completions; "": they do not
    is_needed: Callable[[Segment], bool] | None = None  # of the journal: see `Shipper`


def serve(work: Coroutine[Any, Any, None], *, told: int, life: int) -> None:
    """Runs `work` as a child of the supervisor. `told`: the pipe for signs of life; `life`: a pipe whose end means that
    the supervisor is gone."""
    asyncio.run(_serve(work, told, life))


async def _serve(work: Coroutine[Any, Any, None], told: int, life: int) -> None:
    """Ends by SIGTERM or as an orphan, and raises what `work` raises."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    ready.set()
    beating, working = loop.create_task(beat(told, ready)), loop.create_task(work)

    def end() -> None:
        loop.remove_reader(life)
        working.cancel()
        loop.call_later(LAST_WORK, os._exit, 1)  # nobody waits for it any longer

    loop.add_signal_handler(signal.SIGTERM, end)
    loop.add_reader(life, end)
    with suppress(asyncio.CancelledError):
        await working
    beating.cancel()


async def run_accounts(
    options: AccountsOptions, log: Log, first: Callable[[Store], Awaitable[object]] | None = None
) -> None:
    """Until it is cancelled. `log` gets sentences for the error log. `first`: what has to be done with the store before
    anything is shipped."""
    store = store_for(options.store)
    shipper = Shipper(options.journal, store.ledger, log, options.is_needed)
    upkeep = Upkeep(store, shipper, options.keep, log, first and partial(first, store))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(upkeep.run())
        tasks.create_task(_copy_keys(store, options.keys, log))
        if options.socket:
            tasks.create_task(CompletionServer(store.completions, log).run(options.socket))


async def _copy_keys(store: Store, path: str, log: Log) -> None:
    cache = KeyCache()
    feed = KeyFeed(store.keys, cache, lambda words: None)  # `Upkeep` logs outages
    copy = KeyCopyWriter(path, cache)
    fault = ""
    while True:
        await feed.poll()
        end_if_cancelled()
        try:
            copy.write()
            fault = ""
        except OSError as error:
            if not fault:
                fault = f"the copy of the keys cannot be written: {error.strerror}"
                log(fault)
        await asyncio.sleep(POLL)
