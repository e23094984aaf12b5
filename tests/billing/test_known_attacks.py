"""Attacks that other gateways have fallen to, at the port of ours. Each test names whose they were."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, error, json_answer
from tests.billing.serving import Accounted, accounted
from tests.billing.test_issued_keys import within
from tests.support.postgres import Postgres, running
from tests.support.raw import Answer, call
from tests.support.shapes import completion

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEYS = {"KEY_ONE": "sk-the-first-key", "KEY_TWO": "sk-the-second-key", "VENDOR_KEY": "sk-vendor-7f3a9c21d4"}
ONE_WORKER = {**KEYS, "ANTIPHON_SERVER__WORKERS": "1"}
INJECTIONS = (
    "' or '1'='1",
    "' or 1=1 --",
    '"; drop table completions; --',
    "1); select pg_sleep(10); --",
    "') union select secret from secrets --",
    "\\' or 1=1 #",
    "%' or metadata like '%",
)
counter = iter(range(1, 10**6))


def answer(received: Received) -> Script:
    if "leak" in json.dumps(received.document):
        said = f"Incorrect API key provided: {KEYS['VENDOR_KEY']}. Bearer {KEYS['VENDOR_KEY']}"
        return error(401, {"error": {"message": said, "type": "invalid_request_error", "code": "invalid_api_key"}})
    return json_answer(completion("fine", id=f"chatcmpl-{next(counter):029d}"))


class Trap:
    """A server that nobody should ever contact."""

    def __init__(self) -> None:
        self.contacts = 0
        self.url = ""

    async def start(self) -> asyncio.Server:
        async def contacted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.contacts += 1
            writer.close()

        server = await asyncio.start_server(contacted, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trap() -> AsyncIterator[Trap]:
    made = Trap()
    async with await made.start():
        yield made


class Attacked:
    def __init__(self, gateway: Accounted, folder: Path, foreign: dict[str, ScriptedUpstream]) -> None:
        self.gateway = gateway
        self.folder = folder
        self.foreign = foreign

    async def ask(
        self, method: str, path: str, body: Any = None, key: str | None = "KEY_ONE", **headers: str
    ) -> Answer:
        lines = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            lines["authorization"] = f"Bearer {KEYS.get(key, key)}"
        return await call(self.gateway.port, method, path, body, headers=lines)

    async def chat(self, key: str | None = "KEY_ONE", **ask: Any) -> Answer:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], **ask}
        return await self.ask("POST", "/v1/chat/completions", body, key)

    async def stored(self, key: str) -> str:
        made = (await self.chat(key, store=True, metadata={"of": key})).json["id"]

        async def is_there() -> bool:
            return (await self.ask("GET", f"/v1/chat/completions/{made}", key=key)).status == 200

        await within(2.0, is_there)
        return str(made)

    def logged(self) -> str:
        return (self.folder / "error.log").read_text() if (self.folder / "error.log").exists() else ""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(tmp_path_factory: pytest.TempPathFactory, database: Postgres) -> AsyncIterator[Attacked]:
    folder = tmp_path_factory.mktemp("attacked")
    more = "".join(f'[[key]]\nname = "{name[4:].lower()}"\nsecret = "env:{name}"\n' for name in ("KEY_ONE", "KEY_TWO"))
    foreign: dict[str, ScriptedUpstream] = {}
    for protocol in ("anthropic", "gemini", "bedrock", "cohere"):
        foreign[protocol] = ScriptedUpstream(speaks=protocol)
        place = 'region = "us-east-1"\n' if protocol == "bedrock" else ""
        more += (
            f'[[upstream]]\nname = "{protocol}"\nprotocol = "{protocol}"\nurl = "{await foreign[protocol].start()}"\n'
            f'credential = "env:VENDOR_KEY"\n{place}'
            f'[[route]]\nmodel = "{protocol}/*"\ntargets = [{{ upstream = "{protocol}", model = "*" }}]\n'
        )
    azure = ScriptedUpstream(answer)
    more += (
        f'[[upstream]]\nname = "azure"\nprotocol = "azure-deployments"\nurl = "{await azure.start()}"\n'
        'api_version = "2024-10-21"\ncredential = "env:VENDOR_KEY"\n'
        '[[route]]\nmodel = "azure/*"\ntargets = [{ upstream = "azure", model = "*" }]\n'
    )
    foreign["azure"] = azure
    try:
        async with accounted(
            folder, store=database.database(), server="auth = true", more=more, script=answer, environ=ONE_WORKER
        ) as gateway:
            made = Attacked(gateway, folder, foreign)

            async def keys_are_known() -> bool:
                return (await made.chat("sk-nobody")).status == 401

            await within(2.0, keys_are_known)
            yield made
    finally:
        for upstream in foreign.values():
            await upstream.stop()


# LiteLLM, CVE-2026-42208: SQL in the key, before it is known to be one


async def test_sql_in_a_key_is_a_wrong_key(attacked: Attacked) -> None:
    """All at once: each wrong key of one address waits longer for its answer."""
    keys = [key for text in INJECTIONS for key in (text, f"ak-{text}", f"{KEYS['KEY_ONE']}{text}")]
    for refused in await asyncio.gather(*map(attacked.chat, keys)):
        assert (refused.status, refused.json["error"]["code"]) == (401, "invalid_api_key")
        assert not any(text in refused.body.decode() for text in INJECTIONS)
    assert not any(text in attacked.logged() for text in INJECTIONS)
    assert (await attacked.chat()).status == 200


# SQL in the filters, cursors and ids of what is stored; one key at what another stored


@pytest.mark.parametrize("injected", INJECTIONS)
async def test_sql_in_filters_finds_nothing_of_others(attacked: Attacked, injected: str) -> None:
    theirs = await attacked.stored("KEY_TWO")
    said = quote(injected, safe="")
    for query in (f"model={said}", f"metadata[of]={said}", f"metadata[{said}]=x", f"after={said}", f"order={said}"):
        listed = await attacked.ask("GET", f"/v1/chat/completions?{query}")
        assert listed.status in (200, 400)
        assert theirs not in listed.body.decode()
    for path in (said, f"{theirs}{said}", f"{theirs}'--"):
        for method in ("GET", "DELETE"):
            assert (await attacked.ask(method, f"/v1/chat/completions/{path}")).status == 404
    assert (await attacked.chat(store=True, metadata={"note": injected}, user=injected)).status == 200
    assert (await attacked.ask("GET", f"/v1/chat/completions/{theirs}", key="KEY_TWO")).status == 200


async def test_nul_and_broken_text_do_not_stop_the_store(attacked: Attacked) -> None:
    for query in (
        "model=%00",
        "metadata[%00]=x",
        "metadata[a]=%00",
        "after=%00",
        "model=%ff%fe",
        "metadata[]=",
        "%00=1",
    ):
        assert (await attacked.ask("GET", f"/v1/chat/completions?{query}")).status in (200, 400)
    kept = await attacked.chat(store=True, metadata={"a": "\0"}, messages=[{"role": "user", "content": "\0"}])
    assert kept.status == 200
    await attacked.stored("KEY_ONE")  # what came after it was kept


# LiteLLM, CVE-2026-49468: another Host, and administration is open; one-api: root and 123456; new-api's and Bifrost's
# consoles on the port of their clients


ADMIN = (
    *(
        "/key/generate",
        "/key/info",
        "/key/list",
        "/user/new",
        "/team/new",
        "/config/update",
        "/config/yaml",
        "/model/new",
    ),
    *("/spend/logs", "/global/spend", "/health/services", "/openapi.json", "/docs", "/ui/", "/sso/key/generate"),
    *("/prompts/test", "/mcp-rest/test/connection", "/v1/mcp/server", "/utils/transform_request", "/metrics", "/debug"),
    *("/api/user/login", "/api/plugins", "/admin", "/v1/keys", "/v1/usage", "/.env", "/accounts.db"),
)


@pytest.mark.parametrize("path", ADMIN)
async def test_nothing_is_administered_on_the_clients_port(attacked: Attacked, path: str) -> None:
    for method in ("GET", "POST"):
        for host in ("localhost", "127.0.0.1:4000", "internal", "localhost/key/generate?", "x@127.0.0.1"):
            body = {"models": [], "template": "{{7*7}}", "command": "id"} if method == "POST" else None
            assert (await attacked.ask(method, path, body, key=None, host=host)).status in (400, 401, 404, 405)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "169.254.169.254", "admin.internal"])
async def test_no_host_opens_the_door(attacked: Attacked, host: str) -> None:
    forwarded = {"x_forwarded_host": host, "x_forwarded_for": "127.0.0.1", "x_original_url": "/healthz"}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    for path in ("/v1/chat/completions", "//v1/chat/completions", "/v1/../v1/chat/completions"):
        assert (await attacked.ask("POST", path, body, key=None, host=host, **forwarded)).status in (400, 401, 404)


async def test_there_is_no_default_key(attacked: Attacked) -> None:
    keys = ("sk-1234", "root", "123456", "sk-", "Bearer", "null", "admin", "undefined", " ")
    assert {answered.status for answered in await asyncio.gather(*map(attacked.chat, keys))} == {401}


# LiteLLM, GHSA-xqmj-j6mv-4862: templates; and our own, in the paths of upstreams


@pytest.mark.parametrize("text", ["{{7*7}}", "${7*7}", "{0.__class__.__mro__}", "%(x)s", "{model}", "{% raw %}"])
async def test_templates_are_text(attacked: Attacked, text: str) -> None:
    assert (await attacked.chat(messages=[{"role": "user", "content": text}], user=text)).status == 200
    sent = attacked.gateway.upstream.requests[-1].document
    assert (sent["messages"][0]["content"], sent["user"]) == (text, text)
    named = await attacked.chat(model=f"azure/{text}")
    assert named.status in (200, 400)
    if named.status == 200:
        path = attacked.foreign["azure"].requests[-1].path
        assert path.startswith("/v1/deployments/")
        assert "__mro__(" not in path


@pytest.mark.parametrize(
    "model", ["../../secrets", "..%2f..%2fsecrets", "x/../../y", "a?api-key=b", "a#b", "a\r\nx: y", ".", "..", ""]
)
async def test_a_model_stays_inside_its_path(attacked: Attacked, model: str) -> None:
    before = len(attacked.foreign["azure"].requests)
    answered = await attacked.chat(model=f"azure/{model}")
    assert answered.status in (200, 400, 404)
    for request in attacked.foreign["azure"].requests[before:]:
        path, _, query = request.path.partition("?")
        assert path.startswith("/v1/deployments/")
        assert path.endswith("/chat/completions")
        assert not {".", "..", ""} & set(path.split("/")[1:])
        assert path.count("/") == 5
        assert query in ("", "api-version=2024-10-21")


# new-api, CVE-2025-59146, -62155, CVE-2026-42339: pictures fetched from the inside; 9router#797: keys to a URL of the
# client's


@pytest.mark.parametrize(
    "protocol", ["m", "anthropic/claude", "gemini/gemini-2.5-pro", "bedrock/anthropic.claude", "cohere/c"]
)
async def test_no_url_of_a_client_is_fetched(attacked: Attacked, trap: Trap, protocol: str) -> None:
    parts = [
        {"type": "text", "text": f"See {trap.url}/text"},
        {"type": "image_url", "image_url": {"url": f"{trap.url}/picture.png"}},
    ]
    places = {"api_base": trap.url, "base_url": trap.url, "api_key": "x", "endpoint": trap.url, "callback": trap.url}
    for stream in (False, True):
        await attacked.chat(model=protocol, messages=[{"role": "user", "content": parts}], stream=stream, **places)
    await attacked.chat(model=f"{trap.url}/m")
    assert trap.contacts == 0


async def test_no_header_leads_elsewhere(attacked: Attacked, trap: Trap) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {
        "x_antiphon_upstream": trap.url,
        "x_api_base": trap.url,
        "x_forwarded_host": trap.url.removeprefix("http://"),
        "proxy_authorization": "x",
        "x_portkey_custom_host": trap.url,
    }
    assert (await attacked.ask("POST", "/v1/chat/completions", body, **headers)).status == 200
    await attacked.ask("POST", "/v1/images/generations", {"prompt": "x"}, **headers)
    assert trap.contacts == 0


# Secrets in errors and logs


@pytest.mark.parametrize("stream", [False, True])
async def test_a_vendors_words_never_hold_our_credential(attacked: Attacked, stream: bool) -> None:
    for receipt in ({}, {"x_antiphon_receipt": "1"}):
        body = {"model": "m", "messages": [{"role": "user", "content": "leak"}], "stream": stream}
        told = await attacked.ask("POST", "/v1/chat/completions", body, **receipt)
        assert told.status == 502
        assert KEYS["VENDOR_KEY"] not in told.body.decode()
    said = attacked.logged()
    for secret in KEYS.values():
        assert secret not in said


# Paths that leave their folder


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/../../etc/passwd",
        "/v1/models/..%2f..%2fetc%2fpasswd",
        "/v1/chat/completions/../../healthz",
        "/v1/chat/completions/..%2f..",
        "/v1/chat/completions/.",
        "/v1/files/../files",
        "/v1/files/..%2f..%2fetc",
        "/../../../../etc/passwd",
        "/static/../../accounts.db",
    ],
)
async def test_paths_lead_nowhere_else(attacked: Attacked, path: str) -> None:
    before = len(attacked.gateway.upstream.requests)
    for method in ("GET", "DELETE"):
        answered = await attacked.ask(method, path)
        assert answered.status in (400, 404, 405)
        assert b"root:" not in answered.body
    assert len(attacked.gateway.upstream.requests) == before
