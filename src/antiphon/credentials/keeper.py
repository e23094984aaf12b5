"""The keeper: a process that fetches credentials before they expire and writes them where the workers look.

A source that fails is asked again, later each time; what was fetched before holds until it expires.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from typing import Final

from antiphon.credentials import kept
from antiphon.credentials.sources import CredentialSource, Fetched, FetchError
from antiphon.heartbeat import beat

EARLY: Final = 0.2  # of its life is left when a credential is fetched anew
EARLIEST: Final = 300.0  # seconds that are enough
SHORTEST: Final = 1.0  # seconds between two questions
BACKOFF: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # seconds after one failure, two, …
Log = Callable[[str], None]


def run(sources: Mapping[str, CredentialSource], names: Mapping[str, str], log: Log, *, told: int, life: int) -> None:
    """`sources`: by the files to write; `names`: of the upstreams, by the same; `told`: the pipe for signs of life;
    `life`: a pipe whose end means that the supervisor is gone."""
    asyncio.run(_keep(sources, names, log, told, life))


async def _keep(
    sources: Mapping[str, CredentialSource], names: Mapping[str, str], log: Log, told: int, life: int
) -> None:
    loop = asyncio.get_running_loop()
    stopping, ready = asyncio.Event(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    loop.add_reader(life, stopping.set)
    ready.set()
    tasks = [loop.create_task(beat(told, ready))]
    tasks += [loop.create_task(keep_fresh(source, file, names[file], log)) for file, source in sources.items()]
    await stopping.wait()
    loop.remove_reader(life)
    for task in tasks:
        task.cancel()


async def keep_fresh(source: CredentialSource, file: str, name: str, log: Log) -> None:
    failures = 0
    while True:
        try:
            fetched = await asyncio.to_thread(source.fetch)
            kept.write(file, fetched.values, time.time() + fetched.lives)
            failures = 0
            wait = until_next(fetched)
        except (FetchError, OSError) as error:
            why = error if isinstance(error, FetchError) else f"it cannot be written: {error.strerror}"
            wait = BACKOFF[min(failures, len(BACKOFF) - 1)]
            failures += 1
            log(f"upstream {name}: no new credential: {why}; asked again in {wait:g} s")
        await asyncio.sleep(wait)


def until_next(fetched: Fetched) -> float:
    return max(SHORTEST, fetched.lives - min(fetched.lives * EARLY, EARLIEST))
