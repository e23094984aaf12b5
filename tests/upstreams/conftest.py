"""Gateways in front of scripted upstreams, whatever they speak."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, ScriptedUpstream
from tests.support.foreign import base, row, settings
from tests.support.gateway import Running, gateway

Begin = Callable[..., Awaitable[tuple[Running, ScriptedUpstream]]]


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Begin]:
    """`await begin(protocol, script, …)`: a gateway with one upstream that plays these scripts, one per request."""
    async with AsyncExitStack() as stack:

        async def start(
            protocol: str,
            *scripts: Script,
            model: str = "target",
            prefix: str = "",
            upstream: str = 'credential = "env:KEY"\n',
            environ: dict[str, str] | None = None,
            judge: Any = None,
            **more: str,
        ) -> tuple[Running, ScriptedUpstream]:
            fake = ScriptedUpstream(list(scripts))
            await fake.start()
            stack.push_async_callback(fake.stop)
            text = settings(
                row(protocol, base(fake) + prefix, more=upstream),
                targets=f'[{{ upstream = "up", model = "{model}" }}]',
                **more,
            )
            environ = {"KEY": "sk-secret", **(environ or {})}
            return await stack.enter_async_context(gateway(tmp_path, text, environ, judge)), fake

        yield start
