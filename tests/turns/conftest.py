"""Whole turns over real sockets: client → gateway → scripted upstream, and back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from antiphon.flow.ports import Judge
from antiphon.upstreams.scripted import Script, ScriptedUpstream
from tests.support.gateway import Running, gateway, to_one
from tests.support.relay import RelayUpstream, settings

Start = Callable[..., Awaitable[tuple[Running, ScriptedUpstream]]]
StartRelay = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """`await start(script, …)`: a gateway with one upstream that plays these scripts, one per request."""
    async with AsyncExitStack() as stack:

        async def begin(
            *scripts: Script, environ: Any = None, judge: Judge | None = None, **settings: str
        ) -> tuple[Running, ScriptedUpstream]:
            upstream = ScriptedUpstream(list(scripts))
            url = await upstream.start()
            stack.push_async_callback(upstream.stop)
            running = await stack.enter_async_context(gateway(tmp_path, to_one(url, **settings), environ, judge))
            return running, upstream

        yield begin


@pytest.fixture
async def start_relay(tmp_path: Path) -> AsyncIterator[StartRelay]:
    """`await start_relay(upstream, …)`: a gateway in front of these upstreams."""
    async with AsyncExitStack() as stack:

        async def begin(*upstreams: RelayUpstream, judge: Judge | None = None, **more: str) -> Running:
            urls = [(await stack.enter_async_context(upstream.running())).url for upstream in upstreams]
            environ = {"UP": "sk-upstream", "KEY": "sk-client"}
            return await stack.enter_async_context(gateway(tmp_path, settings(*urls, **more), environ, judge))

        yield begin
