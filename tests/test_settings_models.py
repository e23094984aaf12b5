"""[[model]]: what the settings say of models, over the packaged table."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.models.rows import Price
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.settings import PriceSettings, Settings, SettingsError, load
from antiphon.settings.models import model_table

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
    assert read(tmp_path, "").models == ()


def test_a_whole_row(tmp_path: Path) -> None:
    text = """[[model]]
name = "house-7b"
context = 32768
max_output = 4096
price = { input = 0.15, output = 0.6, cached = 0.000001 }
sampling = false
prefill = false
tools = true
forced_tools = false
images = false
json_schema = false
mid_system = true
thinking = "budget"
efforts = ["low", "high"]
least_budget = 128
most_budget = 1000
max_tokens_name = "max_completion_tokens"
"""
    table = model_table(read(tmp_path, text))
    found = table.find("house-7b", "vllm")
    assert found is not None
    assert found.price == Price(input=150_000, output=600_000, cached=1)
    assert (found.row.source, found.is_exact) == ("settings", True)
    assert table.facts("house-7b", "vllm", ModelFacts()) == ModelFacts(
        context=32768,
        max_output=4096,
        takes_sampling=False,
        takes_prefill=False,
        takes_forced_tools=False,
        takes_images=False,
        takes_schema=False,
        takes_mid_system=True,
        thinking=Thinking.BUDGET,
        efforts=("low", "high"),
        least_budget=128,
        most_budget=1000,
        max_tokens_name="max_completion_tokens",
    )


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ("0", 0),
        ("3", 3_000_000),
        ("0.1", 100_000),
        ("0.3", 300_000),
        ("1e-6", 1),
        ("1000000", 10**12),
        ("2.675", 2_675_000),
    ],
)
def test_dollars_are_read_digit_by_digit(tmp_path: Path, written: str, micros: int) -> None:
    rows = read(tmp_path, f'[[model]]\nname = "m"\nprice = {{ input = {written} }}\n').models
    assert rows[0].price == PriceSettings(input=micros)


def test_the_file_is_overridden_and_keeps_the_rest(tmp_path: Path) -> None:
    table = model_table(read(tmp_path, '[[model]]\nname = "gpt-4o"\ncontext = 64000\n'))
    found = table.find("gpt-4o", "openai")
    assert found is not None
    assert (found.row.context, found.row.max_output) == (64_000, 16_384)
    assert found.price is not None
    assert found.price.input == 2_500_000


def test_a_deployment_takes_the_row_of_the_model_that_it_is(tmp_path: Path) -> None:
    table = model_table(read(tmp_path, '[[model]]\nname = "prod-chat"\nlike = "gpt-4o-2024-08-06"\n'))
    found = table.find("prod-chat", "azure")
    assert found is not None
    assert (found.vendor, found.row.context) == ("azure", 128_000)


def test_a_variable_lays_over_it(tmp_path: Path) -> None:
    text = '[[model]]\nname = "gpt-4o"\ncontext = 1\n'
    environ = {"ANTIPHON_MODEL__GPT_4O__CONTEXT": "2", "ANTIPHON_MODEL__GPT_4O__PRICE__INPUT": "0.5"}
    row = read(tmp_path, text, environ).models[0]
    assert row.context == 2
    assert row.price == PriceSettings(input=500_000)


FAULTS = [
    ("context = 1", "1: [[model]] 1: 'name' is missing"),
    ('name = ""', "2: [[model]] 1: 'name' must not be empty"),
    ('name = "m"\ncontxt = 1', "3: [[model]] \"m\": unknown key 'contxt'; did you mean 'context'?"),
    ('name = "m"\ncontext = 0', "3: [[model]] \"m\": 'context' must be 1 or more"),
    ('name = "m"\ncontext = "big"', "3: [[model]] \"m\": 'context' must be an integer, not a string"),
    ('name = "m"\ncontext = 1.5', "3: [[model]] \"m\": 'context' must be an integer, not a number"),
    ('name = "m"\nprice = 2', "3: [[model]] \"m\": 'price' must be a table with input, not an integer"),
    ('name = "m"\nprice = { output = 2 }', "3: [[model]] \"m\": 'price.input' is missing"),
    (
        'name = "m"\nprice = { input = "2" }',
        "3: [[model]] \"m\": 'price.input' must be a number of dollars, not a string",
    ),
    (
        'name = "m"\nprice = { input = -1 }',
        "3: [[model]] \"m\": 'price.input' must be from 0 to 1000000 dollars for a million tokens",
    ),
    (
        'name = "m"\nprice = { input = nan }',
        "3: [[model]] \"m\": 'price.input' must be from 0 to 1000000 dollars for a million tokens",
    ),
    (
        'name = "m"\nprice = { input = inf }',
        "3: [[model]] \"m\": 'price.input' must be from 0 to 1000000 dollars for a million tokens",
    ),
    (
        'name = "m"\nprice = { input = 0.0000001 }',
        "3: [[model]] \"m\": 'price.input' must not have more than 6 decimals",
    ),
    (
        'name = "m"\nprice = { input = true }',
        "3: [[model]] \"m\": 'price.input' must be a number of dollars, not a boolean",
    ),
    ('name = "m"\nimages = "no"', "3: [[model]] \"m\": 'images' must be true or false, not a string"),
    (
        'name = "m"\nthinking = "alway"',
        "3: [[model]] \"m\": 'thinking' must be one of none, budget, adaptive, always, level, not 'alway'; "
        "did you mean 'always'?",
    ),
    ('name = "m"\nefforts = "low"', "3: [[model]] \"m\": 'efforts' must be an array of strings, not a string"),
    (
        'name = "m"\ncontext = 10\nmax_output = 11',
        "4: [[model]] \"m\": 'max_output' must not be more than 'context'",
    ),
    (
        'name = "m"\nleast_budget = 5\nmost_budget = 4',
        "3: [[model]] \"m\": 'least_budget' must not be more than 'most_budget'",
    ),
    (
        'name = "m"\nlike = "gpt-4oo"',
        "3: [[model]] \"m\": 'like' names \"gpt-4oo\", which the packaged table does not know; did you mean 'gpt-4o'?",
    ),
    (
        'name = "GPT-4o"\n[[model]]\nname = "gpt-4o"',
        "4: [[model]] \"gpt-4o\": 'name' is taken; the first one is at 2",
    ),
]


@pytest.mark.parametrize(("text", "fault"), FAULTS)
def test_faults_name_the_line(tmp_path: Path, text: str, fault: str) -> None:
    assert refuse(tmp_path, f"[[model]]\n{text}\n") == [fault]


def test_one_bracket_is_not_enough(tmp_path: Path) -> None:
    assert refuse(tmp_path, '[model]\nname = "m"\n') == ["1: [[model]]: must be written [[model]], with two brackets"]
