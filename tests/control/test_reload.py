"""New settings for a gateway that runs: in every worker or in none; answers and connections go on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from antiphon.reload import needs_restart
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from tests.support.control import Controlled, controlled
from tests.support.process import COMMAND, PATIENCE, until
from tests.support.raw import connect, request

SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
workers = 2
[engine]
enabled = false
[safety]
enabled = false
[[upstream]]
name = "up"
protocol = "scripted"
"""
ROUTE = '[[route]]\nmodel = "{}"\ntargets = [{{ upstream = "up"{} }}]\n'
BEFORE = SETTINGS + ROUTE.format("old", "") + ROUTE.format("scripted-*", "")
AFTER = SETTINGS + ROUTE.format("new", "") + ROUTE.format("scripted-*", "")
BROKEN = AFTER.replace('name = "up"', 'name = "up"\nurl = 5\nfoo = 1')


def ask(model: str, **more: Any) -> bytes:
    document = {"model": model, "messages": [{"role": "user", "content": "Hello"}], **more}
    return request("POST", "/v1/chat/completions", json.dumps(document).encode())


def put(file: Path, text: str) -> None:
    file.write_text(text)


async def statuses(gateway: Controlled, model: str) -> set[int]:
    """Of connections enough to reach both workers."""
    return {answer.status for answer in await asyncio.gather(*(gateway.chat(model=model) for _ in range(12)))}


async def test_new_settings_are_used_by_every_worker_or_by_none(tmp_path: Path) -> None:
    """One gateway for all of it."""
    async with controlled(tmp_path, BEFORE, {"ANTIPHON_ACCOUNTS__ENABLED": "true"}) as gateway:
        file = tmp_path / "antiphon.toml"
        await refuse_wrong_settings(gateway, file)
        await reload_under_way(gateway, file)
        await replace_a_worker(gateway)
        await say_what_needs_a_restart(gateway, file)
        await reload_by_the_admin_api(gateway, file)
        await reload_while_requests_come(gateway, file)
        await reload_during_another(gateway, file)


async def refuse_wrong_settings(gateway: Controlled, file: Path) -> None:
    put(file, BROKEN)
    gateway.process.process.send_signal(signal.SIGHUP)
    assert f"settings are not reloaded: {file}:12: [[upstream]]" in await gateway.process.said("antiphon.toml:12")
    assert f"settings are not reloaded: {file}:13: [[upstream]]" in await gateway.process.said("antiphon.toml:13")
    assert await statuses(gateway, "old") == {200}
    assert (await gateway.get("/readyz")).json["generation"] == 1


async def reload_under_way(gateway: Controlled, file: Path) -> None:
    """A stream goes on to its end, a connection stays open, and the next request on it sees the new settings."""
    stream, idle = await connect(gateway.port), await connect(gateway.port)
    await stream.send(ask("scripted-stall", stream=True))
    await stream.head()
    await idle.send(ask("old"))
    assert (await idle.answer()).status == 200
    put(file, AFTER)
    done = await run_command(file)
    assert done == (0, "settings generation 2 is in use\n", "")
    assert await statuses(gateway, "new") == {200}
    assert await statuses(gateway, "old") == {404}
    await idle.send(ask("new"))
    assert (await idle.answer()).status == 200
    assert [turn["model"] for turn in (await gateway.admin("GET", "/turns")).json["rows"]] == ["scripted-stall"]
    stream.close()
    idle.close()
    assert [worker["generation"] for worker in (await gateway.get("/readyz")).json["workers"]] == [2, 2]
    found = await gateway.samples()
    assert found["antiphon_settings_generation{}"] == 2
    assert found['antiphon_turns_total{outcome="answered",route="new"}'] >= 12
    assert found['antiphon_turns_total{outcome="answered",route="old"}'] >= 13  # what was counted stays


