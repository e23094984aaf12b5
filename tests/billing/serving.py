"""A gateway with accounts: `antiphon serve` as a process, its own state folder, an upstream that answers for ever."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from antiphon.accounts.stores.contract import Store
from antiphon.accounts.stores.urls import store_for
from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, json_answer
from tests.support.gateway import to_one
from tests.support.process import Process, serving
from tests.support.raw import Answer, call
from tests.support.shapes import completion

ASK = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
ON = {"ANTIPHON_ACCOUNTS__ENABLED": "true"}  # tests/conftest.py turns accounts off
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class Accounted:
    """A gateway that runs."""

    def __init__(self, process: Process, upstream: ScriptedUpstream, store: str) -> None:
        self.process, self.upstream, self.store = process, upstream, store

    @property
    def port(self) -> int:
        return self.process.port

    async def post(self, key: str | None = None, headers: dict[str, str] | None = None, **ask: Any) -> Answer:
        return await call(self.port, "POST", "/v1/chat/completions", {**ASK, **ask}, headers=_headers(key, headers))

    async def get(self, path: str, key: str | None = None) -> Answer:
        return await call(self.port, "GET", path, headers=_headers(key))

    def child(self, what: Callable[[int], bool]) -> int:
        return next(pid for pid in self.process.children() if what(pid))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        store = store_for(self.store)
        await store.open()
        try:
            yield store
        finally:
            await store.close()


def _headers(key: str | None, more: dict[str, str] | None = None) -> dict[str, str]:
    return {**({} if key is None else {"authorization": f"Bearer {key}"}), **(more or {})}


@asynccontextmanager
async def accounted(
    folder: Path,
    *,
    store: str | None = None,
    server: str = "",
    accounts: str = "",
    more: str = "",
    script: Callable[[Received], Script] | None = None,
    environ: dict[str, str] | None = None,
) -> AsyncIterator[Accounted]:
    """`store`: its URL; None: a SQLite file in `folder`."""
    url = store or f"sqlite:///{folder}/accounts.db"
    upstream = ScriptedUpstream(script or (lambda received: json_answer(completion(usage=USAGE))))
    told = f"[accounts]\nstore = {json.dumps(url)}\nstate = {json.dumps(str(folder / 'state'))}\n{accounts}\n"
    text = to_one(
        await upstream.start(),
        server=f"workers = 2\n{server}",
        more=f"{told}{more}\n[safety]\nenabled = false\n",
        error_log=str(folder / "error.log"),
    )
    variables = {**ON, **(environ or {})}
    try:
        async with serving(folder, text, environ=variables) as process:
            await process.ready()
            yield Accounted(process, upstream, url)
    finally:
        await upstream.stop()
