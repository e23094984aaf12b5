"""[[limit]], a key's limits, and what [accounts] says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.limits.limit import Limit
from antiphon.settings import Settings, SettingsError, load
from antiphon.settings.limits import caller_of, limits_of

REST = '[[upstream]]\nname = "a"\nprotocol = "scripted"\n[[route]]\nmodel = "*"\ntargets = [{ upstream = "a" }]\n'


def read(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    file = folder / "antiphon.toml"
    file.write_text(text + REST)
    return load(str(file), environ or {}, ("scripted",))


def refuse(folder: Path, text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(folder, text, environ)
    return [str(fault).replace(f"{folder}/antiphon.toml:", "") for fault in caught.value.faults]


def test_none_are_needed(tmp_path: Path) -> None:
    settings = read(tmp_path, "")
    assert limits_of(settings) == ()
    accounts = settings.accounts
    assert (accounts.reserve_output, accounts.time_zone, accounts.on_counters_failure) == (4096, "UTC", "closed")


def test_a_whole_row(tmp_path: Path) -> None:
    text = """[[limit]]
name = "free tier"
keys = ["alice", "bob"]
teams = ["research"]
labels = { tier = "free" }
models = ["gpt-*"]
per = ["key", "model"]
requests_per_minute = 60
input_tokens_per_minute = 1000
output_tokens_per_minute = 2000
tokens_per_minute = 2500
concurrent = 4
budget = { day = 1.5, month = 20, total = 0.000001 }
"""
    assert limits_of(read(tmp_path, text)) == (
        Limit(
            "free tier", 60, 1000, 2000, 2500, 4, 1_500_000, 20_000_000, 1,
            ("alice", "bob"), ("research",), {"tier": "free"}, ("gpt-*",), ("key", "model"),
        ),
    )  # fmt: skip


def test_a_key_with_limits(tmp_path: Path) -> None:
    text = """[[key]]
name = "alice"
secret = "env:ALICE"
team = "research"
labels = { tier = "free", "cost/center" = "42" }
limits = { tokens_per_minute = 1000, budget = { month = 5 } }
[[key]]
name = "bob"
secret = "env:BOB"
"""
    settings = read(tmp_path, text, {"ALICE": "sk-alice-0123456789", "BOB": "sk-bob-0123456789"})
    alice, bob = map(caller_of, settings.keys)
    assert (alice.key, alice.team, alice.labels) == ("alice", "research", {"tier": "free", "cost/center": "42"})
    assert alice.limits == (Limit("key:alice", tokens_per_minute=1000, month=5_000_000),)
    assert (bob.team, bob.labels, bob.limits) == (None, {}, ())


def test_accounts(tmp_path: Path) -> None:
    text = """[accounts]
counters = "rediss://user:secret@cache.example:6380/2"
on_counters_failure = "open"
reserve_output = 512
on_limit = "run"
time_zone = "Europe/Rome"
"""
    accounts = read(tmp_path, text).accounts
    assert (accounts.on_counters_failure, accounts.reserve_output, accounts.on_limit) == ("open", 512, "run")
    assert accounts.time_zone == "Europe/Rome"
    assert "secret" not in repr(accounts)


def test_variables(tmp_path: Path) -> None:
    text = '[[limit]]\nname = "all"\nconcurrent = 1\n'
    environ = {"ANTIPHON_LIMIT__ALL__CONCURRENT": "7", "ANTIPHON_LIMIT__ALL__BUDGET__DAY": "2.5"}
    (limit,) = limits_of(read(tmp_path, text, environ))
    assert (limit.concurrent, limit.day) == (7, 2_500_000)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("", "1: [[limit]] \"x\": limits nothing"),
        ("budget = {}", "1: [[limit]] \"x\": limits nothing"),
        ("concurrent = 0", "3: [[limit]] \"x\": 'concurrent' must be 1 or more"),
        ("tokens_per_minute = 1.5", "3: [[limit]] \"x\": 'tokens_per_minute' must be an integer, not a number"),
        ("requests_per_minut = 5", "'requests_per_minute'?"),
        ("budget = 5", "3: [[limit]] \"x\": 'budget' must be a table with day, month, total, not an integer"),
        ("budget = { day = 0 }", "3: [[limit]] \"x\": 'budget.day' must be more than 0"),
        ("budget = { day = -1 }", "3: [[limit]] \"x\": 'budget.day' must be more than 0"),
        ("budget = { day = nan }", "3: [[limit]] \"x\": 'budget.day' must be more than 0"),
        ("budget = { day = 0.0000001 }", "3: [[limit]] \"x\": 'budget.day' must not have more than 6 decimals"),
        ("budget = { week = 1 }", "3: [[limit]] \"x\": unknown key 'budget.week'"),
        ('per = ["user"]\nconcurrent = 1', "3: [[limit]] \"x\": 'per[0]' must be one of key, team, model, not 'user'"),
        ('labels = ["a"]\nconcurrent = 1', "3: [[limit]] \"x\": 'labels' must be a table, such as"),
        ('labels = { a = 1 }\nconcurrent = 1', "3: [[limit]] \"x\": 'labels' holds 'a', which must be a string"),
        ('labels = { "a b" = "c" }\nconcurrent = 1', "3: [[limit]] \"x\": 'labels' holds 'a b'; a label's name"),
        ('concurrent = 1\n[[limit]]\nname = "x"\nconcurrent = 2', "5: [[limit]] \"x\": 'name' is taken"),
    ],
)  # fmt: skip
def test_faults(tmp_path: Path, line: str, fault: str) -> None:
    faults = refuse(tmp_path, f'[[limit]]\nname = "x"\n{line}\n')
    assert any(fault.replace("'", "").replace('"', "") in each.replace("'", "").replace('"', "") for each in faults), (
        faults
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('time_zone = "Mars/Olympus"', "'time_zone' must be a time zone"),
        ('time_zone = "../../etc/passwd"', "'time_zone' must be a time zone"),
        ('counters = "http://user:hunter2@host"', "'counters' must begin with redis://, rediss:// or unix://"),
        ('counters = "redis://:hunter2@host:99999"', "'counters' must be a URL"),
        ('counters = "redis://:hunter2@host/zero"', "'counters' must name its database by a number"),
        ('counters = "unix://hunter2"', "'counters' must name an absolute path"),
        ("reserve_output = 0", "'reserve_output' must be 1 or more"),
        ('on_counters_failure = "half"', "'on_counters_failure' must be one of closed, open"),
    ],
)
def test_faults_of_accounts(tmp_path: Path, line: str, fault: str) -> None:
    faults = refuse(tmp_path, f"[accounts]\n{line}\n")
    assert len(faults) == 1
    assert faults[0].startswith("2: [accounts]: ")
    assert fault in faults[0]
    assert "hunter2" not in faults[0]
