"""Metrics of a real gateway with two workers, read by Prometheus's own parsers and, where it is installed, promtool."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as read_plain

from tests.support.control import Controlled, controlled
from tests.support.process import COMMAND, PATIENCE, serving
from tests.support.raw import call, connect, request

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
[[upstream]]
name = "spare"
protocol = "scripted"
[[route]]
model = "m"
targets = [{ upstream = "up" }]
[[route]]
model = "scripted-*"
targets = [{ upstream = "up" }]
[[route]]
model = "two"
targets = [{ upstream = "up", model = "scripted-error-500" }, { upstream = "spare", model = "m", priority = 1 }]
"""
TURNS = 'antiphon_turns_total{{outcome="{}",route="{}"}}'
ATTEMPTS = 'antiphon_upstream_attempts_total{{outcome="{}",upstream="{}"}}'
TOKENS = 'antiphon_tokens_total{{kind="{}",source="{}",upstream="up"}}'


async def settled(gateway: Controlled, holds: Callable[[Mapping[str, float]], bool]) -> dict[str, float]:
    """Turns end after their answer, and gauges are set twice a second."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await gateway.samples()
            if holds(found):
                return found
            await asyncio.sleep(0.02)


async def test_every_turn_is_counted_once_whatever_becomes_of_it(tmp_path: Path) -> None:
    """One gateway for all of it: what is looked at comes in the order in which it happens."""
    async with controlled(tmp_path, SETTINGS) as gateway:
        await see_health(gateway)
        await count_outcomes(gateway)
        await count_time(gateway)
        await see_open_turns(gateway)
        await lose_a_worker(gateway)
        await read_both_formats(gateway)
        assert (await call(gateway.port, "GET", "/metrics")).status == 404  # not for clients
        refuse_an_address_that_is_taken(gateway, tmp_path / "antiphon.toml")


async def count_outcomes(gateway: Controlled) -> None:
    for _ in range(3):
        assert (await gateway.chat()).status == 200
    assert (await gateway.chat(stream=True)).status == 200
    assert (await gateway.chat(model="scripted-error-500")).status >= 500
    assert (await gateway.chat(model="scripted-cut", stream=True)).status == 200
    assert (await gateway.chat(model="scripted-no-usage")).status == 200
    assert (await gateway.chat(model="scripted-cached")).status == 200
    assert (await gateway.chat(model="two")).status == 200
    assert (await gateway.chat(model='no"such\\model')).status == 404
    assert (await gateway.chat(messages="none")).status == 400
    found = await settled(gateway, lambda found: found[TURNS.format("answered", "two")] == 1)
    expected = {
        TURNS.format("answered", "m"): 4,
        TURNS.format("answered", "scripted-*"): 2,
        TURNS.format("upstream_failed", "scripted-*"): 2,
        TURNS.format("refused", "other"): 2,
        TURNS.format("answered", "other"): 0,
        ATTEMPTS.format("answered", "up"): 6,
        ATTEMPTS.format("failed", "up"): 3,
        ATTEMPTS.format("answered", "spare"): 1,
        ATTEMPTS.format("failed", "spare"): 0,
    }
    assert {name: found[name] for name in expected} == expected
    assert found[TOKENS.format("input", "reported")] > 0
    assert found[TOKENS.format("output", "estimated")] > 0
    assert 0 < found[TOKENS.format("cached_input", "reported")] < found[TOKENS.format("input", "reported")]
    last = 'antiphon_upstream_last_{}_timestamp_seconds{{upstream="{}"}}'
    assert found[last.format("answer", "spare")] >= found[last.format("failure", "up")] > 0
    assert last.format("failure", "spare") not in found  # it never happened
    assert not [name for name in found if "such" in name]


async def count_time(gateway: Controlled) -> None:
    found = await gateway.samples()
    assert found['antiphon_turn_duration_seconds_count{stream="false"}'] == 6
    assert found['antiphon_turn_duration_seconds_count{stream="true"}'] == 1
    assert found["antiphon_time_to_first_chunk_seconds_count{}"] == 2  # the one that was cut had begun
    assert found['antiphon_upstream_time_to_first_chunk_seconds_count{upstream="up"}'] == 2
    whole, added = "antiphon_turn_duration_seconds_sum", "antiphon_added_seconds_sum"
    for stream in ("true", "false"):
        assert 0 < found[f'{added}{{stream="{stream}"}}'] < found[f'{whole}{{stream="{stream}"}}']


async def see_open_turns(gateway: Controlled) -> None:
    """One that hangs is open, until its client leaves."""
    wire = await connect(gateway.port)
    ask = {"model": "scripted-hang", "messages": [{"role": "user", "content": "x"}]}
    await wire.send(request("POST", "/v1/chat/completions", json.dumps(ask).encode()))
    await settled(gateway, lambda found: open_turns(found) == 1)
    wire.close()
    found = await settled(gateway, lambda found: found[TURNS.format("aborted", "scripted-*")] == 1)
    assert found[ATTEMPTS.format("cancelled", "up")] == 1
    await settled(gateway, lambda found: open_turns(found) == 0)


def open_turns(found: Mapping[str, float]) -> float:
    return sum(value for name, value in found.items() if name.startswith("antiphon_open_turns{"))


async def lose_a_worker(gateway: Controlled) -> None:
    """Counters go on where they were."""
    before = await gateway.samples()
    ready = (await gateway.get("/readyz")).json
    victim = ready["workers"][0]["pid"]
    os.kill(victim, signal.SIGKILL)
    starts = 'antiphon_process_starts_total{process="worker"}'
    found = await settled(gateway, lambda found: found[starts] == 3)
    for name, value in before.items():
        if "_total{" in name or "_bucket{" in name:
            assert found[name] >= value, name
    for _ in range(4):
        assert (await gateway.chat()).status == 200
    name = TURNS.format("answered", "m")
    await settled(gateway, lambda found: found[name] == before[name] + 4)


async def read_both_formats(gateway: Controlled) -> None:
    answer = await gateway.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {family.name: family for family in read_plain(answer.body.decode())}
    assert families["antiphon_turns"].type == "counter"
    assert families["antiphon_turn_duration_seconds"].type == "histogram"
    if shutil.which("promtool") is not None:
        check_with_promtool(answer.body)


def check_with_promtool(text: bytes) -> None:
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


async def see_health(gateway: Controlled) -> None:
    assert (await gateway.get("/healthz")).json == {"status": "ok"}
    answer = await gateway.get("/readyz")
    assert (answer.status, answer.json["status"]) == (200, "ready")
    assert [worker["worker"] for worker in answer.json["workers"]] == [0, 1]
    missing = await gateway.get("/nowhere")
    assert (missing.status, missing.json["error"]["code"]) == (404, "not_found")
    assert (await call(gateway.control, "POST", "/metrics", {})).json["error"]["code"] == "method_not_allowed"


def refuse_an_address_that_is_taken(gateway: Controlled, settings: Path) -> None:
    taken = f"127.0.0.1:{gateway.control}"
    environ = {**os.environ, "ANTIPHON_SERVER__CONTROL": taken}
    done = subprocess.run([COMMAND, "serve", "-c", settings], env=environ, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert f"cannot listen on {taken} ([server] control): Address already in use" in done.stderr


@pytest.mark.parametrize("text", ['control = "off"', 'control = "unix:{folder}/c.sock"'])
async def test_the_control_plane_can_be_off_or_on_a_unix_socket(tmp_path: Path, text: str) -> None:
    settings = SETTINGS.replace("workers = 2", "lame_duck = 0\n" + text.format(folder=tmp_path))
    environ = {"ANTIPHON_SERVER__CONTROL": ""}
    async with serving(tmp_path, settings, environ=environ) as process:
        await process.ready()
        assert ("control" in process.banner) is ("unix" in text)
        if "unix" in text:
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "c.sock"))
            writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert b'{"status":"ok"}' in await asyncio.wait_for(reader.read(), PATIENCE)
            writer.close()
            assert (tmp_path / "c.sock").stat().st_mode & 0o777 == 0o600
            process.process.terminate()
            assert await process.ended() == 0
            assert not (tmp_path / "c.sock").exists()
