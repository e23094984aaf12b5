"""`antiphon serve` behind proxies: what its logs say of clients, over real sockets and real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import stat
from pathlib import Path
from typing import Any

import pytest

from antiphon.upstreams.scripted import ScriptedUpstream, json_answer
from tests.support.gateway import to_one
from tests.support.process import Process, serving
from tests.support.raw import Wire, request
from tests.support.shapes import completion

CERTS = Path(__file__).parent / "http"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello"}]}).encode()
LINE = b"PROXY TCP4 198.51.100.7 192.0.2.1 56324 443\r\n"


async def ask(wire: Wire, path: str = "/v1/chat/completions", headers: dict[str, str] | None = None) -> int:
    await wire.send(request("POST", path, BODY, headers))
    return (await wire.answer()).status


async def stop(gateway: Process) -> None:
    gateway.process.send_signal(signal.SIGTERM)
    await gateway.ended()


def access(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.fixture
async def upstream() -> Any:
    playing = ScriptedUpstream([json_answer(completion())] * 8)
    yield await playing.start()
    await playing.stop()


async def test_a_unix_socket_behind_a_trusted_proxy(tmp_path: Path, upstream: str) -> None:
    path, log = tmp_path / "gw.sock", tmp_path / "access.log"
    text = to_one(upstream, access_log=str(log), server='socket_mode = "0666"\ntrusted_proxies = ["unix"]')
    text = text.replace('"127.0.0.1:0"', json.dumps(f"unix:{path}"))
    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o666
        wire = Wire(*await asyncio.open_unix_connection(str(path)))
        assert await ask(wire, headers={"x-forwarded-for": "1.1.1.1, 203.0.113.9"}) == 200
        assert await ask(wire, headers={"forwarded": 'for="[2001:db8::9]:1"'}) == 200
        assert await ask(wire) == 200
        assert await ask(wire, "/nowhere", {"x-forwarded-for": "203.0.113.10"}) == 404
        await wire.send(b"nonsense\r\n\r\n")
        assert (await wire.answer()).status == 400
        wire.close()
        await stop(gateway)
    assert not path.exists()
    assert [(line["client"], line.get("proxy"), line["status"]) for line in access(log)] == [
        ("203.0.113.9", "unix", 200),
        ("2001:db8::9", "unix", 200),
        ("unix", None, 200),
        ("203.0.113.10", "unix", 404),
        ("unix", None, 400),
    ]


async def test_nobody_is_trusted_by_default(tmp_path: Path, upstream: str) -> None:
    log = tmp_path / "access.log"
    async with serving(tmp_path, to_one(upstream, access_log=str(log))) as gateway:
        await gateway.ready()
        wire = Wire(*await asyncio.open_connection("127.0.0.1", gateway.port))
        assert await ask(wire, headers={"x-forwarded-for": "203.0.113.9", "forwarded": "for=203.0.113.9"}) == 200
        wire.close()
        await stop(gateway)
    (line,) = access(log)
    assert (line["client"], line["method"], line["path"]) == ("127.0.0.1", "POST", "/v1/chat/completions")
    assert "proxy" not in line


async def test_the_proxy_protocol_before_client_certificates(tmp_path: Path, upstream: str) -> None:
    log, errors = tmp_path / "access.log", tmp_path / "error.log"
    tls = f'cert = "{CERTS}/certs_client/server.pem", key = "{CERTS}/certs_client/server.key"'
    server = f'proxy_protocol = true\ntls = {{ {tls}, client_ca = "{CERTS}/certs_mtls/client_ca.pem" }}\nworkers = 2'
    text = to_one(upstream, access_log=str(log), server=server).replace('error_log = "off"', f'error_log = "{errors}"')
    trust = ssl.create_default_context(cafile=str(CERTS / "certs_client" / "ca.pem"))
    trust.load_cert_chain(CERTS / "certs_mtls" / "client.pem", CERTS / "certs_mtls" / "client.key")
    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        port = int(gateway.banner.partition("127.0.0.1:")[2].split("/")[0].split()[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(LINE)
        await writer.start_tls(trust, server_hostname="upstream.test")
        wire = Wire(reader, writer)
        assert await ask(wire) == 200
        wire.close()
        bare = Wire(*await asyncio.open_connection("127.0.0.1", port))
        await bare.send(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await bare.answer()
        bare.close()
        await stop(gateway)
    (line,) = access(log)
    assert (line["client"], line["proxy"], line["status"]) == ("198.51.100.7", "127.0.0.1", 200)
    assert (line["subject"], line["names"]) == (
        "CN=app-7,O=Example\\, Inc.,C=BR",
        "DNS:app-7.example, URI:spiffe://example/app-7",
    )
    (error,) = [json.loads(line) for line in errors.read_text().splitlines()]
    said = "a connection from 127.0.0.1 was closed: it does not begin with a PROXY protocol header"
    assert (error["log"], error["message"]) == ("error", said)
