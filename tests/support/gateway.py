"""A gateway wired from settings text, in this process, on a real port."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from antiphon import wiring
from antiphon.flow.ports import Judge
from antiphon.listen import open_sockets
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from tests.support.raw import Answer, call

MESSAGES = [{"role": "user", "content": "Hello"}]


class Running:
    def __init__(self, port: int, worker: wiring.Worker) -> None:
        self.port, self.worker = port, worker

    async def post(
        self, path: str = "/v1/chat/completions", /, headers: dict[str, str] | None = None, **ask: Any
    ) -> Answer:
        document = {"model": "m", "messages": MESSAGES, **ask}
        return await call(self.port, "POST", path, document, headers=headers)

    async def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return await call(self.port, "GET", path, headers=headers)


@asynccontextmanager
async def gateway(
    directory: Path, text: str, environ: Mapping[str, str] | None = None, judge: Judge | None = None
) -> AsyncIterator[Running]:
    """`judge`: nobody judges without one, for there is no evaluator process here."""
    path = directory / "antiphon.toml"
    path.write_text(text)
    settings = load(str(path), environ or {}, CATALOG)
    sockets: list[socket.socket] = open_sockets(settings.server.listen, 1)[0]
    port = sockets[0].getsockname()[1]
    engine = wiring.engine_options(settings, str(directory), "engine-key")
    worker = await wiring.build(
        settings, born=1_700_000_000, room=str(directory), ready=lambda: None, engine=engine, judge=judge
    )
    await worker.server.start(sockets, wiring.server_tls(settings.server))
    try:
        yield Running(port, worker)
    finally:
        await worker.server.drain(2.0)
        await worker.close()


def to_one(
    url: str,
    *,
    server: str = "",
    upstream: str = "",
    more: str = "",
    access_log: str = "off",
    error_log: str = "off",
) -> str:
    """Settings with one upstream "up" and a route "m" to its model "target"."""
    return f"""
[server]
listen = "127.0.0.1:0"
access_log = {json.dumps(access_log)}
error_log = {json.dumps(error_log)}
{server}
[[upstream]]
name = "up"
protocol = "openai"
url = {json.dumps(url)}
{upstream}
[[route]]
model = "m"
targets = [{{ upstream = "up", model = "target" }}]
{more}
"""
