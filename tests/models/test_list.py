"""`antiphon model list`: the table for people and for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.cli import main

ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-7-v1:0"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def say(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["model", "list", *arguments]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out.splitlines()


def test_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = say(capsys)
    assert len(lines) > 2000
    assert lines[0].split() == ["MODEL", "CONTEXT", "OUTPUT", "$", "IN", "$", "CACHED", "$", "OUT", "THINKING", "TAKES"]


def test_a_part_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    lines = say(capsys, "GPT-4o-mini")
    row = next(line for line in lines if line.startswith("openai/gpt-4o-mini "))
    assert row.split()[1:6] == ["128000", "16384", "0.15", "0.075", "0.60"]
    assert all("gpt-4o-mini" in line for line in lines[1:])


def test_a_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    lines = say(capsys, "bedrock/us.anthropic.*")
    assert len(lines) > 2
    assert all(line.startswith("bedrock/us.anthropic.") for line in lines[1:])
    assert any(
        line.startswith("anthropic/claude-opus-4-7 ") for line in say(capsys, "claude-opus-4-?")
    )  # vendor or not


def test_one_model_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in say(capsys, "models/gemini-2.5-pro")]
    assert "model gemini/gemini-2.5-pro" in lines
    assert "context 1048576" in lines
    assert "thinking budget, budget 128 to 32768" in lines
    assert any(line.startswith("> 200000 input 2.50, cached 0.25, output 15.00") for line in lines)
    assert any(line.startswith("batch > 200000 input 1.25") for line in lines)


def test_any_spelling_finds_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in say(capsys, ARN)]
    assert lines[0] == "model bedrock/us.anthropic.claude-opus-4-7"
    assert any(line.startswith("price input 5.50") for line in lines)


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads("\n".join(say(capsys, "openai/gpt-4o", "--json")))
    assert document["unit"] == "micro-dollars for a million tokens"
    row = next(row for row in document["models"] if row["vendor"] == "openai" and row["name"] == "gpt-4o")
    assert (row["context"], row["price"]["input"], row["images"]) == (128_000, 2_500_000, True)
    assert row["source"]
    assert row["date"]


def test_the_settings_rows_come_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "antiphon.toml").write_text(
        '[[model]]\nname = "house-7b"\ncontext = 4096\nprice = { input = 0.1, output = 0.25 }\n'
        '[[model]]\nname = "gpt-4o"\ncontext = 64000\n'
    )
    lines = say(capsys)
    assert lines[1].split()[:4] == ["house-7b", "4096", "0.10", "0.25"]
    assert lines[2].split()[:5] == ["gpt-4o", "64000", "16384", "2.50", "1.25"]
    text = " ".join(" ".join(say(capsys, "house-7b")).split())
    assert "source settings" in text
    assert "thinking unknown" in text


def test_settings_that_are_wrong_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('[[model]]\nname = "m"\ncontext = -1\n')
    assert main(["model", "list", "-c", "bad.toml"]) == 1
    assert capsys.readouterr().err == "bad.toml:3: [[model]] \"m\": 'context' must be 1 or more\n"


def test_what_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "list", "nobodys-7b"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "antiphon: no model is known as 'nobodys-7b'\n")
    assert json.loads("\n".join(say(capsys, "nobodys-7b", "--json")))["models"] == []


def test_a_reader_that_leaves_is_no_fault() -> None:
    command = [sys.executable, "-m", "antiphon", "model", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.readline()
        listing.stdout.close()
        assert listing.stderr.read() == ""
        assert listing.wait(30) == 0
