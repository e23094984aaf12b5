"""A worker changes over to new settings, in this process: what stays, what goes."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.scripted import ScriptedUpstream
from antiphon.worker_reload import WorkerReload
from tests.support.gateway import Running, gateway, to_one
from tests.support.process import PATIENCE
from tests.support.raw import Wire, connect, request

KEY = '[[key]]\nname = "{0}"\nsecret = "env:{0}"\n'
ENVIRON = {"A": "sk-key-of-a", "B": "sk-key-of-b"}


@asynccontextmanager
async def upstream() -> AsyncIterator[tuple[ScriptedUpstream, str]]:
    scripted = ScriptedUpstream()
    try:
        yield scripted, await scripted.start()
    finally:
        await scripted.stop()


async def change_over(running: Running, directory: Path, text: str) -> None:
    path = directory / "next.toml"
    path.write_text(text)
    reload = WorkerReload(running.worker, None, 1)
    assert await reload.prepare(pickle.dumps((2, load(str(path), ENVIRON, CATALOG)))) == {}
    assert await reload.commit(b"") == {}


async def chat(wire: Wire, key: str, model: str = "m", *, stream: bool = False) -> int:
    document = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "Hello"}]}
    await wire.send(
        request("POST", "/v1/chat/completions", json.dumps(document).encode(), {"authorization": f"Bearer {key}"})
    )
    return (await wire.answer()).status


async def test_a_key_that_is_gone_is_refused_on_the_connection_that_used_it(tmp_path: Path) -> None:
    """Also where its head was recognised and not read again."""
    async with upstream() as (_, url):
        before = to_one(url, server="auth = true", more=KEY.format("A"))
        after = to_one(url, server="auth = true", more=KEY.format("B"))
        async with gateway(tmp_path, before, ENVIRON) as running:
            wire = await connect(running.port)
            for _ in range(4):
                assert await chat(wire, ENVIRON["A"]) == 200
            await change_over(running, tmp_path, after)
            assert await chat(wire, ENVIRON["A"]) == 401
            assert await chat(wire, ENVIRON["B"]) == 200
            wire.close()


async def test_an_upstream_that_did_not_change_keeps_its_connections(tmp_path: Path) -> None:
    async with upstream() as (_, url), gateway(tmp_path, to_one(url)) as running:
        first = running.worker.current
        await change_over(
            running, tmp_path, to_one(url, more='[[route]]\nmodel = "n"\ntargets = [{ upstream = "up" }]\n')
        )
        second = running.worker.current
        assert second.upstreams["up"] is first.upstreams["up"]
        assert (await running.post(model="n")).status == 200
        await change_over(running, tmp_path, to_one(url, upstream="max_idle = 3"))
        assert running.worker.current.upstreams["up"] is not second.upstreams["up"]
        assert (await running.post()).status == 200
        async with asyncio.timeout(PATIENCE):
            while running.worker.retired:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_settings_that_cannot_be_prepared_change_nothing(tmp_path: Path) -> None:
    async with upstream() as (_, url), gateway(tmp_path, to_one(url)) as running:
        before = running.worker.current
        reload = WorkerReload(running.worker, None, 1)
        settings = load(str(tmp_path / "antiphon.toml"), {}, CATALOG)
        assert "fault" in await reload.prepare(pickle.dumps((2, settings.upstreams)))
        assert await reload.commit(b"") == {"fault": "nothing is prepared"}
        assert running.worker.current is before
        assert (await running.post()).status == 200
