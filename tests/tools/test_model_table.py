"""The table's maker: two small wheels in, one file out."""

from __future__ import annotations

import json
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.models.table import TableFile
from tools.model_table import build

GENAI = """
import datetime
from decimal import Decimal
from .types import *
providers: list[Provider] = [
    Provider(id='openai', name='OpenAI', models=[
        ModelInfo(id='gpt-x', match=ClauseEquals(equals='gpt-x'), context_window=150, prices=ModelPrice(
            input_mtok=TieredPrices(base=Decimal('2.5'), tiers=[Tier(start=100, price=Decimal('5'))]),
            output_mtok=Decimal('10'), web_searches_kcount=Decimal('10')),
            price_variants=[PriceVariant(when={'processing': 'batch'}, prices=ModelPrice(input_mtok=Decimal('1.25')))]),
        ModelInfo(id='gpt-dated', match=ClauseEquals(equals='gpt-dated'), prices=[
            ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('1'), output_mtok=Decimal('1'))),
            ConditionalPrice(constraint=StartDateConstraint(start_date=datetime.date(2026, 3, 1)),
                prices=ModelPrice(input_mtok=Decimal('2'), output_mtok=Decimal('2'))),
            ConditionalPrice(constraint=StartDateConstraint(start_date=datetime.date(2027, 1, 1)),
                prices=ModelPrice(input_mtok=Decimal('3'), output_mtok=Decimal('3')))]),
        ModelInfo(id='gpt-hours', match=ClauseEquals(equals='gpt-hours'), prices=[
            ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('1'), output_mtok=Decimal('1'))),
            ConditionalPrice(constraint=TimeOfDateConstraint(start_time=datetime.time(1, 0, tzinfo=datetime.UTC),
                end_time=datetime.time(4, 0, tzinfo=datetime.UTC)),
                prices=ModelPrice(input_mtok=Decimal('9'), output_mtok=Decimal('9')))]),
        ModelInfo(id='gpt-free', match=ClauseEquals(equals='gpt-free'), prices=ModelPrice()),
    ]),
    Provider(id='elsewhere', name='Elsewhere', models=[
        ModelInfo(id='m', match=ClauseEquals(equals='m'), prices=ModelPrice(input_mtok=Decimal('1')))]),
]
"""
LITELLM: dict[str, dict[str, Any]] = {
    "gpt-x": {
        "litellm_provider": "openai",
        "mode": "chat",
        "max_input_tokens": 100,
        "max_output_tokens": 50,
        "input_cost_per_token": 2.5e-6,
        "output_cost_per_token": 1e-5,
        "cache_read_input_token_cost": 1.25e-7,
        "input_cost_per_token_priority": 5e-6,
        "supports_vision": True,
        "supports_reasoning": True,
        "supports_none_reasoning_effort": True,
    },
    "gpt-x-2026-01-01": {
        "litellm_provider": "openai",
        "mode": "chat",
        "max_input_tokens": 100,
        "input_cost_per_token": 2e-6,
        "output_cost_per_token": 1e-5,
    },
    "azure/gpt-x": {
        "litellm_provider": "azure",
        "mode": "chat",
        "max_input_tokens": 70,
        "input_cost_per_token": 3e-6,
        "supported_modalities": ["text"],
    },
    "gpt-dated": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 7e-6},
    "gpt-zero": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0.0, "max_input_tokens": 9},
    "gpt-wrong": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0.0032, "max_input_tokens": 9},
    "ollama/own": {"litellm_provider": "ollama", "mode": "chat", "input_cost_per_token": 0.0},
    "picture": {"litellm_provider": "openai", "mode": "image_generation", "output_cost_per_image": 1},
    "bedrock/us-east-1/anthropic.claude-v1": {"litellm_provider": "bedrock", "mode": "chat"},
    "us.anthropic.claude-new-20260101-v1:0": {
        "litellm_provider": "bedrock_converse",
        "mode": "chat",
        "supports_reasoning": True,
        "thinking_always_on": True,
        "supports_forced_tool_use": False,
    },
}


@pytest.fixture
def wheels(tmp_path: Path) -> tuple[Path, Path]:
    genai, litellm = tmp_path / "genai_prices-1.2-py3-none-any.whl", tmp_path / "litellm-3.4-py3-none-any.whl"
    with zipfile.ZipFile(genai, "w") as archive:
        archive.writestr("genai_prices/data.py", GENAI)
    with zipfile.ZipFile(litellm, "w") as archive:
        archive.writestr("litellm/model_prices_and_context_window_backup.json", json.dumps(LITELLM))
    return genai, litellm


def make(wheels: tuple[Path, Path], date: str = "2026-11-16", earlier: str = "") -> tuple[str, list[str]]:
    reported: list[str] = []
    return build(*wheels, date, earlier.encode(), reported.append), reported


