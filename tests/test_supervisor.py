"""Processes: start, banner, replacement of dead workers, drain. The real command, real signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from antiphon.engine import host
from antiphon.place import Place
from antiphon.settings import load
from antiphon.supervisor import Supervisor
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.scripted import Script, ScriptedUpstream, json_answer, sse, wait
from tests.support.gateway import to_one
from tests.support.process import PATIENCE, Process, gone, refused, serving, until
from tests.support.raw import Wire, call, connect, request
from tests.support.shapes import completion, hello

ASK = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
UNJUDGED = "[safety]\nenabled = false"  # then the workers are all there is


async def scripted(*scripts: Script) -> tuple[ScriptedUpstream, str]:
    upstream = ScriptedUpstream(list(scripts))
    return upstream, await upstream.start()


@pytest.mark.parametrize("server", ["", "proxy_protocol = true"])
async def test_the_banner_tells_where_what_and_how(tmp_path: Path, server: str) -> None:
    upstream, url = await scripted(json_answer(completion()))
    async with serving(tmp_path, to_one(url, server=server)) as gateway:
        await gateway.ready()
        assert gateway.port > 0
        assert "m -> up (target)" in gateway.banner
        line = gateway.banner[gateway.banner.index("curl ") :].strip()
        curl = await asyncio.create_subprocess_shell(f"{line} -s", stdout=asyncio.subprocess.PIPE)
        out, _ = await curl.communicate()
        assert json.loads(out)["choices"][0]["message"]["content"] == "Hi!"
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
    await upstream.stop()


async def test_a_dead_worker_is_replaced(tmp_path: Path) -> None:
    upstream, url = await scripted(json_answer(completion()))
    async with serving(tmp_path, to_one(url, server="workers = 2", more=UNJUDGED)) as gateway:
        await gateway.ready()
        before = gateway.children()
        assert len(before) == 2
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await gateway.said("was killed by SIGKILL")
        # The sockets are the supervisor's: a connection made meanwhile waits for the next worker.
        assert (await call(gateway.port, "GET", "/healthz")).status == 200
        after = gateway.children()
        assert not set(before) & set(after)
        for _ in range(20):
            assert (await call(gateway.port, "GET", "/healthz")).status == 200
        assert gateway.children() == after, "the replacements did not last"
    await upstream.stop()


async def test_sigterm_lets_streams_finish(tmp_path: Path) -> None:
    more = asyncio.Event()
    upstream, url = await scripted(sse(*hello()[:2], wait(more), *hello()[2:]))
    async with serving(tmp_path, to_one(url)) as gateway:
        await gateway.ready()
        wire = await connect(gateway.port)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
        await wire.send(request("POST", "/v1/chat/completions", body))
        assert (await wire.head())[0] == 200
        seen = await wire.chunk()
        gateway.process.send_signal(signal.SIGTERM)
        await until(lambda: refused(gateway.port))
        more.set()
        while piece := await wire.chunk():
            seen += piece
        assert seen.endswith(b"data: [DONE]\n\n")
        wire.close()
        assert await gateway.ended() == 0
    await upstream.stop()


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "unix"])
async def test_a_lame_duck_answers_and_says_that_it_drains(tmp_path: Path, listen: str) -> None:
    upstream, url = await scripted(*[json_answer(completion())] * 2)
    where = listen if listen != "unix" else f"unix:{tmp_path}/gw.sock"
    text = to_one(url, server="lame_duck = 3", more=UNJUDGED).replace('"127.0.0.1:0"', json.dumps(where))

    async def open_wire() -> Wire:
        if listen != "unix":
            return await connect(gateway.port)
        return Wire(*await asyncio.open_unix_connection(f"{tmp_path}/gw.sock"))

    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        idle = await open_wire()
        await idle.send(request("GET", "/readyz"))
        assert (await idle.answer()).status == 200
        gateway.process.send_signal(signal.SIGTERM)
        while True:
            probe = await open_wire()
            await probe.send(request("GET", "/readyz"))
            answer = await probe.answer()
            probe.close()
            if answer.status != 200:
                break
        assert (answer.status, answer.json) == (503, {"status": "not ready", "reason": "draining"})
        for wire in (idle, await open_wire()):
            await wire.send(request("POST", "/v1/chat/completions", json.dumps(ASK).encode()))
            answer = await wire.answer()
            assert (answer.status, answer.headers["connection"]) == (200, "close")
            wire.close()
        assert await gateway.ended() == 0
        if listen == "unix":
            assert not (tmp_path / "gw.sock").exists()
        else:
            assert refused(gateway.port)
    await upstream.stop()


@pytest.mark.parametrize("second", [None, signal.SIGTERM])
async def test_a_lame_duck_can_be_hurried(tmp_path: Path, second: signal.Signals | None) -> None:
    """Ctrl-C has no such phase, and a second signal ends it."""
    upstream, url = await scripted()
    async with serving(tmp_path, to_one(url, server="lame_duck = 600")) as gateway:
        await gateway.ready()
        gateway.process.send_signal(signal.SIGINT if second is None else signal.SIGTERM)
        if second is not None:
            await until_draining(gateway)
            gateway.process.send_signal(second)
        assert await gateway.ended() == 0
    await upstream.stop()


async def until_draining(gateway: Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await call(gateway.port, "GET", "/readyz")).json.get("reason") != "draining":
            pass


async def test_a_lame_duck_does_not_outlive_its_supervisor(tmp_path: Path) -> None:
    upstream, url = await scripted()
    async with serving(tmp_path, to_one(url, server="lame_duck = 600")) as gateway:
        await gateway.ready()
        gateway.process.send_signal(signal.SIGTERM)
        await until_draining(gateway)
        children = gateway.children()
        gateway.process.kill()
        await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
    await upstream.stop()


async def test_drain_has_a_limit(tmp_path: Path) -> None:
    never = asyncio.Event()
    upstream, url = await scripted(sse(*hello()[:2], wait(never)))
    async with serving(tmp_path, to_one(url, server="drain = 1")) as gateway:
        await gateway.ready()
        wire = await connect(gateway.port)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
        await wire.send(request("POST", "/v1/chat/completions", body))
        await wire.head()
        gateway.process.send_signal(signal.SIGINT)
        assert await gateway.ended() == 0
        wire.close()
    await upstream.stop()


async def test_sighup_is_logged_and_survived(tmp_path: Path) -> None:
    upstream, url = await scripted()
    async with serving(tmp_path, to_one(url)) as gateway:
        await gateway.ready()
        gateway.process.send_signal(signal.SIGHUP)
        assert "SIGHUP" in await gateway.said("SIGHUP")
        assert (await call(gateway.port, "GET", "/healthz")).status == 200
    await upstream.stop()


async def test_workers_end_with_a_killed_supervisor(tmp_path: Path) -> None:
    upstream, url = await scripted()
    async with serving(tmp_path, to_one(url, more=UNJUDGED)) as gateway:
        await gateway.ready()
        (worker,) = gateway.children()
        gateway.process.kill()
        assert await asyncio.to_thread(gone, worker)
    await upstream.stop()


async def test_a_unix_socket(tmp_path: Path) -> None:
    upstream, url = await scripted(json_answer(completion()))
    path = tmp_path / "gw.sock"
    text = to_one(url).replace('"127.0.0.1:0"', json.dumps(f"unix:{path}"))
    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request("GET", "/healthz"))
        assert b" 200 " in await asyncio.wait_for(reader.readline(), 5)
        writer.close()
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
        assert not path.exists()
    await upstream.stop()


async def test_an_open_door_to_others_is_warned_about(tmp_path: Path) -> None:
    upstream, url = await scripted()
    text = to_one(url).replace('"127.0.0.1:0"', '"0.0.0.0:0"')
    async with serving(tmp_path, text) as gateway:
        assert "auth" in await gateway.said("WARNING")
        await gateway.ready()
    await upstream.stop()


async def test_access_log_lines_hold_no_secret_and_no_body(tmp_path: Path) -> None:
    upstream, url = await scripted(json_answer(completion("the answer")))
    log = tmp_path / "access.log"
    text = to_one(url, access_log=str(log))
    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        document = {"model": "m", "messages": [{"role": "user", "content": "the question"}]}
        headers = {"authorization": "Bearer sk-very-secret-key"}
        answer = await call(gateway.port, "POST", "/v1/chat/completions", document, headers=headers)
        gateway.process.send_signal(signal.SIGTERM)
        await gateway.ended()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (line,) = [line for line in lines if line["request_id"] == answer.headers["x-request-id"]]
    assert (line["status"], line["route"], line["upstream"]) == (200, "m", "up")
    assert (line["prompt_tokens"], line["completion_tokens"], line["usage"]) == (5, 2, "reported")
    for leak in ("secret", "question", "the answer"):
        assert leak not in log.read_text()
    await upstream.stop()


def test_a_restart_that_is_overdue_does_not_make_a_drain_spin(tmp_path: Path) -> None:
    settings = load(None, {}, CATALOG)
    place = Place("worker", lambda told: None, 1.0, due=0.0)
    supervisor = Supervisor(settings, [], str(tmp_path), host.run, workers=[place])
    assert supervisor._patience() == 0
    supervisor.draining = True
    assert supervisor._patience() > 0
