"""`antiphon usage`: tables, JSON, CSV and pages over the ledger of a store."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from antiphon.accounts.entry import Record
from antiphon.accounts.rollups import DAY
from antiphon.accounts.stores.sqlite import open_sqlite
from antiphon.cli import main
from tests.accounts.made import add_key, record

TODAY = time.time_ns() // 1000 // DAY * DAY


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "antiphon.toml").write_text('[accounts]\nstore = "sqlite:///accounts.db"\n')
    return tmp_path


def post(records: list[Record], *names: str) -> list[str]:
    """-> ids of keys of these names"""

    async def run() -> list[str]:
        store = open_sqlite("accounts.db")
        await store.open()
        ids = [(await add_key(store, name))[0].id for name in names]
        await store.ledger.post([one._replace(entry=_keyed(one, ids)) for one in records])
        await store.close()
        return ids

    return asyncio.run(run())


def _keyed(one: Record, ids: list[str]) -> Any:
    one.entry.key = ids[0] if ids else "static"
    return one.entry


class Terminal:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.err = ""

    def run(self, *words: str, status: int = 0) -> str:
        try:
            ended = main(["usage", *words])
        except SystemExit as exit:
            ended = int(str(exit.code))
        out, self.err = self.capsys.readouterr()
        assert ended == status, self.err
        return out

    def rows(self, *words: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.run(*words, "--json"))["rows"]
        return rows


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(capsys)


def three_days() -> list[Record]:
    return [
        record(1, time=TODAY - 2 * DAY, model="small", price=1_500_000, tags=("a", "b")),
        record(2, time=TODAY - DAY, model="large", price=3_000_000, status=502),
        record(3, time=TODAY - DAY, model="small", price=0, input_tokens=1000),
        record(4, time=TODAY, model="large", price=6_000_000, tags=("a",)),
        record(5, time=TODAY - 400 * DAY, model="old"),
    ]


def test_a_table_by_day_with_bars(terminal: Terminal) -> None:
    post(three_days())
    head, *days, total = terminal.run().splitlines()
    assert head.split() == ["DAY", "TURNS", "ERRORS", "INPUT", "CACHED", "OUTPUT", "PRICE"]
    assert [line.split()[1:7] for line in days] == [
        ["1", "0", "10", "0", "5", "1.500000"],
        ["2", "1", "1,010", "0", "10", "3.000000"],
        ["1", "0", "10", "0", "5", "6.000000"],
    ]
    bars = [line.split()[7] for line in days]
    assert [len(bar) for bar in bars] == [10, 20, 40]
    assert total.split() == ["total", "4", "1", "1,030", "0", "20", "10.500000"]


def test_by_model_and_key_and_tag(terminal: Terminal) -> None:
    [id] = post(three_days(), "app")
    assert [(row["model"], row["turns"]) for row in terminal.rows("--by", "model")] == [("large", 2), ("small", 2)]
    assert [(row["key"], row["price"]) for row in terminal.rows("--by", "key")] == [("app", 10_500_000)]
    assert [(row["tag"], row["turns"]) for row in terminal.rows("--by", "tag")] == [("a", 2), ("b", 1)]
    assert "total" not in terminal.run("--by", "tag")
    both = terminal.rows("--by", "day,model")
    assert [row["model"] for row in both] == ["small", "large", "small", "large"]
    for key in ("app", id):
        assert terminal.rows("--by", "model", "--key", key) == terminal.rows("--by", "model")
    assert terminal.rows("--key", "nobody") == []
    assert [(row["key"], row["turns"]) for row in terminal.rows("--by", "key", "--model", "small")] == [("app", 2)]
    assert [row["turns"] for row in terminal.rows("--model", "large")] == [1, 1]


def test_spans_of_time(terminal: Terminal) -> None:
    post(three_days())
    assert len(terminal.rows("--since", "500d")) == 4
    assert len(terminal.rows("--since", "1d")) == 2
    assert [row["turns"] for row in terminal.rows("--since", "2d", "--until", "0s")] == [1, 2, 1]
    date = time.strftime("%Y-%m-%d", time.gmtime((TODAY - DAY) / 1e6))
    today = time.strftime("%Y-%m-%d", time.gmtime(TODAY / 1e6))
    assert [row["day"] for row in terminal.rows("--since", date, "--until", today)] == [date]
    assert [row["hour"] for row in terminal.rows("--by", "hour", "--since", today)] == [f"{today}T00:00Z"]


def test_pages_hold_every_row_once(terminal: Terminal) -> None:
    post([record(number, time=TODAY - number * DAY, model=f"m{number % 3}") for number in range(25)])
    whole = terminal.rows("--by", "day,model")
    rows: list[dict[str, Any]] = []
    cursor: list[str] = []
    while True:
        page = json.loads(terminal.run("--by", "day,model", "--json", "--limit", "4", *cursor))
        rows += page["rows"]
        if page["next"] is None:
            break
        cursor = ["--after", page["next"]]
    assert rows == whole
    assert len(rows) == 25


def test_parquet_holds_the_rows_of_json(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    post(three_days(), "app")
    assert terminal.run("--by", "day,model", "--parquet", "usage.parquet") == ""
    table = pyarrow.parquet.read_table("usage.parquet")
    assert table.to_pylist() == terminal.rows("--by", "day,model")
    assert str(table.schema.field("price").type) == "int64"
    terminal.run("--by", "key", "--since", "2020-01-01", "--until", "2020-01-02", "--parquet", "usage.parquet")
    assert pyarrow.parquet.read_table("usage.parquet").column_names[0] == "key"  # no rows, the same columns
    terminal.run("--parquet", "no/such/folder/usage.parquet", status=1)
    assert "cannot be written" in terminal.err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    terminal.run("--parquet", "usage.parquet", status=1)
    assert "pip install 'antiphon[parquet]'" in terminal.err


def test_csv_is_safe_for_spreadsheets(terminal: Terminal) -> None:
    post([record(1, time=TODAY, model="=cmd()", tags=()), record(2, time=TODAY, model='a,"b"\n', tags=())])
    rows = list(csv.DictReader(io.StringIO(terminal.run("--by", "model", "--csv"))))
    assert [(row["model"], row["turns"], row["input_tokens"]) for row in rows] == [
        ("'=cmd()", "1", "10"),
        ('a,"b"\n', "1", "10"),
    ]


def test_control_characters_do_not_reach_the_terminal(terminal: Terminal) -> None:
    post([record(1, time=TODAY, model="\x1b[31mred")])
    out = terminal.run("--by", "model")
    assert "\x1b" not in out
    assert "red" in out


def test_an_empty_ledger(terminal: Terminal) -> None:
    assert terminal.run().split()[-7:] == ["total", "0", "0", "0", "0", "0", "0.000000"]
    assert terminal.rows() == []
    assert terminal.run("--csv").count("\n") == 1


REFUSED = [
    (("--by", "year"), 2, "is not one of"),
    (("--by", "model,key"), 2, "is not one of"),
    (("--by", "hour,day"), 2, "is not one of"),
    (("--by", "key", "--key", "app"), 1, "usage of one key cannot be grouped by key"),
    (("--by", "tag", "--model", "m"), 1, "usage of one model can be grouped by key alone"),
    (("--by", "hour,model", "--key", "app"), 1, "is kept by day, not by hour"),
    (("--since", "2030-01-01", "--until", "2029-01-01"), 1, "--since is not before --until"),
    (("--since", "x"), 2, "neither a span"),
    (("--limit", "0"), 2, "from 1"),
    (("--after", "rubbish"), 2, "is no cursor"),
    (("--json", "--csv"), 2, "not allowed with"),
]


@pytest.mark.parametrize(("words", "status", "said"), REFUSED)
def test_what_is_refused(terminal: Terminal, words: tuple[str, ...], status: int, said: str) -> None:
    assert terminal.run(*words, status=status) == ""
    assert said in terminal.err
    assert "Traceback" not in terminal.err


def test_a_revoked_key_is_still_known_by_its_name(terminal: Terminal) -> None:
    post(three_days(), "app")
    assert main(["key", "revoke", "app"]) == 0
    assert terminal.rows("--key", "app", "--by", "model") != []
    assert main(["key", "create", "--name", "app"]) == 0
    terminal.capsys.readouterr()
    assert terminal.rows("--key", "app", "--by", "model") == []  # the live one comes first
