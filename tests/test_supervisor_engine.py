"""The engine's host among the processes: the banner that waits for it, /readyz, its replacement, its turn to end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import Process, gone, refused, serving, until
from tests.support.raw import Answer, Wire, call, connect, request
from tests.support.stand_in import Control

ALONE = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
[safety]
enabled = false
"""
MIXED = f"""{ALONE}
[[upstream]]
name = "other"
protocol = "scripted"
[[route]]
model = "m"
targets = [{{ upstream = "other" }}]
[engine]
"""
COMMAND = (sys.executable, "-m", "tests.support.stand_in")
NAME = "smollm2-135m-instruct"


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    control = Control(tmp_path)
    yield control
    control.close()


@asynccontextmanager
async def hosting(control: Control, text: str) -> AsyncIterator[Process]:
    folder = control.path.parent
    async with serving(folder, text, command=COMMAND, environ={"STAND_IN": str(control.path)}) as gateway:
        yield gateway


async def unix_call(path: Path) -> Answer:
    """GET /readyz as soon as somebody listens there."""
    async with asyncio.timeout(20):
        while True:
            try:
                wire = Wire(*await asyncio.open_unix_connection(path))
                break
            except OSError:
                await asyncio.sleep(0.01)
    await wire.send(request("GET", "/readyz"))
    try:
        return await wire.answer("GET")
    finally:
        wire.close()


async def readyz(port: int, wanted: dict[str, Any]) -> int:
    """Waits until /readyz says so; its status."""
    async with asyncio.timeout(20):
        while True:
            answer = await call(port, "GET", "/readyz")
            if answer.json == wanted:
                return answer.status
            await asyncio.sleep(0.02)


async def chat(port: int, model: str = NAME) -> Answer:
    document = {"model": model, "messages": [{"role": "user", "content": "x"}]}
    return await call(port, "POST", "/v1/chat/completions", document)


async def test_the_banner_waits_for_the_engine(control: Control, tmp_path: Path) -> None:
    path = tmp_path / "gw.sock"
    async with hosting(control, ALONE.replace('"127.0.0.1:0"', json.dumps(f"unix:{path}"))) as gateway:
        waiting = await unix_call(path)
        assert waiting.status == 503
        assert waiting.json == {"status": "not ready", "reason": "engine: starting", "engine": "starting"}
        control.order("ready")
        await gateway.ready()
        assert gateway.banner.splitlines()[0].endswith(" is ready.")
        assert f"  engine     {NAME}, ready\n" in gateway.banner
        assert (await unix_call(path)).json == {"status": "ready", "engine": "ready"}


async def test_the_gateway_shows_the_host_its_key(control: Control) -> None:
    control.order("ready")
    async with hosting(control, ALONE) as gateway:
        await gateway.ready()
        for model in (NAME, "any-other"):
            answer = await chat(gateway.port, model)
            assert answer.json["choices"][0]["message"]["content"] == "known"


async def test_an_engine_that_cannot_be_had_is_named(control: Control) -> None:
    control.order("unavailable The library libx is missing.")
    async with hosting(control, ALONE) as gateway:
        await gateway.ready()
        assert gateway.banner.splitlines()[0].endswith(" is running, but cannot answer without its engine.")
        assert f"  engine     {NAME}, unavailable: The library libx is missing.\n" in gateway.banner
        answer = await call(gateway.port, "GET", "/readyz")
        assert answer.status == 503
        assert answer.json == {
            "status": "not ready",
            "reason": "engine: The library libx is missing.",
            "engine": "unavailable: The library libx is missing.",
        }


async def test_beside_other_routes_nothing_waits_for_it(control: Control) -> None:
    async with hosting(control, MIXED) as gateway:
        await gateway.ready()
        assert gateway.banner.splitlines()[0].endswith(" is ready.")
        assert f"  engine     {NAME}, starting\n" in gateway.banner
        assert await readyz(gateway.port, {"status": "ready", "engine": "starting"}) == 200
        control.order("unavailable No memory.")
        assert await readyz(gateway.port, {"status": "ready", "engine": "unavailable: No memory."}) == 200
        assert (await chat(gateway.port, "m")).status == 200