async def run_command(file: Path) -> tuple[int, str, str]:
    command = [COMMAND, "reload", "-c", str(file)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


async def replace_a_worker(gateway: Controlled) -> None:
    """One that dies starts with the settings in use."""
    victim = (await gateway.get("/readyz")).json["workers"][1]["pid"]
    os.kill(victim, signal.SIGKILL)
    await until(lambda: victim not in gateway.process.children() and len(gateway.process.children()) == 4)
    assert await statuses(gateway, "new") == {200}
    async with asyncio.timeout(PATIENCE):
        while [worker["generation"] for worker in (await gateway.get("/readyz")).json["workers"]] != [2, 2]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def say_what_needs_a_restart(gateway: Controlled, file: Path) -> None:
    put(file, BEFORE.replace("workers = 2", "workers = 3"))
    status, _, said = await run_command(file)
    assert status == 1
    assert "settings are not reloaded: these need a restart: [server] workers" in said
    assert await statuses(gateway, "new") == {200}


async def reload_by_the_admin_api(gateway: Controlled, file: Path) -> None:
    refused = await gateway.admin("POST", "/reload")
    assert (refused.status, refused.json["error"]["code"]) == (409, "settings_refused")
    assert "[server] workers" in refused.json["error"]["message"]
    put(file, BEFORE)
    assert (await gateway.admin("POST", "/reload")).json == {"generation": 3}
    assert await statuses(gateway, "old") == {200}
    assert (await gateway.admin("GET", "/routes")).json["rows"][0]["model"] == "old"
    assert (await gateway.admin("GET", "/settings")).json["generation"] == 3


async def reload_while_requests_come(gateway: Controlled, file: Path) -> None:
    """None fails, whichever settings it meets."""
    both = SETTINGS + "".join(ROUTE.format(model, "") for model in ("old", "new", "scripted-*"))
    stopped = False
    failed: list[int] = []

    async def go_on() -> int:
        wire, count = await connect(gateway.port), 0
        while not stopped:
            await wire.send(ask("old", stream=bool(count % 2)))
            answer = await wire.answer()
            if answer.status != 200:
                failed.append(answer.status)
            count += 1
        wire.close()
        return count

    clients = [asyncio.create_task(go_on()) for _ in range(4)]
    for text in (both, BEFORE, both):
        put(file, text)
        assert (await gateway.admin("POST", "/reload")).status == 200
    stopped = True
    assert min(await asyncio.gather(*clients)) > 0
    assert failed == []


async def reload_during_another(gateway: Controlled, file: Path) -> None:
    """Who asks is told what becomes of the file as it is now, not of the reload under way."""
    ready = (await gateway.get("/readyz")).json
    before, stopped = ready["generation"], ready["workers"][0]["pid"]
    children = len(gateway.process.children())
    put(file, AFTER)
    os.kill(stopped, signal.SIGSTOP)
    try:
        gateway.process.process.send_signal(signal.SIGHUP)
        await gateway.process.said("SIGHUP received")
        await until(lambda: len(gateway.process.children()) > children)  # it has read the file
        put(file, BEFORE)
        asked = asyncio.create_task(gateway.admin("POST", "/reload"))
        await gateway.process.said("SIGHUP received")
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert (await asked).json == {"generation": before + 2}
    assert await statuses(gateway, "old") == {200}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("workers = 2", 'workers = 2\naccess_log = "off"'), ["[server] access_log"]),
        (("[safety]\nenabled = false", "[safety]\nenabled = true"), ["[safety] evaluators"]),
        (("[engine]\nenabled = false", "[engine]\nenabled = false\nslots = 3"), ["[engine]"]),
        (("workers = 2", "workers = 2\nstrict = true\ncors = ['*']"), []),
        (('protocol = "scripted"', 'protocol = "scripted"\nmax_idle = 7'), []),
    ],
)
def test_what_can_be_reloaded(tmp_path: Path, change: tuple[str, str], words: list[str]) -> None:
    def read(text: str) -> Any:
        path = tmp_path / "antiphon.toml"
        path.write_text(text)
        return load(str(path), {}, CATALOG)

    text = BEFORE.replace('access_log = "off"\n', "")
    assert needs_restart(read(text), read(text.replace(*change))) == words


async def test_a_command_that_finds_no_gateway_says_so(tmp_path: Path) -> None:
    assert await run_command(tmp_path / "none.toml") == (
        1,
        "",
        "antiphon: no gateway of this user runs with these settings\n",
    )
