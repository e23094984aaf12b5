"""The admin API of a real gateway, with a real store."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from antiphon.accounts.stores.sqlite import open_sqlite
from tests.support.control import Controlled, controlled
from tests.support.process import PATIENCE
from tests.support.raw import call, connect, request

SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "{log}"
workers = 2
auth = true
[engine]
enabled = false
[safety]
enabled = false
[[upstream]]
name = "up"
protocol = "scripted"
credential = "env:UP"
[[upstream]]
name = "away"
protocol = "openai"
url = "http://127.0.0.1:9/v1"
[[route]]
model = "scripted-*"
targets = [{{ upstream = "up" }}]
[[route]]
model = "away"
targets = [{{ upstream = "away" }}]
[[model]]
name = "scripted-x"
price = {{ input = 3, output = 3 }}
[[key]]
name = "app"
secret = "env:APP"
"""
SECRETS = {"UP": "sk-upstream-secret", "APP": "sk-client-secret"}
ENVIRON = {**SECRETS, "ANTIPHON_ACCOUNTS__ENABLED": "true"}


async def test_the_admin_api(tmp_path: Path) -> None:
    """One gateway for all of it."""
    log = tmp_path / "error.log"
    async with controlled(tmp_path, SETTINGS.format(log=log), ENVIRON) as gateway:
        await refuse_strangers(gateway)
        await manage_keys(gateway)
        await keys_are_in_the_store(tmp_path)
        await refuse_bad_requests(gateway)
        await show_settings(gateway)
        await validate_settings(gateway)
        await show_upstreams(gateway)
        await count_money(gateway)
        await show_turns(gateway)
        await page_through(gateway)
        await describe_itself(gateway)
        digest = (tmp_path / "state" / "antiphon" / "admin-credential").read_text()
        assert gateway.credential not in digest + log.read_text()
        assert "admin: POST /admin/v1/keys from 127.0.0.1" in log.read_text()
    async with controlled(tmp_path, SETTINGS.format(log=log), ENVIRON) as again:
        assert again.credential == ""  # shown once
        assert (await again.admin("GET", "/keys", credential=gateway.credential)).status == 200