async def test_a_dead_host_is_replaced(control: Control) -> None:
    control.order("ready")
    async with hosting(control, ALONE) as gateway:
        await gateway.ready()
        first = control.pid
        os.kill(first, signal.SIGKILL)
        assert await gateway.said(f"engine host {first} was killed by SIGKILL; another starts in ")
        waiting = {"status": "not ready", "reason": "engine: starting", "engine": "starting"}
        assert await readyz(gateway.port, waiting) == 503
        control.order("ready")
        assert await readyz(gateway.port, {"status": "ready", "engine": "ready"}) == 200
        assert control.pid != first
        assert (await chat(gateway.port)).json["choices"][0]["message"]["content"] == "known"


async def test_a_host_that_hangs_is_killed_and_replaced(control: Control) -> None:
    control.order("ready")
    async with hosting(control, f"{ALONE}[engine]\nhang_after = 1\n") as gateway:
        await gateway.ready()
        first = control.pid
        control.order("hang")
        assert await gateway.said(f"engine host {first} was silent for 3 s and was killed; another starts in ")
        await until(lambda: control.pid != first)
        control.order("ready")
        assert (await chat(gateway.port)).json["choices"][0]["message"]["content"] == "known"


async def test_a_host_that_dies_before_it_settled_does_not_keep_the_banner_back(control: Control) -> None:
    async with hosting(control, ALONE) as gateway:
        await until(control.path.with_suffix(".pid").exists)
        os.kill(control.pid, signal.SIGKILL)
        await gateway.ready()
        assert f"  engine     {NAME}, unavailable: The engine host " in gateway.banner


async def test_the_host_outlives_the_last_stream_and_no_longer(control: Control) -> None:
    control.order("ready")
    async with hosting(control, ALONE) as gateway:
        await gateway.ready()
        wire = await connect(gateway.port)
        body = json.dumps({"model": NAME, "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
        await wire.send(request("POST", "/v1/chat/completions", body))
        assert (await wire.head())[0] == 200
        seen = await wire.chunk()
        gateway.process.send_signal(signal.SIGTERM)
        await until(lambda: refused(gateway.port))  # it has been heard
        control.order("continue")
        while piece := await wire.chunk():
            seen += piece
        wire.close()
        assert b'"content":"lo"' in seen
        assert b'"error"' not in seen
        assert seen.endswith(b"data: [DONE]\n\n")
        assert await gateway.ended() == 0
        assert await asyncio.to_thread(gone, control.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_can_be_ended_while_it_waits_for_the_engine(control: Control, tmp_path: Path, number: int) -> None:
    path = tmp_path / "gw.sock"
    async with hosting(control, ALONE.replace('"127.0.0.1:0"', json.dumps(f"unix:{path}"))) as gateway:
        await unix_call(path)
        processes = gateway.children()
        assert len(processes) == 2
        gateway.process.send_signal(number)
        assert await gateway.ended() == 0
        for pid in processes:
            assert await asyncio.to_thread(gone, pid)
        out, err = await gateway.process.communicate()
        assert (out, err) == (b"", b"")


async def test_asked_twice_it_ends_at_once(control: Control) -> None:
    control.order("stubborn")
    async with hosting(control, ALONE) as gateway:
        await gateway.said("stubborn now")
        control.order("ready")
        await gateway.ready()
        gateway.process.send_signal(signal.SIGTERM)
        await until(lambda: gateway.children() == [control.pid])
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
        assert await asyncio.to_thread(gone, control.pid)


async def test_the_host_ends_with_a_killed_supervisor(control: Control) -> None:
    control.order("ready")
    async with hosting(control, ALONE) as gateway:
        await gateway.ready()
        gateway.process.kill()
        assert await asyncio.to_thread(gone, control.pid)


async def test_no_engine_runs_where_no_route_needs_it(control: Control) -> None:
    async with hosting(control, MIXED.replace("[engine]", "")) as gateway:
        await gateway.ready()
        assert len(gateway.children()) == 1
        assert "engine" not in gateway.banner
        assert (await call(gateway.port, "GET", "/readyz")).json == {"status": "ready"}