def rows_of(text: str, vendor: str) -> dict[str, Any]:
    return json.loads(text)["vendors"][vendor]  # type: ignore[no-any-return]


def test_the_sources_are_merged(wheels: tuple[Path, Path]) -> None:
    text, _ = make(wheels)
    assert rows_of(text, "openai")["gpt-x"] == {
        "name": "gpt-x",
        "source": "genai-prices + litellm",
        "date": "2026-11-16",
        "context": 150,  # genai's window is litellm's prompt and answer together
        "max_output": 50,
        "price": {
            "input": 2_500_000,
            "output": 10_000_000,
            "cached": 125_000,  # a gap that litellm fills, since both agree on the rest
            "tiers": [{"above": 100, "input": 5_000_000, "output": 10_000_000, "cached": 125_000}],
            "services": {"batch": {"input": 1_250_000}, "priority": {"input": 5_000_000}},
        },
        "images": True,
        "thinking": "adaptive",
        "efforts": ["none", "low", "medium", "high"],
    }
    assert json.loads(text)["sources"] == {"genai-prices": "1.2", "litellm": "3.4"}
    msgspec.json.decode(text, type=TableFile)


def test_what_disagrees_is_reported_and_never_mixed(wheels: tuple[Path, Path]) -> None:
    text, reported = make(wheels)
    assert any(line.startswith("openai/gpt-dated: ") for line in reported)
    assert rows_of(text, "openai")["gpt-dated"]["price"] == {
        "input": 2_000_000,
        "output": 2_000_000,
        "since": "2026-03-01",
    }


def test_the_price_is_that_of_the_day_and_of_the_dearest_hour(wheels: tuple[Path, Path]) -> None:
    text, _ = make(wheels, "2027-01-01")
    assert rows_of(text, "openai")["gpt-dated"]["price"]["input"] == 3_000_000
    price = rows_of(text, "openai")["gpt-hours"]["price"]
    assert (price["input"], price["services"]["off_peak"]["input"]) == (9_000_000, 1_000_000)


def test_prices_that_cannot_be_true_are_unknown(wheels: tuple[Path, Path]) -> None:
    text, _ = make(wheels)
    for name in ("gpt-zero", "gpt-wrong"):
        assert "price" not in rows_of(text, "openai")[name]
    assert rows_of(text, "ollama")["own"]["price"] == {"input": 0}


def test_a_host_has_its_own_limits_and_its_makers_nature(wheels: tuple[Path, Path]) -> None:
    row = rows_of(make(wheels)[0], "azure")["gpt-x"]
    assert (row["context"], row["price"]["input"]) == (70, 3_000_000)
    assert (row["thinking"], row["images"]) == ("adaptive", False)


def test_a_dated_row_with_a_price_of_its_own_stays_and_a_bare_key_is_added(wheels: tuple[Path, Path]) -> None:
    text, _ = make(wheels)
    assert rows_of(text, "openai")["gpt-x-2026-01-01"]["price"]["input"] == 2_000_000
    bedrock = rows_of(text, "bedrock")
    assert bedrock["claude-new"]["thinking"] == "always"
    assert bedrock["claude-new"]["forced_tools"] is False


def test_what_is_no_model_of_ours_is_left_out(wheels: tuple[Path, Path]) -> None:
    text, _ = make(wheels)
    assert {"picture", "gpt-free"}.isdisjoint(rows_of(text, "openai"))
    assert "claude-v1" not in text
    assert "elsewhere" not in text


def test_the_same_in_gives_the_same_out(wheels: tuple[Path, Path]) -> None:
    first, _ = make(wheels)
    assert make(wheels)[0] == first
    assert make(wheels, earlier=first)[0] == first


def test_a_row_keeps_its_date_until_it_changes(wheels: tuple[Path, Path]) -> None:
    first, _ = make(wheels)
    changed = {**LITELLM, "azure/gpt-x": {**LITELLM["azure/gpt-x"], "max_input_tokens": 71}}
    with zipfile.ZipFile(wheels[1], "w") as archive:
        archive.writestr("litellm/model_prices_and_context_window_backup.json", json.dumps(changed))
    second, _ = make(wheels, "2026-12-24", first)
    assert rows_of(second, "azure")["gpt-x"]["date"] == "2026-12-24"
    assert rows_of(second, "openai")["gpt-x"]["date"] == "2026-11-16"


def test_nothing_of_a_wheel_is_run(wheels: tuple[Path, Path], tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    with zipfile.ZipFile(wheels[0], "w") as archive:
        archive.writestr("genai_prices/data.py", f"open({str(mark)!r}, 'w')\n{GENAI}")
    make(wheels)
    assert not mark.exists()


def test_prices_are_exact() -> None:
    from tools.model_sources import micros

    assert micros(Decimal("2.5e-7")) == 250_000
    assert micros(Decimal("8.333333e-8")) == 83_333
