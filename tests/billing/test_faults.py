"""What gateways survive: a store that is out at the start and comes back, replicas on one database, no counters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from antiphon.accounts.stores.contract import EntryQuery
from antiphon.accounts.stores.urls import store_for
from antiphon.upstreams.scripted import Received, Script, json_answer, wait
from tests.billing.serving import Accounted, accounted
from tests.limits.valkey import Valkey
from tests.support.postgres import Postgres
from tests.support.raw import Answer
from tests.support.shapes import completion

KEY = '[[key]]\nname = "app"\nsecret = "env:APP"\nlimits = { tokens_per_minute = 500 }\n'
ENVIRON = {"APP": "sk-app"}


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path)
    server.start()
    yield server
    server.stop()


@contextmanager
def out(postgres: Postgres) -> Iterator[None]:
    postgres.stop()
    try:
        yield
    finally:
        postgres.start()


async def entries(url: str, count: int) -> list[str]:
    """The ids of all entries, once there are so many."""
    store = store_for(url)
    await store.open()
    try:
        async with asyncio.timeout(30):
            while True:
                found = await store.ledger.entries(EntryQuery(limit=10_000))
                if len(found) >= count:
                    return [one.entry.request_id for one in found]
                await asyncio.sleep(0.05)
    finally:
        await store.close()


async def test_the_store_is_out_at_the_start_and_restarted_under_load(postgres: Postgres, tmp_path: Path) -> None:
    """Turns are answered all the time, and each is in the ledger once when the store is back."""
    url = postgres.database()
    async with AsyncExitStack() as stack:
        with out(postgres):
            made = accounted(tmp_path, store=url, more=KEY, environ=ENVIRON)
            gateway = await stack.enter_async_context(made)
            answers = [await gateway.post("sk-app", max_tokens=1) for _ in range(5)]
        answers += [await gateway.post(max_tokens=1) for _ in range(20)]
        await entries(url, 25)
        with out(postgres):
            answers += [await gateway.post(max_tokens=1) for _ in range(20)]
        found = await entries(url, 45)
    assert {answer.status for answer in answers} == {200}
    assert sorted(found) == sorted(answer.headers["x-request-id"] for answer in answers)


async def replicas(
    stack: AsyncExitStack, folder: Path, store: str, accounts: str, names: tuple[str, ...] = ("one", "two")
) -> list[Accounted]:
    """Gateways with one database and one server of counters, as machines would have them."""

    def play(received: Received) -> Script:
        usage = {"prompt_tokens": 9, "completion_tokens": 66, "total_tokens": 75}
        return Script((wait(0.3), *json_answer(completion(usage=usage)).steps))

    gateways = []
    for name in names:
        (folder / name).mkdir()
        made = accounted(folder / name, store=store, accounts=accounts, more=KEY, script=play, environ=ENVIRON)
        gateways.append(await stack.enter_async_context(made))
    return gateways


async def ask(gateways: list[Accounted], count: int) -> list[Answer]:
    turns = [gateways[number % len(gateways)].post("sk-app", max_tokens=66) for number in range(count)]
    return list(await asyncio.gather(*turns))


async def test_two_replicas_share_a_limit_and_a_database(postgres: Postgres, valkey: Valkey, tmp_path: Path) -> None:
    """20 at once x 75 tokens against 500, half of them at each: six are granted, and all are in one ledger."""
    url = postgres.database()
    async with AsyncExitStack() as stack:
        gateways = await replicas(stack, tmp_path, url, f'counters = "{valkey.url}"')
        answers = await ask(gateways, 20)
        assert sorted(answer.status for answer in answers) == [200] * 6 + [429] * 14
        found = await entries(url, 20)
        assert sorted(found) == sorted(answer.headers["x-request-id"] for answer in answers)


@pytest.mark.parametrize(("word", "granted"), [("closed", 0), ("open", 6)])
async def test_the_counters_are_gone(valkey: Valkey, tmp_path: Path, word: str, granted: int) -> None:
    """Closed: nobody can say what is left, so turns with limits get 503. Open: each machine has its part; here there
    was one machine."""
    valkey.stop()
    async with AsyncExitStack() as stack:
        store = f"sqlite:///{tmp_path}/accounts.db"
        accounts = f'counters = "{valkey.url}"\non_counters_failure = "{word}"'
        [gateway] = await replicas(stack, tmp_path, store, accounts, ("one",))
        answers = await ask([gateway], 8)
        assert [answer.status for answer in answers].count(200) == granted
        others = {answer.status for answer in answers if answer.status != 200}
        assert others == ({503} if word == "closed" else {429})
        assert all("retry-after" in answer.headers for answer in answers if answer.status != 200)
        assert (await gateway.post()).status == 200  # without a key there is no limit
