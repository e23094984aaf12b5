"""Bodies that are small to send and large to parse are refused before they are parsed; large honest ones pass."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import json_answer, sse
from tests.support.gateway import gateway, to_one
from tests.support.process import until
from tests.support.raw import Answer, call, connect, request
from tests.support.shapes import completion, hello
from tests.turns.conftest import Start

SIZE = 8 * 1024 * 1024
HEAD = b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"x":'
ENDPOINTS = {
    "/v1/chat/completions": HEAD,
    "/v1/completions": b'{"model":"m","prompt":"Hello","x":',
    "/v1/embeddings": b'{"model":"m","input":"Hello","x":',
    "/v1/moderations": b'{"input":"Hello","x":',
}


def many(item: bytes, size: int = SIZE) -> bytes:
    return b"[" + b",".join([item] * (size // (len(item) + 1))) + b"]"


HOSTILE = {
    "arrays": many(b"[]"),
    "objects": many(b"{}"),
    "strings": many(b'""'),
    "numbers": many(b"1"),
    "extreme decimals": many(b"5e-324", 100_000),
    "long numbers": many(b"1" * 4000),
    "names": b"{" + b",".join(b'"k%d":0' % index for index in range(400_000)) + b"}",
    "escapes": b'"' + b"\\n" * (SIZE // 2 + 1000) + b'"',
    "never closed": many(b"1")[:-1],
}


async def ask(port: int, body: bytes, path: str = "/v1/chat/completions") -> Answer:
    return await call(port, "POST", path, body=body)


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("depth", [250, 900, 5_000, 400_000])
async def test_deep_bodies_are_refused_everywhere(tmp_path: Path, path: str, depth: int) -> None:
    async with gateway(tmp_path, to_one("http://127.0.0.1:9/v1")) as running:
        for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
            body = ENDPOINTS[path] + opened * depth + b"1" + closed * depth + b"}"
            answer = await ask(running.port, body, path)
            assert answer.status == 400
            assert answer.json["error"]["code"] == "json_too_deep"
            assert "200 levels" in answer.json["error"]["message"]


@pytest.mark.parametrize("kind", HOSTILE)
async def test_too_many_values_are_refused(tmp_path: Path, kind: str) -> None:
    async with gateway(tmp_path, to_one("http://127.0.0.1:9/v1")) as running:
        for path, head in ENDPOINTS.items():
            answer = await ask(running.port, head + HOSTILE[kind] + b"}", path)
            assert answer.status == 400, path
            assert answer.json["error"]["code"] == "json_too_many_values", path


async def test_the_bounds_are_settings(tmp_path: Path) -> None:
    settings = to_one("http://127.0.0.1:9/v1", server="max_json_depth = 10\nmax_json_values = 20000")
    async with gateway(tmp_path, settings) as running:
        deep = await ask(running.port, HEAD + b"[" * 10 + b"]" * 10 + b"}")
        assert deep.json["error"]["code"] == "json_too_deep"
        large = await ask(running.port, HEAD + many(b"1", 50_000) + b"}")
        assert large.json["error"]["code"] == "json_too_many_values"


LARGE: dict[str, Any] = {
    "a picture": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 1_200_000}}],
    "prose": "It was the best of times, it was the worst of times: [1], {2}.\n" * 150_000,
    "code": 'if (a["b"] == \'\\n\') { return [1e300, "\\u00e9", {}]; }\n' * 150_000,
    "another language": "\u6d77\u306f\u5e83\u3044\u3001\u3068\u5f7c\u306f\u8a00\u3063\u305f\u3002" * 80_000,
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("stream", [False, True])
async def test_large_honest_requests_pass(start: Start, kind: str, stream: bool) -> None:
    running, upstream = await start(*([sse(*hello())] if stream else [json_answer(completion())]))
    document = {"model": "m", "messages": [{"role": "user", "content": LARGE[kind]}], "stream": stream}
    answer = await ask(running.port, json.dumps(document).encode())
    assert answer.status == 200
    assert upstream.requests[0].document["messages"] == document["messages"]


async def test_others_are_served_while_a_body_is_measured(tmp_path: Path) -> None:
    async with gateway(tmp_path, to_one("http://127.0.0.1:9/v1")) as running:
        large = [asyncio.create_task(ask(running.port, HEAD + HOSTILE["names"] + b"}")) for _ in range(4)]
        assert (await running.get("/healthz")).status == 200
        assert [answer.status for answer in await asyncio.gather(*large)] == [400] * 4


async def test_a_client_that_leaves_meanwhile_leaves_an_entry(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    async with gateway(tmp_path, to_one("http://127.0.0.1:9/v1", access_log=str(log))) as running:
        body = HEAD + b'"' + b"a" * SIZE + b'"}'
        wire = await connect(running.port)
        await wire.send(request("POST", "/v1/chat/completions", body))
        wire.reset()
        await until(lambda: log.exists() and bool(log.read_text()))
    [entry] = [json.loads(line) for line in log.read_text().splitlines()]
    assert entry["status"] in (499, 502)