async def refuse_strangers(gateway: Controlled) -> None:
    assert gateway.credential.startswith("adm-")
    for credential in ("", "adm-wrong", gateway.credential[:-1]):
        answer = await gateway.admin("GET", "/keys", credential=credential)
        assert (answer.status, answer.json["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert (await gateway.admin("GET", "/keys")).status == 200  # others' tries do not lock the admin out
    basic = {"authorization": f"Basic {gateway.credential}"}
    assert (await call(gateway.control, "GET", "/admin/v1/keys", headers=basic)).status == 401
    assert (await call(gateway.port, "GET", "/admin/v1/keys")).status == 404  # not on the clients' port


async def manage_keys(gateway: Controlled) -> None:
    asked = {"name": "ada", "team": "engines", "models": ["gpt-*"], "budget": {"month": 5_000_000}}
    created = await gateway.admin("POST", "/keys", asked)
    assert created.status == 201
    key = created.json
    assert key["secret"].startswith("ak-")
    await eventually(lambda: is_taken(gateway, key["secret"]))
    assert (key["state"], key["models"], key["budget"]) == ("live", ["gpt-*"], {"month": 5_000_000})
    assert (await gateway.admin("POST", "/keys", asked)).json["error"]["code"] == "name_taken"
    shown = await gateway.admin("GET", "/keys/ada")
    assert shown.json["id"] == key["id"]
    assert "secret" not in shown.json
    rotated = await gateway.admin("POST", "/keys/ada/rotate", {"overlap": 60})
    assert rotated.json["secret"] != key["secret"]
    assert len(rotated.json["secrets"]) == 2
    revoked = await gateway.admin("POST", f"/keys/{key['id']}/revoke")
    assert revoked.json["state"] == "revoked"

    async def is_refused() -> bool:
        return not await is_taken(gateway, key["secret"])

    await eventually(is_refused)
    assert (await gateway.admin("GET", "/keys")).json["rows"] == []
    assert len((await gateway.admin("GET", "/keys?revoked=true")).json["rows"]) == 1
    assert (await gateway.admin("POST", "/keys/ada/rotate")).json["error"]["code"] == "key_revoked"
    assert (await gateway.admin("GET", "/keys/nobody")).status == 404
    notes = (await gateway.admin("GET", "/audit")).json["rows"]
    assert [(note["actor"], note["action"]) for note in notes] == [
        ("admin", "key.create"),
        ("admin", "key.rotate"),
        ("admin", "key.revoke"),
    ]


async def is_taken(gateway: Controlled, secret: str) -> bool:
    """Clients can use it."""
    answer = await call(gateway.port, "GET", "/v1/models", headers={"authorization": f"Bearer {secret}"})
    return answer.status == 200


async def keys_are_in_the_store(tmp_path: Path) -> None:
    """Where `antiphon key` finds them too."""
    store = open_sqlite(str(tmp_path / "data" / "antiphon" / "accounts.db"))
    await store.open()
    try:
        found = await store.keys.find_named("ada")
        assert found is not None
        assert found.key.team == "engines"
    finally:
        await store.close()


async def refuse_bad_requests(gateway: Controlled) -> None:
    bad: list[tuple[object, str | None]] = [
        ({}, None),
        ({"name": 5}, "name"),
        ({"name": " x"}, "name"),
        ({"name": "x", "nmae": "y"}, None),
        ({"name": "x", "limits": {"concurrent": 0}}, "limits.concurrent"),
        ({"name": "x", "expires": 5}, "expires"),
    ]
    for document, param in bad:
        answer = await gateway.admin("POST", "/keys", document)
        assert (answer.status, answer.json["error"].get("param")) == (400, param), answer.body
    assert (await gateway.admin("POST", "/keys", body=b"{")).json["error"]["code"] == "invalid_json"
    assert (await gateway.admin("POST", "/keys", body=b" " * 70_000)).status == 413
    for query in ("limit=0", "limit=x", "after=%%%", "limt=5"):
        assert (await gateway.admin("GET", f"/keys?{query}")).status == 400, query
    for query in ("period=year", "by=day", "since=never", "model=a&team=b", "key=x&by=tag&period=hour"):
        assert (await gateway.admin("GET", f"/usage?{query}")).status == 400, query
    assert (await gateway.admin("DELETE", "/keys")).json["error"]["code"] == "method_not_allowed"
    assert (await gateway.admin("GET", "/nothing")).json["error"]["code"] == "not_found"


async def show_settings(gateway: Controlled) -> None:
    answer = await gateway.admin("GET", "/settings")
    settings = answer.json["settings"]
    assert settings["server"]["workers"] == 2
    assert [row["credential"] for row in settings["upstreams"]] == ["[secret]", None]
    assert settings["keys"][0]["secret"] == "[secret]"
    assert not [secret for secret in SECRETS.values() if secret.encode() in answer.body]


async def validate_settings(gateway: Controlled) -> None:
    good = await gateway.admin("POST", "/settings/validate", body=b'[server]\nlisten = "127.0.0.1:80"\n')
    assert good.json == {"valid": True, "faults": [], "warnings": []}
    bad = await gateway.admin("POST", "/settings/validate", body=b'[server]\nlisten = "here"\nfoo = 1\n')
    assert bad.json["valid"] is False
    assert [fault["where"].rpartition(":")[2] for fault in bad.json["faults"]] == ["2", "3"]
    assert (await gateway.admin("POST", "/settings/validate", body=b"\xff")).json["valid"] is False


async def count_money(gateway: Controlled) -> None:
    """What a turn cost, by the price that the settings say for its model."""

    async def counted() -> bool:
        found = await gateway.samples()
        assert found["antiphon_journal_bytes{}"] >= 0
        return found['antiphon_cost_usd_total{upstream="up"}'] > 0

    await eventually(counted)
    found = await gateway.samples()
    name = 'antiphon_tokens_total{{kind="{}",source="reported",upstream="up"}}'
    tokens = found[name.format("input")] + found[name.format("output")]
    assert found['antiphon_cost_usd_total{upstream="up"}'] == pytest.approx(tokens * 1e-6 * 3)


async def show_upstreams(gateway: Controlled) -> None:
    assert (await gateway.chat(SECRETS["APP"], model="scripted-x")).status == 200
    assert (await gateway.chat(SECRETS["APP"], model="away")).status == 502

    async def seen() -> bool:
        rows = (await gateway.admin("GET", "/upstreams")).json["rows"]
        return [row["health"] for row in rows] == ["healthy", "failing"]

    await eventually(seen)
    rows = (await gateway.admin("GET", "/upstreams")).json["rows"]
    assert rows[0]["attempts"]["answered"] == 1
    processes = (await gateway.admin("GET", "/processes")).json
    times = [processes["started"], rows[0]["last_answer"], rows[1]["last_failure"]]
    assert times == sorted(times), "all in the same form, ISO 8601"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in times)
    kinds = [row["what"] for row in processes["rows"]]
    assert sorted(kinds) == ["accounts process", "control process", "worker", "worker"]


async def show_turns(gateway: Controlled) -> None:
    assert (await gateway.admin("GET", "/turns")).json == {"rows": [], "silent_workers": []}
    wire = await connect(gateway.port)
    ask = {"model": "scripted-stall", "stream": True, "messages": [{"role": "user", "content": "a private word"}]}
    headers = {"authorization": f"Bearer {SECRETS['APP']}"}
    await wire.send(request("POST", "/v1/chat/completions", json.dumps(ask).encode(), headers))
    _, headers = await wire.head()

    async def seen() -> bool:
        answer = await gateway.admin("GET", "/turns")
        assert b"private" not in answer.body
        rows = answer.json["rows"]
        return bool(rows) and rows[0]["first_chunk_seconds"] is not None

    await eventually(seen)
    [row] = (await gateway.admin("GET", "/turns")).json["rows"]
    assert (row["request_id"], row["route"], row["upstream"]) == (headers["x-request-id"], "scripted-*", "up")
    wire.close()

    async def gone() -> bool:
        return not (await gateway.admin("GET", "/turns")).json["rows"]

    await eventually(gone)


async def page_through(gateway: Controlled) -> None:
    for number in range(5):
        assert (await gateway.admin("POST", "/keys", {"name": f"key {number}"})).status == 201
    found: list[str] = []
    after = ""
    while True:
        answer = (await gateway.admin("GET", f"/keys?limit=2{after}")).json
        found += [row["name"] for row in answer["rows"]]
        if answer["next"] is None:
            break
        after = f"&after={answer['next']}"
    assert sorted(found) == [f"key {number}" for number in range(5)]
    assert (await gateway.admin("GET", "/routes?limit=1")).json["rows"][0]["model"] == "scripted-*"
    assert "rows" in (await gateway.admin("GET", "/usage?by=model")).json
    assert "rows" in (await gateway.admin("GET", "/entries?limit=1")).json


async def describe_itself(gateway: Controlled) -> None:
    document = (await call(gateway.control, "GET", "/admin/v1/openapi.json")).json
    assert document["openapi"] == "3.1.0"
    listed = (await gateway.admin("GET", "")).json["paths"]
    assert {f"/admin/v1{path}" for path in document["paths"]} == set(listed)
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))
    assert document["components"]["schemas"]["NewKey"]["required"] == ["name"]


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.02)


async def test_the_credential_can_be_set(tmp_path: Path) -> None:
    """Then none is made. One that cannot be kept is told; the gateway runs on."""
    settings = SETTINGS.format(log="off").replace('[[key]]\nname = "app"\nsecret = "env:APP"\n', "")
    settings = settings.replace("workers = 2\nauth = true", 'admin_secret = "env:ADMIN"')
    async with controlled(tmp_path, settings, {**SECRETS, "ADMIN": "chosen-by-me"}) as gateway:
        assert gateway.credential == ""
        assert (await gateway.admin("GET", "", credential="chosen-by-me")).status == 200
        assert (await gateway.admin("GET", "", credential="other")).status == 401
        assert not list((tmp_path / "state").glob("**/admin-credential"))
