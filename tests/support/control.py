"""A gateway with a control plane, as a process of its own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.support.process import Process, serving
from tests.support.raw import Answer, call

OPENMETRICS = {"accept": "application/openmetrics-text; version=1.0.0"}


class Controlled:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.port = process.port
        found = re.search(r"control +http://127\.0\.0\.1:(\d+)", process.banner)
        assert found, process.banner
        self.control = int(found[1])
        found = re.search(r"admin +(adm-\S+)", process.banner)
        self.credential = found[1] if found else ""  # shown at the first start alone

    async def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        """From the control port."""
        return await call(self.control, "GET", path, headers=headers)

    async def admin(
        self, method: str, path: str, document: Any = None, *, body: bytes = b"", credential: str | None = None
    ) -> Answer:
        """From the admin API."""
        headers = {"authorization": f"Bearer {self.credential if credential is None else credential}"}
        return await call(self.control, method, f"/admin/v1{path}", document, body=body, headers=headers)

    async def chat(self, key: str = "", /, **ask: Any) -> Answer:
        """From the public port."""
        document = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], **ask}
        headers = {"authorization": f"Bearer {key}"} if key else None
        return await call(self.port, "POST", "/v1/chat/completions", document, headers=headers)

    async def samples(self) -> dict[str, float]:
        """Every sample of /metrics, by its name with its labels in order: `name{a="1",b="2"}`."""
        answer = await self.get("/metrics", OPENMETRICS)
        assert answer.status == 200
        found = {}
        for family in text_string_to_metric_families(answer.body.decode()):  # type: ignore[no-untyped-call]
            for sample in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
                found[f"{sample.name}{{{labels}}}"] = sample.value
        return found


@asynccontextmanager
async def controlled(directory: Path, text: str, environ: Mapping[str, str] = {}) -> AsyncIterator[Controlled]:
    """`text`: settings; the control plane gets a free port."""
    environ = {"ANTIPHON_SERVER__CONTROL": "127.0.0.1:0", **environ}
    environ = {**environ, "XDG_STATE_HOME": str(directory / "state"), "XDG_DATA_HOME": str(directory / "data")}
    async with serving(directory, text, environ=environ) as process:
        await process.ready()
        yield Controlled(process)
