"""The packaged table: what it knows, and how it is found."""

from __future__ import annotations

import re

import msgspec
import pytest

from antiphon.models.rows import ModelRow, Price, Tariff, Tier
from antiphon.models.table import FILE, ModelTable, find_packaged, packaged
from antiphon.protocols.facts import ModelFacts, Thinking


def row(name: str, vendor: str | None = None) -> ModelRow:
    found = find_packaged(name, vendor)
    assert found is not None
    return found.row


# The file


def test_every_row_can_be_read_and_says_whence_and_when() -> None:
    day = re.compile(r"20\d\d-\d\d-\d\d")
    count = 0
    for vendor, found in ModelTable().rows():
        count += 1
        assert "" not in (found.name, found.source, vendor)
        assert day.fullmatch(found.date)
        assert found.context is None or found.context > 0
        if found.price is not None:
            rates = [found.price, *found.price.tiers, *found.price.services.values()]
            assert all(rate.input is None or rate.input >= 0 for rate in rates)
            assert found.price.since is None or day.fullmatch(found.price.since)
    assert count > 2000
    assert set(packaged().sources) == {"genai-prices", "litellm"}


def test_the_file_is_sorted_with_a_row_on_each_line() -> None:
    for rows in [packaged().lines, *packaged().vendors.values()]:
        assert list(rows) == sorted(rows)
        assert b"\n" not in b"".join(bytes(raw) for raw in rows.values())


def test_every_row_is_found_under_its_own_name() -> None:
    """Or an equal one is."""
    for vendor, rows in packaged().vendors.items():
        for raw in rows.values():
            expected = msgspec.json.decode(raw, type=ModelRow)
            found = find_packaged(expected.name, vendor)
            assert found is not None
            assert (found.vendor, found.is_exact, found.is_own) == (vendor, True, True)


def test_the_file_stays_small() -> None:
    with open(FILE, "rb") as file:
        assert len(file.read()) < 1_000_000


# Prices and limits


@pytest.mark.parametrize(
    ("name", "vendor", "input", "output"),
    [
        ("gpt-4o", "openai", 2_500_000, 10_000_000),
        ("gpt-4o-2024-05-13", "openai", 5_000_000, 15_000_000),  # a date with a price of its own
        ("gpt-4o-2024-08-06", "openai", 2_500_000, 10_000_000),
        ("claude-opus-4-7", "anthropic", 5_000_000, 25_000_000),
        ("global.anthropic.claude-opus-4-7-v1:0", "bedrock", 5_000_000, 25_000_000),
        ("eu.anthropic.claude-opus-4-7-v1:0", "bedrock", 5_500_000, 27_500_000),
        ("gemini-2.5-pro", "gemini", 1_250_000, 10_000_000),
    ],
)
def test_prices_are_micro_dollars_for_a_million_tokens(name: str, vendor: str, input: int, output: int) -> None:
    found = find_packaged(name, vendor)
    assert found is not None
    assert found.price is not None
    assert (found.price.input, found.price.output) == (input, output)


def test_a_long_prompt_has_its_own_rates() -> None:
    price = row("gemini-2.5-pro", "gemini").price
    assert price is not None
    assert (price.at(200_000).input, price.at(200_001).input) == (1_250_000, 2_500_000)
    assert price.at(200_001).cached == 250_000
    assert price.services["batch"].at(200_001).output == 7_500_000


def test_the_highest_tier_that_is_passed_counts() -> None:
    tariff = Tariff(input=1, tiers=(Tier(input=2, above=10), Tier(input=3, above=20)))
    assert [tariff.at(tokens).input for tokens in (0, 10, 11, 20, 21)] == [1, 1, 2, 2, 3]


def test_the_cache_is_priced() -> None:
    price = row("claude-opus-4-7", "anthropic").price
    assert price is not None
    assert (price.cached, price.cache_write, price.cache_write_1h) == (500_000, 6_250_000, 10_000_000)


def test_limits() -> None:
    assert (row("gpt-4o").context, row("gpt-4o").max_output) == (128_000, 16_384)
    assert row("gpt-5", "openai").context == 400_000  # the window: prompt and answer


# What models take


@pytest.mark.parametrize(
    ("name", "vendor", "thinking", "sampling", "prefill", "forced_tools"),
    [
        ("claude-haiku-4-5", "anthropic", Thinking.BUDGET, None, True, None),
        ("claude-opus-4-7", "anthropic", Thinking.ADAPTIVE, False, False, None),
        ("claude-opus-5-5", "anthropic", Thinking.ALWAYS, False, False, False),
        ("claude-opus-5-5", "azure", Thinking.ALWAYS, False, False, False),
        ("us.anthropic.claude-opus-5-5", "bedrock", Thinking.ALWAYS, False, False, False),
        ("anthropic/claude-opus-5.5", "openrouter", Thinking.ALWAYS, False, False, False),
        ("claude-3-haiku-20240307", "anthropic", Thinking.NONE, None, True, None),
        ("gemini-2.5-flash", "gemini", Thinking.BUDGET, None, None, None),
        ("gemini-3.8-flash", "vertex", Thinking.LEVEL, False, None, None),
        ("o3", "azure", Thinking.ALWAYS, False, None, None),
        ("gpt-4o", "openai", None, None, None, None),
    ],
)
def test_what_models_take(
    name: str,
    vendor: str,
    thinking: Thinking | None,
    sampling: bool | None,
    prefill: bool | None,
    forced_tools: bool | None,
) -> None:
    found = row(name, vendor)
    assert (found.thinking, found.sampling, found.prefill) == (thinking, sampling, prefill)
    assert found.forced_tools == forced_tools


