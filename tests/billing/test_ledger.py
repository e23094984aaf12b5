"""The ledger of a gateway that runs: one entry for every turn, however it ends, and `antiphon usage` shows them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from antiphon.accounts.entry import LedgerEntry
from antiphon.accounts.journal.segment import segments
from antiphon.accounts.stores.contract import EntryQuery
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.scripted import Received, Script, cut, error, json_answer, sse, wait
from antiphon.wiring_accounts import plan_accounts
from tests.billing.serving import ON, Accounted, accounted
from tests.support.process import COMMAND
from tests.support.raw import connect, request
from tests.support.shapes import chunk, completion, hello

KEYS = '[[key]]\nname = "app"\nsecret = "env:APP"\nteam = "ml"\nlimits = { budget = { total = 100 } }\n'
PRICE = '[[model]]\nname = "target"\nprice = { input = 2, output = 10, cached = 1 }\n'
USAGE = {
    **{"prompt_tokens": 1000, "completion_tokens": 300, "total_tokens": 1300},
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 100},
}


def play(received: Received) -> Script:
    """What the message asks for."""
    word = received.document["messages"][-1]["content"]
    if word == "cut":
        return sse(chunk({"role": "assistant", "content": ""}), chunk({"content": "Half of an ans"}), cut(), done=False)
    if word == "hang":
        return sse(chunk({"role": "assistant", "content": "So far "}), wait(60.0))
    if word == "never":
        return Script((wait(60.0),))
    if word == "fail":
        return error(500, "broken")
    return sse(*hello()) if received.document.get("stream") else json_answer(completion(usage=USAGE))


async def entries(gateway: Accounted, count: int) -> dict[str, LedgerEntry]:
    """By request id, once there are so many."""
    async with gateway.opened() as store, asyncio.timeout(20):
        while True:
            found = await store.ledger.entries(EntryQuery(limit=1000))
            if len(found) >= count:
                return {one.entry.request_id: one.entry for one in found}
            await asyncio.sleep(0.05)


def ask(word: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": word}]


async def test_every_turn_leaves_one_entry(tmp_path: Path) -> None:
    environ = {"APP": "sk-app"}
    async with accounted(tmp_path, more=KEYS + PRICE, script=play, environ=environ) as gateway:
        tags = {"x-antiphon-tag": "nightly, eval", "x-antiphon-receipt": "1"}
        whole = await gateway.post("sk-app", headers=tags, metadata={"run": "7"})
        plain = await gateway.post("sk-app")
        streamed = await gateway.post("sk-app", stream=True)
        broken = await gateway.post("sk-app", stream=True, messages=ask("cut"))
        failed = await gateway.post("sk-app", messages=ask("fail"))
        unknown = await gateway.post("sk-app", model="nobody")
        wrong = await gateway.post("sk-app", temperature="hot")
        await leave(gateway, "hang", stream=True)
        await leave(gateway, "never", stream=False)
        found = await entries(gateway, 9)
        assert len(found) == 9
        check_whole(found[whole.headers["x-request-id"]], whole.json["antiphon"])
        assert found[plain.headers["x-request-id"]].price == 4600
        assert (streamed.status, found[streamed.headers["x-request-id"]].input_tokens) == (200, 5)
        cut_off = found[broken.headers["x-request-id"]]
        assert cut_off.error == "upstream_truncated"
        assert cut_off.usage == "estimated"
        assert cut_off.output_tokens > 0
        assert cut_off.price > 0
        for answer, status in ((failed, 502), (unknown, 404), (wrong, 400)):
            entry = found[answer.headers["x-request-id"]]
            assert (answer.status, entry.status) == (status, status)
            assert (entry.price, entry.usage, entry.key) == (0, None, "app")
        left = [entry for entry in found.values() if entry.status == 499]
        assert [(entry.usage, entry.input_tokens > 0) for entry in left] == [("estimated", True)] * 2
        await usage_shows_them(tmp_path, sum(entry.price for entry in found.values()))


def check_whole(entry: LedgerEntry, receipt: dict[str, object]) -> None:
    """600 tokens at 2, 400 cached at 1, 300 of output at 10 micro-units."""
    assert entry.price == 600 * 2 + 400 * 1 + 300 * 10 == 4600
    assert receipt["price"] == {"amount": 0.0046, "currency": "USD", "version": entry.price_version}
    assert (entry.key, entry.team, entry.tags) == ("app", "ml", ("run=7", "nightly", "eval"))
    assert (entry.endpoint, entry.dialect, entry.route, entry.model_asked) == ("chat", "openai", "m", "m")
    assert (entry.model, entry.upstream, entry.protocol) == ("target", "up", "openai")
    assert (entry.status, entry.attempts, entry.finish, entry.usage) == (200, 1, "stop", "reported")
    assert (entry.input_tokens, entry.cached_tokens) == (1000, 400)
    assert (entry.output_tokens, entry.reasoning_tokens) == (300, 100)
    assert entry.duration > 0
    assert entry.detail is not None
    assert entry.detail["route"] == "m"


async def leave(gateway: Accounted, word: str, *, stream: bool) -> None:
    """Asks, and goes away when the upstream has the request."""
    seen = len(gateway.upstream.requests)
    wire = await connect(gateway.port)
    body = json.dumps({"model": "m", "messages": ask(word), "stream": stream}).encode()
    await wire.send(request("POST", "/v1/chat/completions", body, {"authorization": "Bearer sk-app"}))
    async with asyncio.timeout(10):
        while True:
            if len(gateway.upstream.requests) > seen:
                break
            await asyncio.sleep(0.01)
    if stream:
        await wire.head()
        await wire.chunk()
    wire.reset()


async def usage_shows_them(folder: Path, price: int) -> None:
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "usage", "-c", str(folder / "antiphon.toml"), "--by", "key", "--json"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **ON, "APP": "sk-app"},
    )
    out, _ = await process.communicate()
    [row] = json.loads(out)["rows"]
    assert (row["key"], row["turns"], row["price"]) == ("app", 9, price)


LEAVE = """
import os, sys
from antiphon.accounts.entry import LedgerEntry
from antiphon.accounts.journal.segment import segments
from antiphon.accounts.journal.writer import JournalWriter
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from antiphon.wiring_accounts import plan_accounts

plan = plan_accounts(load(sys.argv[1], {}, CATALOG), {})
JournalWriter(plan.journal, 0, print).post(LedgerEntry(time=1_700_000_000_000_000, request_id="req_left"))
print(plan.journal, flush=True)
sys.stdin.read()
"""


async def test_a_gateway_that_did_not_come_back(tmp_path: Path) -> None:
    """Its entries are taken over by the next one with the same store; not while it runs."""
    state = f'[accounts]\nstate = "{tmp_path}/state"\nstore = "sqlite:///{tmp_path}/accounts.db"\n'
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(f"[server]\nworkers = 1\n{state}")
    first = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LEAVE, str(tmp_path / "one.toml")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert first.stdout is not None
    left = (await first.stdout.readline()).decode().strip()
    next_one = load(str(tmp_path / "two.toml"), {}, CATALOG)
    plan = plan_accounts(next_one, {})
    assert plan is not None
    assert (len(segments(left)), segments(plan.journal)) == (1, [])
    first.kill()
    await first.communicate()
    again = plan_accounts(next_one, {})  # another name: this process has the lock of the first
    assert again is not None
    assert (segments(left), len(segments(again.journal))) == ([], 1)
