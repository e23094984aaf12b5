"""`antiphon import litellm --database`: LiteLLM's keys, teams and spend, out of a real PostgreSQL with its tables."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from antiphon.accounts.keys import Key, KeyRecord, digest_of
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.cli import main
from tests.support.postgres import Postgres, running

SCHEMA = (Path(__file__).parent / "litellm_schema.sql").read_text()
SECRETS = {name: f"sk-{name}-Vm9uIExpdGVMTE0" for name in ("app", "batch", "blocked", "old", "plain", "rotated")}
TOKENS = {name: sha256(secret.encode()).hexdigest() for name, secret in SECRETS.items()}
ROWS = f"""
insert into "LiteLLM_BudgetTable" (budget_id, max_budget, budget_duration, rpm_limit) values ('b1', 7.25, '1d', 30);
insert into "LiteLLM_TeamTable" (team_id, team_alias, models, max_budget, budget_duration, tpm_limit) values
    ('t1', 'research', '{{gpt-4o,claude}}', 500, '30d', 200000), ('t2', null, '{{}}', null, null, null);
insert into "LiteLLM_UserTable" (user_id, user_email, max_budget, budget_duration, rpm_limit) values
    ('u1', 'ana@example.org', 10, '7d', 20), ('u2', null, null, null, null);
insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, models, user_id, team_id, tpm_limit, rpm_limit,
    max_parallel_requests, max_budget, spend, budget_id, blocked, expires, model_max_budget) values
    ('{TOKENS["app"]}', 'sk-...TE0', 'app', '{{all-team-models}}', 'u1', 't1', 1000, 60, 5, 20, 12.5, null, false,
        '2099-01-01', '{{"gpt-4o": 1}}'),
    ('{TOKENS["batch"]}', 'sk-...TE0', 'app', '{{gpt-*}}', null, 't2', null, null, null, null, 0, 'b1', null, null,
        '{{}}'),
    ('{TOKENS["blocked"]}', null, 'gone', '{{}}', null, null, null, null, null, null, 0, null, true, null, '{{}}'),
    ('{TOKENS["old"]}', null, 'expired', '{{}}', null, null, null, null, null, null, 0, null, null, '2020-01-01',
        '{{}}'),
    ('{TOKENS["plain"]}', null, null, '{{}}', null, null, null, null, null, null, 0, null, null, null, '{{}}');
insert into "LiteLLM_DeprecatedVerificationToken" values
    ('d1', '{TOKENS["rotated"]}', '{TOKENS["plain"]}', '2099-06-01');
insert into "LiteLLM_ProxyModelTable" values ('m1', 'added', '{{}}');
insert into "LiteLLM_DailyUserSpend" (id, user_id, date, api_key, model, model_group, custom_llm_provider,
    prompt_tokens, completion_tokens, cache_read_input_tokens, spend, api_requests) values
    ('1', 'u1', '2026-01-05', '{TOKENS["app"]}', 'gpt-4o-2024-08-06', 'gpt-4o', 'azure', 1000, 200, 300, 0.0045, 10),
    ('2', 'u2', '2026-01-05', '{TOKENS["app"]}', 'gpt-4o-2024-08-06', 'gpt-4o', 'azure', 500, 100, 0, 0.00225, 5),
    ('3', 'u1', '2026-01-06', 'litellm_proxy_master_key', 'claude', 'claude', 'anthropic', 10, 20, 0, 0.0003, 1),
    ('4', 'u1', '2099-01-06', '{TOKENS["app"]}', 'claude', 'claude', 'anthropic', 10, 20, 0, 0.0003, 1);
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: Postgres) -> str:
    """With a parameter that Prisma reads, as LiteLLM's own URL often has."""
    url = postgres.database()

    async def fill() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(SCHEMA + ROWS)
        await connection.close()

    asyncio.run(fill())
    return url + "&connection_limit=10"


