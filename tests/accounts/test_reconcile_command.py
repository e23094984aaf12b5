"""`antiphon reconcile`: the ledger against exports of OpenAI and Anthropic, as their APIs and consoles write them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from antiphon.accounts.entry import Record
from antiphon.accounts.stores.contract import Store
from antiphon.accounts.stores.postgres import open_postgres
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.cli import main
from tests.accounts.made import entry
from tests.support.postgres import Postgres

DAY_1, DAY_2 = 1_767_571_200, 1_767_657_600  # 5 and 6 January 2026
GPT = {"model": "gpt-4o-2024-08-06", "upstream": "openai"}
CLAUDE = {"model": "claude-haiku-4-5-20251001", "upstream": "anthropic"}


def posted() -> list[Record]:
    """Two turns of GPT-4o on the first day, one on the second; one of Claude on each."""
    made = [
        entry(1, DAY_1 * 1_000_000 + 5, **GPT, input_tokens=600, cached_tokens=100, output_tokens=50, price=2_000_000),
        entry(2, DAY_1 * 1_000_000 + 9, **GPT, input_tokens=400, cached_tokens=0, output_tokens=150, price=2_500_000),
        entry(3, DAY_2 * 1_000_000 + 5, **GPT, input_tokens=10, output_tokens=20, price=30_000, usage="estimated"),
        entry(4, DAY_1 * 1_000_000 + 5, **CLAUDE, input_tokens=1000, cached_tokens=200, cache_write_tokens=300,
              output_tokens=70, price=1_500_000),
        entry(5, DAY_2 * 1_000_000 + 5, **CLAUDE, input_tokens=100, output_tokens=7, price=20_000),
    ]  # fmt: skip
    return [Record(1, 0, number, one) for number, one in enumerate(made)]


async def fill(store: Store, records: Sequence[Record]) -> None:
    await store.open()
    await store.ledger.post(records)
    await store.close()


def openai_usage(second_day: dict[str, int] | None = None) -> dict[str, Any]:
    def bucket(start: int, **sums: Any) -> dict[str, Any]:
        ids = {"project_id": "proj_a", "user_id": None, "api_key_id": "key_1", "batch": None}
        result = {"object": "organization.usage.completions.result", "model": "gpt-4o-2024-08-06", **ids, **sums}
        return {"object": "bucket", "start_time": start, "end_time": start + 86_400, "results": [result]}

    first = bucket(DAY_1, input_tokens=1000, output_tokens=200, input_cached_tokens=100, num_model_requests=2)
    second = {"input_tokens": 10, "output_tokens": 20, "input_cached_tokens": 0, "num_model_requests": 1}
    data = [first, bucket(DAY_2, **(second_day or second))]
    return {"object": "page", "data": data, "has_more": False, "next_page": None}


OPENAI_COSTS = {
    "object": "page",
    "has_more": False,
    "data": [
        {
            "object": "bucket",
            "start_time": DAY_1,
            "end_time": DAY_2,
            "results": [
                {"amount": {"value": 3.2, "currency": "usd"}, "line_item": "gpt-4o-2024-08-06, input"},
                {"amount": {"value": 1.3000004, "currency": "usd"}, "line_item": "gpt-4o-2024-08-06, output"},
            ],
        },
        {
            "object": "bucket",
            "start_time": DAY_2,
            "end_time": DAY_2 + 86_400,
            "results": [{"amount": {"value": "0.03", "currency": "usd"}, "line_item": "gpt-4o-2024-08-06, output"}],
        },
    ],
}
OPENAI_USAGE_CSV = f"""start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,\
api_key_id,model,batch,input_tokens,output_tokens,input_cached_tokens
{DAY_1 + 60},{DAY_1 + 120},2026-01-05T00:01:00+00:00,,proj_a,1.0,,key_1,gpt-4o-2024-08-06,False,600,50,100
{DAY_1 + 180},{DAY_1 + 240},2026-01-05T00:03:00+00:00,,proj_a,1.0,,key_1,gpt-4o-2024-08-06,False,400,150,0
{DAY_2},{DAY_2 + 60},2026-01-06T00:00:00+00:00,,proj_a,1.0,,key_1,gpt-4o-2024-08-06,False,10,20,
"""
OPENAI_COSTS_CSV = f"""start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id
{DAY_1 - 86_400},{DAY_1},2026-01-04T00:00:00+00:00,2026-01-05T00:00:00+00:00,,,,
{DAY_1},{DAY_2},2026-01-05T00:00:00+00:00,2026-01-06T00:00:00+00:00,4.500000000,usd,"gpt-4o-2024-08-06, input",proj_a
{DAY_2},,2026-01-06T00:00:00+00:00,,0.03,usd,"gpt-4o-2024-08-06, output",proj_a
"""
ANTHROPIC_USAGE = {
    "data": [
        {
            "starting_at": "2026-01-05T00:00:00Z",
            "ending_at": "2026-01-06T00:00:00Z",
            "results": [
                {
                    "uncached_input_tokens": 500,
                    "cache_creation": {"ephemeral_1h_input_tokens": 100, "ephemeral_5m_input_tokens": 200},
                    "cache_read_input_tokens": 200,
                    "output_tokens": 70,
                    "api_key_id": "apikey_1",
                    "workspace_id": "wrkspc_1",
                    "model": "claude-haiku-4-5-20251001",
                    "service_tier": "standard",
                }
            ],
        },
        {
            "starting_at": "2026-01-06T00:00:00Z",
            "ending_at": "2026-01-07T00:00:00Z",
            "results": [
                {"uncached_input_tokens": 100, "output_tokens": 7, "model": "claude-haiku-4-5-20251001"},
            ],
        },
    ],
    "has_more": False,
    "next_page": None,
}
ANTHROPIC_COSTS = {
    "data": [
        {
            "starting_at": "2026-01-05T00:00:00Z",
            "results": [
                {
                    "currency": "USD",
                    "amount": "100",
                    "model": "claude-haiku-4-5-20251001",
                    "token_type": "output_tokens",
                },
                {"currency": "USD", "amount": "50.0001", "model": "claude-haiku-4-5-20251001", "cost_type": "tokens"},
            ],
        },
        {
            "starting_at": "2026-01-06T00:00:00Z",
            "results": [{"currency": "USD", "amount": "2.00", "model": "claude-haiku-4-5-20251001"}],
        },
    ],
    "has_more": False,
}
ANTHROPIC_USAGE_CSV = """usage_date_utc,model_version,api_key,workspace,usage_type,context_window,\
usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,\
usage_input_tokens_cache_read,usage_output_tokens,web_search_count
2026-01-05,claude-haiku-4-5-20251001,app,Default,standard,≤ 200k,500,200,100,200,70,0
2026-01-06,claude-haiku-4-5-20251001,app,Default,standard,≤ 200k,100,0,0,0,7,0
"""
ANTHROPIC_COSTS_CSV = """usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,cost_type
2026-01-05,Claude Haiku 4.5,Default,app,message,≤ 200k,input_no_cache,1.01,token
2026-01-05,Claude Haiku 4.5,Default,app,message,≤ 200k,output,0.50,token
2026-01-06,Claude Haiku 4.5,Default,app,message,≤ 200k,output,0.02,token
"""


class Terminal:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.err = ""

    def run(self, export: object, *words: str, status: int = 0) -> str:
        text = export if isinstance(export, str) else json.dumps(export)
        (self.folder / "export").write_text(text, encoding="utf-8")
        try:
            ended = main(["reconcile", "-c", "a.toml", "export", *words])
        except SystemExit as exit:
            ended = int(str(exit.code))
        out, self.err = self.capsys.readouterr()
        assert ended == status, out + self.err
        return out

    def rows(self, export: object, *words: str, status: int = 0) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.run(export, *words, "--json", status=status))["rows"]
        return rows


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text('[accounts]\nstore = "sqlite:///accounts.db"\n')
    asyncio.run(fill(open_sqlite("accounts.db"), posted()))
    return Terminal(tmp_path, capsys)


EXPORTS = [
    (openai_usage(), "openai", 9),
    ([openai_usage()], "openai", 9),
    (OPENAI_COSTS, "openai", 2),
    (OPENAI_USAGE_CSV, "openai", 9),
    ("\ufeff" + OPENAI_COSTS_CSV, "openai", 2),
    (ANTHROPIC_USAGE, "anthropic", 6),
    (ANTHROPIC_COSTS, "anthropic", 2),
    (ANTHROPIC_USAGE_CSV, "anthropic", 6),
    (ANTHROPIC_COSTS_CSV, "anthropic", 2),
]


@pytest.mark.parametrize(("export", "upstream", "compared"), EXPORTS)
def test_every_export_agrees_with_what_was_posted(
    terminal: Terminal, export: object, upstream: str, compared: int
) -> None:
    rows = terminal.rows(export, "--upstream", upstream)
    assert rows
    assert all(row["agrees"] for row in rows)
    assert len({(row["day"], row["model"], row["measure"]) for row in rows}) == len(rows) <= compared
    assert "agree" in terminal.run(export, "--upstream", upstream)


def test_differences_are_named_with_day_model_and_measure(terminal: Terminal) -> None:
    second = {"input_tokens": 30, "output_tokens": 20, "input_cached_tokens": 0, "num_model_requests": 1}
    export = openai_usage(second)
    rows = [row for row in terminal.rows(export, "--upstream", "openai", status=3) if not row["agrees"]]
    assert rows == [
        {
            "day": "2026-01-06",
            "model": "gpt-4o",
            "measure": "input_tokens",
            "ledger": 10,
            "vendor": 30,
            "difference": -20,
            "agrees": False,
            "where": "both",
            "estimated_turns": 1,
            "vendor_keys": ["key_1", "proj_a"],
        }
    ]
    out = terminal.run(export, "--upstream", "openai", status=3)
    assert "2026-01-06  gpt-4o  input_tokens" in out
    assert "-66.7" in out
    assert "1 turns are estimated" in out
    assert "1 of 7 sums differ" in out


def test_tolerances(terminal: Terminal) -> None:
    export = openai_usage({"input_tokens": 11, "output_tokens": 20, "input_cached_tokens": 0, "num_model_requests": 1})
    terminal.run(export, "--upstream", "openai", status=3)
    terminal.run(export, "--upstream", "openai", "--tolerance", "10%")
    dearer = json.loads(json.dumps(OPENAI_COSTS).replace("3.2", "3.3"))
    terminal.run(dearer, "--upstream", "openai", status=3)
    terminal.run(dearer, "--upstream", "openai", "--money-tolerance", "5")
    terminal.run(export, "--tolerance", "many", status=2)


def test_usage_and_costs_together_and_costs_without_models(terminal: Terminal) -> None:
    (terminal.folder / "usage").write_text(json.dumps(openai_usage()))
    measures = {row["measure"] for row in terminal.rows(OPENAI_COSTS, "usage", "--upstream", "openai")}
    assert measures == {"turns", "input_tokens", "cached_tokens", "output_tokens", "price"}
    result = {"amount": {"value": 6.0, "currency": "usd"}, "line_item": None}
    export = {"data": [{"start_time": DAY_1, "results": [result]}], "has_more": False}
    (row,) = terminal.rows(export)  # both vendors' turns: 4.5 and 1.5
    assert (row["model"], row["ledger"], row["vendor"]) == (None, 6_000_000, 6_000_000)


def test_what_only_one_side_knows(terminal: Terminal) -> None:
    rows = terminal.rows(ANTHROPIC_USAGE, status=3)
    assert {row["where"] for row in rows if row["model"] == "gpt-4o"} == {"ledger only"}
    assert "the export never names gpt-4o; --upstream" in terminal.run(ANTHROPIC_USAGE, status=3)
    rows = terminal.rows(openai_usage(), "--upstream", "nobody", status=3)
    assert {row["where"] for row in rows} == {"vendor only"}


def test_one_key_of_the_export(terminal: Terminal) -> None:
    other = OPENAI_USAGE_CSV + f"{DAY_2},{DAY_2 + 60},2026-01-06,,proj_b,9,,key_2,gpt-4o-2024-08-06,False,999,999,0\n"
    out = terminal.run(other, "--upstream", "openai", status=3)
    assert "--only looks at one of them" in out
    terminal.run(other, "--upstream", "openai", "--only", "proj_a")
    terminal.run(other, "--upstream", "openai", "--only", "proj_c", status=1)
    assert "it has key_1, key_2, proj_a, proj_b" in terminal.err


def test_days_that_are_looked_at(terminal: Terminal) -> None:
    rows = terminal.rows(openai_usage(), "--upstream", "openai", "--since", "2026-01-06")
    assert {row["day"] for row in rows} == {"2026-01-06"}
    rows = terminal.rows(openai_usage(), "--upstream", "openai", "--until", "2026-01-06")
    assert {row["day"] for row in rows} == {"2026-01-05"}


REFUSED: list[tuple[object, str]] = [
    ("", "those of no export"),
    ('usage_date_utc,cost_usd\n2026-01-05,"', "neither JSON nor CSV"),
    ("{", "this is no JSON"),
    ({"object": "list"}, "it has no 'data'"),
    ({"data": [], "has_more": True}, "has_more is true"),
    ({"data": [], "has_more": False}, "the export holds no usage"),
    ({"data": [{"start_time": 1, "results": [{"object": "x"}]}]}, "it holds neither tokens"),
    ({"data": [{"results": [{"input_tokens": 1}]}]}, "no time that can be read"),
    ({"data": [{"start_time": DAY_1, "results": [{"input_tokens": -1}]}]}, "'input_tokens' is no number"),
    ({"data": [{"start_time": DAY_1, "results": [{"amount": {"value": "x"}}]}]}, "is no number"),
    ({"data": [{"start_time": DAY_1, "results": [{"amount": {"value": 1, "currency": "eur"}}]}]}, "currency is 'eur'"),
    ("a,b\n1,2\n", "those of no export"),
    ("start_time,end_time\n1,2\n", "the export holds no usage"),
    ("usage_date_utc,model,cost_usd\nnever,m,1\n", "no time that can be read"),
    ("usage_date_utc,model,cost_usd\n2026-01-05,m,nan\n", "is no number"),
]


@pytest.mark.parametrize(("export", "said"), REFUSED)
def test_exports_that_cannot_be_used(terminal: Terminal, export: object, said: str) -> None:
    assert terminal.run(export, status=1) == ""
    assert said in terminal.err
    assert "Traceback" not in terminal.err


def test_with_postgres(terminal: Terminal, postgres: Postgres) -> None:
    url = postgres.database()
    (terminal.folder / "a.toml").write_text(f'[accounts]\nstore = "{url}"\n')
    asyncio.run(fill(open_postgres(url), posted()))
    assert all(row["agrees"] for row in terminal.rows(openai_usage(), "--upstream", "openai"))
    terminal.rows(openai_usage(), status=3)
