"""The endpoints beside chat on Azure's deployment URLs, and relayed requests with a credential that expires."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from antiphon.credentials import kept
from tests.support.foreign import row, settings
from tests.support.gateway import gateway
from tests.support.raw import call
from tests.support.relay import FORM, Play, RelayUpstream, form

VERSION = "api-version=2024-10-21"
EMBEDDED = b'{"object":"list","model":"d","data":[{"object":"embedding","index":0,"embedding":[0.5]}]}'
TARGET = '[{ upstream = "up", model = "my dep" }]'
ENTRA = 'tenant_id = "t"\nclient_id = "c"\nclient_secret = "env:SECRET"\n'
UPLOAD = form(("model", b"m"), ("file", b"RIFF" * 1000, "a.wav"))


def deployments(upstream: RelayUpstream, name: str = "up", more: str = 'credential = "env:KEY"\n') -> str:
    url = upstream.url.removesuffix("/v1") + "/openai"
    return row("azure-deployments", url, name=name, more='api_version = "2024-10-21"\n' + more)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "target"),
    [
        ("POST", "/embeddings", b'{"model":"m","input":"a"}', {}, "/deployments/my%20dep/embeddings?" + VERSION),
        (
            "POST",
            "/images/generations",
            b'{"model":"m","prompt":"a"}',
            {},
            "/deployments/my%20dep/images/generations?" + VERSION,
        ),
        ("POST", "/audio/transcriptions", UPLOAD, FORM, "/deployments/my%20dep/audio/transcriptions?" + VERSION),
        ("GET", "/files?limit=2", b"", {}, f"/files?{VERSION}&limit=2"),
        ("GET", "/files/file-1/content", b"", {}, f"/files/file-1/content?{VERSION}"),
    ],
)
async def test_a_deployments_other_endpoints_stand_beside_its_chat(
    tmp_path: Path, method: str, path: str, body: bytes, headers: dict[str, str], target: str
) -> None:
    async with RelayUpstream(Play(EMBEDDED)).running() as upstream:
        text = settings(deployments(upstream), targets=TARGET)
        async with gateway(tmp_path, text, {"KEY": "k3y"}) as running:
            answer = await call(running.port, method, "/v1" + path, body=body, headers=headers)
            assert answer.status == 200, answer.body
            [got] = upstream.got
            assert (got.method, got.target, got.headers["api-key"]) == (method, "/openai" + target, "k3y")


async def test_an_upload_goes_with_the_newest_token(tmp_path: Path) -> None:
    async with RelayUpstream(Play(b"{}")).running() as upstream:
        text = settings(deployments(upstream, more=ENTRA), targets=TARGET)
        kept.write(kept.file_of(str(tmp_path), 0), {"token": "eyJ0"}, time.time() + 60)
        async with gateway(tmp_path, text, {"SECRET": "s3cret"}) as running:
            answer = await call(running.port, "POST", "/v1/audio/transcriptions", body=UPLOAD, headers=FORM)
            assert answer.status == 200, answer.body
            assert upstream.got[0].headers["authorization"] == "Bearer eyJ0"
            assert upstream.got[0].headers["content-type"] == FORM["content-type"]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [("/images/generations", b'{"model":"m","prompt":"a"}', {}), ("/audio/transcriptions", UPLOAD, FORM)],
    ids=["json", "upload"],
)
@pytest.mark.parametrize("has_other", [True, False], ids=["failover", "alone"])
async def test_without_a_credential_the_next_target_is_asked(
    tmp_path: Path, path: str, body: bytes, headers: dict[str, str], has_other: bool
) -> None:
    async with RelayUpstream(Play(b'{"ok":1}')).running() as upstream:
        rows = [deployments(upstream, more=ENTRA), deployments(upstream, name="other")]
        other = ', { upstream = "other", model = "o", priority = 1 }' if has_other else ""
        text = settings(*rows, targets='[{ upstream = "up", model = "d" }' + other + "]")
        async with gateway(tmp_path, text, {"SECRET": "s3cret", "KEY": "k3y"}) as running:
            answer = await call(running.port, "POST", "/v1" + path, body=body, headers=headers)
            if has_other:
                assert (answer.status, answer.body) == (200, b'{"ok":1}')
                assert upstream.got[0].target.startswith("/openai/deployments/o/")
            else:
                assert (answer.status, answer.json["error"]["code"]) == (503, "credential_unavailable")
                assert not upstream.got