class Imported:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        (folder / "config.yaml").write_text("model_list: [{model_name: m, litellm_params: {model: ollama/m}}]\n")

    def run(self, database: str, status: int = 0) -> str:
        words = ["import", "litellm", "config.yaml", "-o", "a.toml", "--force", "--database", database]
        assert main([*words, "--store", "sqlite:///accounts.db"]) == status
        return self.capsys.readouterr().err

    def usage(self, *words: str) -> list[dict[str, Any]]:
        assert main(["usage", "-c", "a.toml", "--json", "--since", "2026-01-01", *words]) == 0
        rows: list[dict[str, Any]] = json.loads(self.capsys.readouterr().out)["rows"]
        return rows

    def find(self, secret: str) -> KeyRecord | None:
        async def look() -> KeyRecord | None:
            store = open_sqlite("accounts.db")
            await store.open()
            try:
                return await store.keys.find(digest_of(secret.encode()))
            finally:
                await store.close()

        return asyncio.run(look())

    def key(self, name: str) -> Key:
        found = self.find(SECRETS[name])
        assert found is not None
        return found.key


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Imported:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTIPHON_ACCOUNTS__ENABLED", raising=False)  # which tests/conftest.py turns off
    return Imported(tmp_path, capsys)


def test_keys_go_on_working_with_their_limits(imported: Imported, database: str) -> None:
    said = imported.run(database)
    app = imported.key("app")
    assert (app.name, app.owner, app.team) == ("app", "ana@example.org", "research")
    assert app.models == ("gpt-4o", "claude")
    assert app.limits == {"requests_per_minute": 60, "tokens_per_minute": 1000, "concurrent": 5}
    assert app.budget == {"total": 7_500_000}  # what is left of 20
    assert app.expires == 4_070_908_800_000_000
    batch = imported.key("batch")
    assert batch.name == f"app ({TOKENS['batch'][:8]})"  # LiteLLM takes one name twice
    assert (batch.team, batch.models, batch.budget, batch.limits) == (
        "t2",
        ("gpt-*",),
        {"day": 7_250_000},
        {"requests_per_minute": 30},
    )
    assert imported.find(SECRETS["blocked"]) is None
    assert imported.find(SECRETS["old"]) is None
    for words in (
        "'gone': it is blocked",
        "'expired': it is expired",
        "'app': model_max_budget",
        "1 rows of LiteLLM_Pro",
    ):
        assert words in said
    assert "3 of 5 keys were brought" in said
    for secret in SECRETS.values():
        assert secret not in said


def test_a_key_that_was_rotated_has_both_secrets(imported: Imported, database: str) -> None:
    imported.run(database)
    new, old = imported.find(SECRETS["plain"]), imported.find(SECRETS["rotated"])
    assert new is not None
    assert new == old
    assert {secret.digest.hex(): secret.expires for secret in new.secrets} == {
        TOKENS["plain"]: None,
        TOKENS["rotated"]: 4_083_955_200_000_000,
    }


def test_teams_and_users_become_limits_and_check_takes_the_file(imported: Imported, database: str) -> None:
    said = imported.run(database)
    document = tomllib.loads((imported.folder / "a.toml").read_text())
    assert document["limit"] == [
        {"name": "team research", "teams": ["research"], "tokens_per_minute": 200_000, "budget": {"month": 500}},
        {"name": "user u1", "labels": {"user": "u1"}, "requests_per_minute": 20},
    ]
    assert imported.key("app").labels == {"user": "u1"}
    assert "the user 'u1': a budget for each 7d" in said
    assert document["server"]["auth"] is True
    assert main(["check", "-c", "a.toml"]) == 0


def test_spend_is_in_the_ledger_once(imported: Imported, database: str) -> None:
    imported.run(database)
    before = imported.usage("--by", "day,model")
    assert [(row["day"], row["model"], row["turns"], row["price"]) for row in before] == [
        ("2026-01-05", "gpt-4o", 15, 6750),
        ("2026-01-06", "claude", 1, 300),
    ]
    assert (before[0]["input_tokens"], before[0]["cached_tokens"], before[0]["output_tokens"]) == (1500, 300, 300)
    assert [row["key"] for row in imported.usage("--by", "key")] == ["app", "litellm-litellm_"]
    said = imported.run(database)
    assert "0 of 5 keys were brought" in said
    assert "0 sums of spend were brought" in said
    assert imported.usage("--by", "day,model") == before


def test_databases_that_cannot_be_used(imported: Imported, postgres: Postgres) -> None:
    assert "it has no table LiteLLM_VerificationToken" in imported.run(postgres.database(), status=1)
    said = imported.run("postgresql://me:hunter2@127.0.0.1:1/x", status=1)
    assert "cannot be reached" in said
    assert "hunter2" not in said
    assert not (imported.folder / "a.toml").exists()
