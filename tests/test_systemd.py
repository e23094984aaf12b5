"""`antiphon serve` under systemd: sockets that it hands over, and what it is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.systemd import notify, take_sockets
from antiphon.upstreams.scripted import ScriptedUpstream, json_answer
from tests.support.gateway import to_one
from tests.support.process import COMMAND, serving
from tests.support.raw import Wire, request
from tests.support.shapes import completion

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello"}]}).encode()
# As systemd does: the sockets are descriptors 3, 4 …, and the variables name the process that they are for.
HAND_OVER = """
import os, socket, sys
made = [socket.create_server(("127.0.0.1", 0))]
if os.environ.get("UNIX"):
    made.append(socket.create_server(os.environ["UNIX"], family=socket.AF_UNIX))
for place, sock in enumerate([socket.socket(fileno=os.dup(one.fileno())) for one in made]):
    os.dup2(sock.fileno(), 3 + place, inheritable=True)
    sock.detach()
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(made)), LISTEN_FDNAMES="a:b")
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
async def upstream() -> Any:
    playing = ScriptedUpstream([json_answer(completion())] * 8)
    yield await playing.start()
    await playing.stop()


async def ask(wire: Wire) -> int:
    await wire.send(request("POST", "/v1/chat/completions", BODY, None))
    status = (await wire.answer()).status
    wire.close()
    return status


async def test_sockets_are_taken_over_and_the_manager_is_told(tmp_path: Path, upstream: str) -> None:
    path = tmp_path / "gateway.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "UNIX": str(path)}
        command = (sys.executable, "-c", HAND_OVER, COMMAND, "serve", "-c")
        text = to_one(upstream, server="workers = 2").replace('"127.0.0.1:0"', '"127.0.0.1:1"')  # not to be opened
        loop = asyncio.get_running_loop()
        async with serving(tmp_path, text, command=command, environ=environ) as gateway:
            await gateway.ready()
            assert await asyncio.wait_for(loop.sock_recv(manager, 100), 10) == b"READY=1"
            assert gateway.port > 1
            assert await ask(Wire(*await asyncio.open_connection("127.0.0.1", gateway.port))) == 200
            assert await ask(Wire(*await asyncio.open_unix_connection(str(path)))) == 200
            gateway.process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(loop.sock_recv(manager, 100), 10) == b"STOPPING=1"
            assert await gateway.ended() == 0
    assert path.exists()  # it is the manager's; the next process gets the same socket


def test_sockets_for_another_process_are_left_alone() -> None:
    environ = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "OTHER": "y"}
    assert take_sockets(environ) == []
    assert environ == {"OTHER": "y"}


def test_what_does_not_listen_is_refused() -> None:
    ours, theirs = socket.socketpair()
    with theirs, pytest.raises(OSError, match="no listening stream socket"):
        take_sockets({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}, ours.detach())


def test_a_manager_that_is_gone_is_no_failure(tmp_path: Path) -> None:
    notify({"NOTIFY_SOCKET": str(tmp_path / "nobody")}, "READY=1")
    notify({"NOTIFY_SOCKET": "@antiphon-nobody"}, "READY=1")
    notify({}, "READY=1")
