"""Every access line names the client, the method and the path: of turns, refusals, and faults of HTTP itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, error, json_answer, sse
from tests.support.gateway import Running
from tests.support.raw import connect, request
from tests.support.shapes import completion, hello
from tests.turns.conftest import Start

WHOLE = {"logprobs": None}  # a null takes the turn off the fast path


def lines(running: Running, log: Path) -> list[dict[str, Any]]:
    running.worker.log.flush()
    return [json.loads(line) for line in log.read_text().splitlines()]


def place(entry: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(entry.get(key) for key in ("client", "method", "path", "status"))


@pytest.mark.parametrize(
    ("script", "ask", "status"),
    [
        (json_answer(completion()), {}, 200),
        (json_answer(completion()), WHOLE, 200),
        (sse(*hello()), {"stream": True}, 200),
        (error(400), {}, 400),
        (json_answer(completion()), {"messages": 5}, 400),
        (json_answer(completion()), {"model": "unknown"}, 404),
    ],
)
async def test_a_chat_turn(start: Start, tmp_path: Path, script: Script, ask: dict[str, Any], status: int) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(script, access_log=str(log))
    assert (await running.post(**ask)).status == status
    assert [place(entry) for entry in lines(running, log)] == [("127.0.0.1", "POST", "/v1/chat/completions", status)]


async def test_the_path_is_the_clients(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(json_answer(completion()), access_log=str(log))
    await running.post("/skytells/v1/chat/completions?stream=false&secret=hunter2")
    assert place(lines(running, log)[0]) == ("127.0.0.1", "POST", "/skytells/v1/chat/completions", 200)
    assert "hunter2" not in log.read_text()


async def test_what_is_no_turn(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(access_log=str(log))
    await running.get("/healthz")
    await running.get("/v1/models")
    await running.get("/nowhere")
    assert [place(entry) for entry in lines(running, log)] == [
        ("127.0.0.1", "GET", "/healthz", 200),
        ("127.0.0.1", "GET", "/v1/models", 200),
        ("127.0.0.1", "GET", "/nowhere", 404),
    ]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"\x16\x03\x01\x02\x00", ("127.0.0.1", None, None, 400)),
        (b"GET /a?b=c HTTP/1.1\r\n\r\n", ("127.0.0.1", "GET", "/a", 400)),
        (b"POST /a HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", ("127.0.0.1", "POST", "/a", 400)),
        (
            request("POST", "/v1/models", headers={"content-length": "99999999999"}),
            ("127.0.0.1", "POST", "/v1/models", 413),
        ),
    ],
)
async def test_a_fault_before_there_is_a_request(
    start: Start, tmp_path: Path, sent: bytes, expected: tuple[Any, ...]
) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(access_log=str(log))
    wire = await connect(running.port)
    await wire.send(sent)
    await wire.answer()
    wire.close()
    assert [place(entry) for entry in lines(running, log)] == [expected]
