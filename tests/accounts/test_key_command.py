"""`antiphon key`: what it prints and where, what it keeps, what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.accounts.keys import KeyRecord, digest_of
from antiphon.accounts.stores.contract import AuditNote
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.cli import main
from antiphon.settings.schema import MEASURES
from tests.support.postgres import Postgres

KEY = re.compile(r"ak-[0-9A-Za-z]{43}\n")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTIPHON_ACCOUNTS__ENABLED")  # tests/conftest.py turns accounts off
    (tmp_path / "a.toml").write_text('[accounts]\nstore = "sqlite:///data/accounts.db"\n')
    return tmp_path


class Terminal:
    def __init__(self, capsys: pytest.CaptureFixture[str], file: str = "a.toml") -> None:
        self.capsys = capsys
        self.file = file
        self.err = ""

    def run(self, *words: str, status: int = 0) -> str:
        try:
            ended = main(["key", *words, "-c", self.file])
        except SystemExit as exit:
            ended = int(str(exit.code))
        out, self.err = self.capsys.readouterr()
        assert ended == status, self.err
        return out

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(capsys)


def find(secret: str, path: str = "data/accounts.db") -> KeyRecord | None:
    async def look() -> KeyRecord | None:
        store = open_sqlite(path)
        await store.open()
        try:
            return await store.keys.find(digest_of(secret.strip().encode()))
        finally:
            await store.close()

    return asyncio.run(look())


def notes(path: str = "data/accounts.db") -> list[AuditNote]:
    async def look() -> list[AuditNote]:
        store = open_sqlite(path)
        await store.open()
        try:
            return [note for _, note in await store.keys.notes()]
        finally:
            await store.close()

    return asyncio.run(look())


def test_the_key_stands_alone_on_stdout_and_is_kept_as_a_digest(terminal: Terminal, folder: Path) -> None:
    out = terminal.run("create", "--name", "app")
    assert KEY.fullmatch(out)
    assert 'created the key "app" (key_' in terminal.err
    assert out.strip() not in terminal.err
    found = find(out)
    assert found is not None
    assert found.key.name == "app"
    for file in (folder / "data").iterdir():
        assert out.strip().encode() not in file.read_bytes()
    assert terminal.run("create", "--name", "other") != out


def test_everything_that_a_key_may_have(terminal: Terminal) -> None:
    out = terminal.run(
        *("create", "--name", "app", "--owner", "ana@example.org", "--team", "ml", "--label", "env=prod"),
        *("--label", "cost=4=2", "--expires", "2099-12-31", "--model", "gpt-*", "--model", "small"),
        *("--dialect", "maritaca", "--strict", "--no-receipts", "--limit", "requests_per_minute=60"),
        *("--limit", "output_tokens_per_minute=1000", "--budget", "month=99.50", "--budget", "day=0.000001"),
        *("--safety-mode", "filter", "--safety-preset", "strict"),
    )
    found = find(out)
    assert found is not None
    key = found.key
    assert (key.owner, key.team, key.dialect, key.strict, key.receipts) == (
        "ana@example.org",
        "ml",
        "maritaca",
        True,
        False,
    )
    assert key.labels == {"env": "prod", "cost": "4=2"}
    assert key.expires == 4_102_358_400_000_000
    assert key.models == ("gpt-*", "small")
    assert key.limits == {"requests_per_minute": 60, "output_tokens_per_minute": 1000}
    assert key.budget == {"month": 99_500_000, "day": 1}
    assert key.safety == {"mode": "filter", "preset": "strict"}
    shown = terminal.run("show", "app")
    for words in (
        "ana@example.org",
        "env=prod",
        "gpt-*, small",
        "2099-12-31T00:00:00Z",
        "month=99.500000",
        "live",
        out.strip()[-4:],
    ):
        assert words in shown
    assert out.strip() not in shown


def test_json_for_programs(terminal: Terminal) -> None:
    made = terminal.json("create", "--name", "app", "--expires", "30d")
    assert set(made) == {"id", "name", "key"}
    shown = terminal.json("show", made["id"])
    assert (shown["name"], shown["state"], shown["models"]) == ("app", "live", None)
    assert [secret["hint"] for secret in shown["secrets"]] == [made["key"][-4:]]
    assert "digest" not in json.dumps(shown)
    assert terminal.json("list") == [shown]
    terminal.run("revoke", "app")
    assert terminal.json("list") == []
    assert [row["state"] for row in terminal.json("list", "--all")] == ["revoked"]


def test_rotation_with_overlap(terminal: Terminal) -> None:
    old = terminal.run("create", "--name", "app")
    new = terminal.run("rotate", "app", "--overlap", "2h")
    assert KEY.fullmatch(new)
    before, after = find(old), find(new)
    assert before is not None
    assert before == after
    ends = {secret.hint: secret.expires for secret in before.secrets}
    assert ends[new.strip()[-4:]] is None
    assert ends[old.strip()[-4:]] == before.secrets[0].created + 7_200_000_000
    newest = terminal.run("rotate", before.key.id, "--overlap", "0")
    found = find(newest)
    assert found is not None
    assert [secret.is_live(found.secrets[0].created) for secret in found.secrets] == [True, False, False]
    assert [note.action for note in notes()] == ["key.create", "key.rotate", "key.rotate"]
    assert all(note.actor.startswith("cli:") for note in notes())


def test_revocation(terminal: Terminal) -> None:
    secret = terminal.run("create", "--name", "app")
    assert terminal.run("revoke", "app") == ""
    assert 'revoked the key "app"' in terminal.err
    found = find(secret)
    assert found is not None
    assert found.key.revoked is not None
    terminal.run("revoke", "app")  # once more changes nothing
    assert [note.action for note in notes()] == ["key.create", "key.revoke"]
    terminal.run("rotate", "app", status=1)
    assert "is revoked" in terminal.err
    assert KEY.fullmatch(terminal.run("create", "--name", "app"))


def test_a_list_for_people(terminal: Terminal) -> None:
    assert terminal.run("list").split() == ["ID", "NAME", "OWNER", "TEAM", "CREATED", "EXPIRES", "STATE", "SECRET"]
    for name in ("b", "世界", "a"):
        terminal.run("create", "--name", name, "--team", "ml")
    lines = terminal.run("list").splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["b", "世界", "a"]


REFUSED = [
    (("create",), 2, "--name"),
    (("create", "--name", ""), 2, "1 to 256 characters"),
    (("create", "--name", "a\x1b[0m"), 2, "can be printed"),
    (("create", "--name", "x" * 257), 2, "1 to 256 characters"),
    (("create", "--name", "a", "--label", "x"), 2, "NAME=VALUE"),
    (("create", "--name", "a", "--limit", "rpm=5"), 2, "requests_per_minute"),
    (("create", "--name", "a", "--limit", "requests_per_minute=0"), 2, "from 1"),
    (("create", "--name", "a", "--limit", "requests_per_minute=²"), 2, "from 1"),
    (("create", "--name", "a", "--budget", "year=5"), 2, "day, month, total"),
    (("create", "--name", "a", "--budget", "day=0.0000001"), 2, "6 decimals"),
    (("create", "--name", "a", "--budget", "day=nan"), 2, "6 decimals"),
    (("create", "--name", "a", "--budget", "day=-5"), 2, "6 decimals"),
    (("create", "--name", "a", "--expires", "tomorrow"), 2, "neither a span"),
    (("create", "--name", "a", "--expires", "2000-01-01"), 1, "expired already"),
    (("create", "--name", "a", "--dialect", "french"), 2, "invalid choice"),
    (("show", "nobody"), 1, "there is no key 'nobody'"),
    (("rotate", "nobody"), 1, "there is no key 'nobody'"),
    (("revoke", "nobody"), 1, "there is no key 'nobody'"),
    (("rotate", "a", "--overlap", "5 years"), 2, "no span of time"),
    ((), 2, "VERB"),
]


@pytest.mark.parametrize(("words", "status", "said"), REFUSED)
def test_what_is_refused(terminal: Terminal, words: tuple[str, ...], status: int, said: str) -> None:
    assert terminal.run(*words, status=status) == ""
    assert said in terminal.err
    assert "Traceback" not in terminal.err


def test_a_name_that_is_taken(terminal: Terminal) -> None:
    terminal.run("create", "--name", "app")
    assert terminal.run("create", "--name", "app", status=1) == ""
    assert terminal.err == "antiphon: there is a key named 'app'\n"


def test_stores_that_cannot_be_used(terminal: Terminal, folder: Path) -> None:
    (folder / "memory.toml").write_text('[accounts]\nstore = "memory:"\n')
    terminal.file = "memory.toml"
    terminal.run("list", status=1)
    assert "memory:" in terminal.err
    (folder / "away.toml").write_text('[accounts]\nstore = "postgresql://me:hunter2@127.0.0.1:1/db"\n')
    terminal.file = "away.toml"
    terminal.run("list", status=1)
    assert terminal.err.startswith("antiphon: PostgreSQL: ")
    assert "hunter2" not in terminal.err
    (folder / "file").write_text("no database")
    (folder / "file.toml").write_text('[accounts]\nstore = "sqlite:///file"\n')
    terminal.file = "file.toml"
    terminal.run("list", status=1)
    assert terminal.err == "antiphon: SQLite: file is not a database\n"


def test_without_a_setting_the_file_lies_in_the_users_data(
    terminal: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "share"))
    (folder / "empty.toml").write_text("")
    terminal.file = "empty.toml"
    secret = terminal.run("create", "--name", "app")
    assert find(secret, str(folder / "share/antiphon/accounts.db")) is not None
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(folder))
    terminal.run("create", "--name", "app")
    assert (folder / ".local/share/antiphon/accounts.db").exists()


def test_with_postgres_as_a_process(postgres: Postgres, folder: Path) -> None:
    (folder / "pg.toml").write_text(f'[accounts]\nstore = "{postgres.database()}"\n')
    command = [sys.executable, "-m", "antiphon", "key"]
    made = subprocess.run(
        [*command, "create", "-c", "pg.toml", "--name", "app"], check=True, capture_output=True, text=True
    )
    assert KEY.fullmatch(made.stdout)
    listed = subprocess.run([*command, "list", "-c", "pg.toml"], check=True, capture_output=True, text=True)
    assert "app" in listed.stdout
    assert made.stdout.strip() not in listed.stdout


def test_while_another_process_reads_the_file(terminal: Terminal, folder: Path) -> None:
    terminal.run("create", "--name", "a")
    reader = sqlite3.connect(folder / "data/accounts.db", isolation_level=None)
    reader.execute("begin")
    reader.execute("select * from keys").fetchall()
    terminal.run("create", "--name", "b")
    reader.close()


@pytest.mark.parametrize(
    "amount", ["1e999999", "1e999999999", "-1e999999999", "1e-999999999", "Infinity", "sNaN", "9e9"]
)
def test_no_amount_is_a_traceback(terminal: Terminal, amount: str) -> None:
    terminal.run("create", "--name", "a", f"--budget=day={amount}", status=2)
    assert "must be an amount" in terminal.err


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "concurrent=5", "--limit", "concurrent=6"),
        ("--budget", "day=5", "--budget", "day=6"),
        ("--label", "a=5", "--label", "a=6"),
    ],
)
def test_what_is_said_twice_is_refused(terminal: Terminal, words: tuple[str, ...]) -> None:
    terminal.run("create", "--name", "a", *words, status=1)
    assert f"{words[0]} {words[1].partition('=')[0]} is given twice" in terminal.err
    assert terminal.json("list") == []


def test_limits_are_named_as_in_the_settings(terminal: Terminal) -> None:
    given = {name: 7 for name in MEASURES if name != "budget"}
    terminal.run("create", "--name", "a", *(f"--limit={name}={value}" for name, value in given.items()))
    assert terminal.json("show", "a")["limits"] == given
