"""Issued keys at a gateway that runs: created, used, bounded, revoked; and what happens while the store is out."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.billing.serving import ASK, ON, Accounted, accounted
from tests.support.postgres import Postgres
from tests.support.process import COMMAND
from tests.support.raw import Wire, connect, request

LOCKED = "auth = true"


async def command(gateway: Accounted, folder: Path, *words: str) -> str:
    """Runs `antiphon key` with the gateway's own settings. -> its stdout"""
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "key", words[0], "-c", str(folder / "antiphon.toml"), *words[1:]),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **ON},
    )
    out, said = await process.communicate()
    assert process.returncode == 0, said
    return out.decode()


async def within(seconds: float, holds: Callable[[], Awaitable[bool]]) -> None:
    """For what other processes do and tell nobody. Generous: machines are busy."""
    async with asyncio.timeout(10 * seconds):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.3)  # a few questions: wrong keys are slowed


async def all_say(gateway: Accounted, key: str, status: int) -> bool:
    """Both workers: each connection is either's."""
    return {answer.status for answer in await asyncio.gather(*(gateway.post(key) for _ in range(4)))} == {status}


async def ask_again(wire: Wire, asked: bytes) -> int:
    await wire.send(asked)
    return (await wire.answer()).status


async def test_a_key_from_its_creation_to_its_end(tmp_path: Path) -> None:
    async with accounted(tmp_path, server=LOCKED) as gateway:
        created = await command(gateway, tmp_path, "create", "--name", "app", "--model", "m*", "--dialect", "skytells")
        key, *rest = created.splitlines()
        assert key.startswith("ak-")
        assert rest == []

        await within(1.0, lambda: all_say(gateway, key, 200))
        wrong = await gateway.post("ak-" + "x" * 43)
        assert (wrong.status, wrong.json["error"]["code"]) == (401, "invalid_api_key")
        assert (await gateway.post()).status == 401
        await sees_its_models_only(gateway, key)
        kept = await connect(gateway.port)
        asked = request("POST", "/v1/chat/completions", json.dumps(ASK).encode(), {"authorization": f"Bearer {key}"})
        assert [await ask_again(kept, asked) for _ in range(4)] == [200] * 4
        await command(gateway, tmp_path, "revoke", "app")

        await within(1.0, lambda: all_say(gateway, key, 401))
        assert await ask_again(kept, asked) == 401  # though its head is known
        kept.close()
        assert key.encode() not in (tmp_path / "error.log").read_bytes()


async def sees_its_models_only(gateway: Accounted, key: str) -> None:
    refused = await gateway.post(key, model="other")
    assert refused.status == 403
    assert refused.json["error"]["type"] == "permission_error"
    assert refused.json["error"]["error_id"] == "FORBIDDEN"  # in the key's dialect
    assert [model["id"] for model in (await gateway.get("/v1/models", key)).json["data"]] == ["m"]
    assert (await gateway.get("/v1/models/other", key)).status == 404


async def test_the_store_is_out(postgres: Postgres, tmp_path: Path) -> None:
    """Known keys go on; of unknown ones nobody can say that they are wrong [store-outage]."""
    async with accounted(tmp_path, store=postgres.database(), server=LOCKED) as gateway:
        key = (await command(gateway, tmp_path, "create", "--name", "app")).strip()

        await within(1.0, lambda: all_say(gateway, key, 200))
        postgres.stop()
        try:
            unknown = "ak-" + "y" * 43

            await within(6.0, lambda: all_say(gateway, unknown, 503))
            refused = await gateway.post(unknown)
            assert refused.status == 503
            assert refused.headers["retry-after"] == "1"
            assert refused.json["error"]["code"] == "keys_unavailable"
            assert (await gateway.post(key)).status == 200
            assert (await gateway.get("/readyz")).status == 200
        finally:
            postgres.start()

        async def is_back() -> bool:
            return (await gateway.post(unknown)).status == 401

        await within(5.0, is_back)
