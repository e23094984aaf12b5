"""`kill -9` of any process under load: every answered turn is in the ledger once, and the limits say the same."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

from antiphon.accounts.entry import LedgerEntry
from antiphon.accounts.stores.contract import EntryQuery
from antiphon.limits.limit import Caller, Limit
from antiphon.limits.limiter import Limiter
from antiphon.limits.table import LimitTable
from tests.billing.serving import Accounted, accounted
from tests.support.process import until

ROUNDS = int(os.environ.get("ANTIPHON_KILL_ROUNDS", "4"))
BUDGET = 100_000_000
KEY = '[[key]]\nname = "app"\nsecret = "env:APP"\nlimits = { budget = { total = 100 }, concurrent = 1000 }\n'
PRICE = '[[model]]\nname = "target"\nprice = { input = 10, output = 10 }\n'  # 150 micro-units a turn


async def load(gateway: Accounted, answered: set[str], stopping: asyncio.Event) -> None:
    """A client that asks again and again. What a dying worker leaves open is no answer."""
    while not stopping.is_set():
        try:
            answer = await gateway.post("sk-app", stream=random.random() < 0.3)
        except (OSError, EOFError, ValueError):  # cut in the middle
            continue
        if answer.status == 200 and (b"[DONE]" in answer.body or not answer.body.startswith(b"data")):
            answered.add(answer.headers["x-request-id"])


def in_limits(folder: Path) -> tuple[int, int, int]:
    """(spent, held, turns that run) of the key, as the limits have it after the gateway has ended."""
    [path] = [file for file in (folder / "state").glob("limits-*") if file.suffix != ".lock"]
    limiter = Limiter(LimitTable(str(path)), 15, (), is_new=False)
    caller = Caller("app", limits=(Limit("key:app", total=BUDGET, concurrent=1000),))
    rows = limiter._find(caller, "m")
    assert rows is not None
    use = rows[0].use(limiter.table.memory, (limiter.clock.read(), limiter.clock.day, limiter.clock.month))
    limiter.table.close()
    return use["total"][0], use["total"][1], use["concurrent"][1]


async def ledger(gateway: Accounted) -> list[LedgerEntry]:
    async with gateway.opened() as store:
        return [one.entry for one in await store.ledger.entries(EntryQuery(limit=10**6))]


async def shipped(gateway: Accounted, answered: set[str]) -> None:
    """Waits until all of these are in the store: what ships them may have been the last to be killed."""
    async with asyncio.timeout(30):
        while True:
            if answered <= {entry.request_id for entry in await ledger(gateway)}:
                return
            await asyncio.sleep(0.1)


async def test_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path) -> None:
    answered: set[str] = set()
    stopping = asyncio.Event()
    async with accounted(tmp_path, more=KEY + PRICE, environ={"APP": "sk-app"}) as gateway:
        clients = [asyncio.create_task(load(gateway, answered, stopping)) for _ in range(8)]
        for _ in range(ROUNDS):
            before = len(answered)
            async with asyncio.timeout(30):
                while True:
                    if len(answered) >= before + 20:
                        break
                    await asyncio.sleep(0.01)
            os.kill(random.choice(gateway.process.children()), signal.SIGKILL)
        stopping.set()
        await asyncio.gather(*clients)
        await until(lambda: len(gateway.process.children()) == 3)
        assert {(await gateway.post("sk-app")).status for _ in range(6)} == {200}  # what died is replaced
        await shipped(gateway, answered)
        gateway.process.process.send_signal(signal.SIGTERM)
        assert await gateway.process.ended() == 0
        entries = await ledger(gateway)
    assert list((tmp_path / "state").glob("journal-*/*")) == []
    ids = [entry.request_id for entry in entries]
    assert len(set(ids)) == len(ids)
    assert answered <= set(ids)
    assert in_limits(tmp_path) == (sum(entry.price for entry in entries), 0, 0)
