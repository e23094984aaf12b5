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

Start = Callable[..., Awaitable[tuple[Running, ScriptedUpstream]]]


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
