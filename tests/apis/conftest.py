"""A gateway before two scripted upstreams that keep what they are sent: one speaks as OpenAI, one as Anthropic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from antiphon.upstreams.scripted import Received, ScriptedUpstream
from tests.support.foreign import base
from tests.support.gateway import Running, gateway
from tests.support.raw import Answer, call

Document = dict[str, Any]
KEY = "sk-client-0123456789"
SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "off"
auth = true

[[key]]
name = "client"
secret = "env:KEY"

[[upstream]]
name = "open"
protocol = "openai"
url = "{openai}"

[[upstream]]
name = "claude"
protocol = "anthropic"
url = "{anthropic}"
credential = "env:KEY"

[[route]]
model = "claude/*"
targets = [{{ upstream = "claude" }}]

[[route]]
model = "gpt-4o"
targets = [{{ upstream = "open" }}]

[[route]]
model = "scripted*"
targets = [{{ upstream = "open" }}]
"""


@dataclass(repr=False)
class Api:
    """The gateway, and what its upstreams were sent."""

    running: Running
    sent: list[Received] = field(default_factory=list)

    async def post(
        self, path: str, document: Any = None, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        shown = {"authorization": f"Bearer {KEY}"} if headers is None else headers
        return await call(self.running.port, "POST", path, document, body=body, headers=shown)

    async def get(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Answer:
        shown = {"authorization": f"Bearer {KEY}"} if headers is None else headers
        return await call(self.running.port, method, path, headers=shown)

    async def message(self, headers: dict[str, str] | None = None, **more: Any) -> Answer:
        """POST /v1/messages."""
        asked = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}], **more}
        shown = {"x-api-key": KEY, "anthropic-version": "2023-06-01", **(headers or {})}
        return await self.post("/v1/messages", asked, shown)


class KeepingUpstream(ScriptedUpstream):
    """Answers by itself, and keeps what it is asked."""

    def __init__(self, sent: list[Received], speaks: str) -> None:
        super().__init__(speaks=speaks)
        self._sent = sent

    def _receive(self, request: Received) -> Any:
        self._sent.append(request)
        return super()._receive(request)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    sent: list[Received] = []
    upstreams = {speaks: KeepingUpstream(sent, speaks) for speaks in ("openai", "anthropic")}
    urls = {"openai": await upstreams["openai"].start()}
    await upstreams["anthropic"].start()
    urls["anthropic"] = base(upstreams["anthropic"])
    async with gateway(tmp_path_factory.mktemp("apis"), SETTINGS.format(**urls), {"KEY": KEY}) as running:
        yield Api(running, sent)
    for upstream in upstreams.values():
        await upstream.stop()