def test_the_name_of_the_limit() -> None:
    assert row("gpt-5", "openai").max_tokens_name == "max_completion_tokens"
    assert row("o4-mini", "azure").max_tokens_name == "max_completion_tokens"
    assert row("gpt-4o", "openai").max_tokens_name is None


def test_efforts_stand_from_least_to_most() -> None:
    assert row("gpt-5", "openai").efforts == ("minimal", "low", "medium", "high")
    assert row("claude-opus-4-7", "anthropic").efforts == ("low", "medium", "high", "xhigh", "max")


def test_a_row_says_only_what_it_knows() -> None:
    defaults = ModelFacts(takes_prefill=False, least_budget=7, efforts=("low",))
    facts = ModelRow(name="m", source="s", date="d", context=5, images=False).facts(defaults)
    assert (facts.context, facts.takes_images) == (5, False)
    assert (facts.takes_prefill, facts.least_budget, facts.efforts) == (False, 7, ("low",))
    assert ModelRow(name="m", source="s", date="d").facts(defaults) is defaults


# How it is found


def test_another_vendors_row_has_facts_and_no_price() -> None:
    found = find_packaged("gpt-4o", "vllm")
    assert found is not None
    assert (found.vendor, found.row.context, found.is_exact, found.price) == ("openai", 128_000, True, None)


def test_a_family_has_facts_and_no_price() -> None:
    found = find_packaged("gpt-4o-mini-tomorrow", "openai")
    assert found is not None
    assert (found.row.name, found.is_exact, found.price) == ("gpt-4o-mini", False, None)


def test_a_vendor_can_stand_before_the_name() -> None:
    assert find_packaged("azure/gpt-4o", None).vendor == "azure"  # type: ignore[union-attr]
    assert find_packaged("gpt-4o", None).vendor == "openai"  # type: ignore[union-attr]


def test_a_model_newer_than_the_table_is_taken_for_the_newest_of_its_line() -> None:
    found = find_packaged("claude-opus-9-1", "anthropic")
    assert found is not None
    assert (found.row.sampling, found.row.prefill, found.row.thinking) == (False, False, Thinking.ADAPTIVE)
    assert (found.is_exact, found.price, found.row.context) == (False, None, None)


def test_what_nobody_knows_is_not_found() -> None:
    assert find_packaged("nobodys-model-7b") is None
    assert ModelTable().find("") is None
    assert ModelTable().facts("nobodys-model-7b", None, ModelFacts(context=3)) == ModelFacts(context=3)


def test_the_memory_of_names_is_bounded() -> None:
    table = ModelTable()
    assert [table.find(f"unknown-{number}") for number in range(3000)] == [None] * 3000
    assert table.find("gpt-4o") is table.find("gpt-4o")


# The settings' rows


def own(name: str, **values: object) -> ModelRow:
    return msgspec.convert({"name": name, "source": "settings", "date": "", **values}, ModelRow)


def test_settings_stand_over_the_file() -> None:
    table = ModelTable([own("gpt-4o", context=9, price={"input": 1, "output": 2})])
    found = table.find("gpt-4o-2024-08-06", "openai")
    assert found is not None
    assert found.row.context == 128_000  # another model
    found = table.find("GPT-4o", "openai")
    assert found is not None
    assert (found.row.context, found.row.max_output, found.row.images) == (9, 16_384, True)
    assert found.price == Price(input=1, output=2)  # whole: nothing of the file's is mixed in


def test_settings_can_name_what_nobody_knows_and_price_it() -> None:
    table = ModelTable([own("house-7b", context=4096, price={"input": 5})])
    found = table.find("house-7b", "vllm")
    assert found is not None
    assert found.row.context == 4096
    assert found.price is not None
    assert found.price.input == 5
    assert table.find("house-8b", "vllm") is None


def test_settings_without_a_price_do_not_lend_another_vendors() -> None:
    found = ModelTable([own("gpt-4o", context=9)]).find("gpt-4o", "vllm")
    assert found is not None
    assert (found.row.context, found.price) == (9, None)
    found = ModelTable([own("gpt-4o", context=9)]).find("gpt-4o", "openai")
    assert found is not None
    assert found.price is not None


def test_settings_without_a_context_do_not_lend_a_familys() -> None:
    found = ModelTable([own("gpt-4o-tomorrow", price={"input": 1})]).find("gpt-4o-tomorrow", "openai")
    assert found is not None
    assert (found.row.context, found.row.images, found.price) == (None, True, Price(input=1))


def test_settings_take_patterns_and_a_name_comes_before_them() -> None:
    table = ModelTable([own("llama-*", context=1), own("llama-big", context=2), own("*", context=3)])
    assert [table.find(name).row.context for name in ("llama-x", "llama-big", "gpt-4o")] == [1, 2, 3]  # type: ignore[union-attr]


def test_a_deployment_is_like_a_model() -> None:
    table = ModelTable([own("prod-chat", max_output=100)], like={"prod-chat": "gpt-4o"})
    found = table.find("prod-chat", "azure")
    assert found is not None
    assert (found.vendor, found.row.context, found.row.max_output) == ("azure", 128_000, 100)
    assert found.price is not None
    assert found.price.input == 2_500_000
